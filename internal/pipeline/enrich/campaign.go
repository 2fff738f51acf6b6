package enrich

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"
)

// MaxCampaignLen is the length of each field of a campaign, in code points; what
// is longer is cut.
const MaxCampaignLen = 512

// Campaign is what the query of an address says about where a visit comes from.
// Absent fields are nil.
type Campaign struct {
	Source, Medium, Name, Term, Content []byte // utm_source, utm_medium, utm_campaign, utm_term, utm_content
	// ClickKind is the parameter by which an advertiser or a mail recognises a
	// click, such as "gclid"; ClickID is its value.
	ClickKind string
	ClickID   []byte
}

// campaignField numbers the fields.
type campaignField uint8

const (
	noField campaignField = iota
	sourceField
	mediumField
	nameField
	termField
	contentField
	clickField
)

// campaignParam is one parameter that tells of a campaign.
type campaignParam struct {
	name  string
	field campaignField
}

// campaignParams are all of them.
var campaignParams = []campaignParam{
	{"utm_source", sourceField},
	{"utm_medium", mediumField},
	{"utm_campaign", nameField},
	{"utm_term", termField},
	{"utm_content", contentField},
	{"gclid", clickField},     // Google Ads
	{"gbraid", clickField},    // Google Ads, app to web
	{"wbraid", clickField},    // Google Ads, web to app
	{"dclid", clickField},     // Google Display
	{"fbclid", clickField},    // Facebook, Instagram
	{"msclkid", clickField},   // Microsoft Advertising
	{"ttclid", clickField},    // TikTok
	{"twclid", clickField},    // X
	{"li_fat_id", clickField}, // LinkedIn
	{"igshid", clickField},    // Instagram, shared posts
	{"igsh", clickField},      // Instagram, shared posts
	{"epik", clickField},      // Pinterest
	{"rdt_cid", clickField},   // Reddit
	{"sccid", clickField},     // Snapchat
	{"yclid", clickField},     // Yandex Direct
	{"ymclid", clickField},    // Yandex Market
	{"qclid", clickField},     // Quora
	{"tblci", clickField},     // Taboola
	{"obclid", clickField},    // Outbrain
	{"vmcid", clickField},     // Yahoo
	{"srsltid", clickField},   // Google Merchant Center
}

// maxParamName is the length of the longest name of campaignParams.
const maxParamName = 12

var campaignByName = func() map[string]campaignParam {
	m := make(map[string]campaignParam, len(campaignParams))
	for _, p := range campaignParams {
		m[p.name] = p
	}
	return m
}()

// campaignParamOf looks a parameter up by its name, whatever its case.
func campaignParamOf(name []byte) campaignParam {
	if len(name) > maxParamName {
		return campaignParam{}
	}
	var lower [maxParamName]byte
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		lower[i] = c
	}
	return campaignByName[string(lower[:len(name)])]
}

// isCampaignParam reports whether a parameter never stays in an address: those
// above, and whatever else begins with "utm_".
func isCampaignParam(name []byte) bool {
	if len(name) >= 4 && bytes.EqualFold(name[:4], []byte("utm_")) {
		return true
	}
	return campaignParamOf(name).field != noField
}

// AppendCampaign reads the query of an address, without its question mark, into c. The
// texts are appended to dst, of which it allocates nothing as long as they fit.
func AppendCampaign(dst []byte, c *Campaign, query []byte) []byte {
	*c = Campaign{}
	return addCampaign(dst, c, query)
}

// addCampaign reads a query into c, whose values are appended to dst. Of a field
// that occurs twice the first value that is not empty counts.
func addCampaign(dst []byte, c *Campaign, query []byte) []byte {
	for name, value := range pairs(query) {
		p := campaignParamOf(name)
		if p.field == noField || len(value) == 0 {
			continue
		}
		to := c.field(p.field)
		if len(*to) > 0 {
			continue
		}
		from := len(dst)
		dst = appendText(dst, value)
		if *to = slices.Clip(dst[from:]); p.field == clickField && len(*to) > 0 {
			c.ClickKind = p.name
		}
	}
	return dst
}

func (c *Campaign) field(f campaignField) *[]byte {
	switch f {
	case sourceField:
		return &c.Source
	case mediumField:
		return &c.Medium
	case nameField:
		return &c.Name
	case termField:
		return &c.Term
	case contentField:
		return &c.Content
	default:
		return &c.ClickID
	}
}

// pairs yields the names and values of a query, as they are written.
func pairs(query []byte) func(yield func(name, value []byte) bool) {
	return func(yield func(name, value []byte) bool) {
		for len(query) > 0 {
			pair := query
			if i := bytes.IndexByte(query, '&'); i >= 0 {
				pair, query = query[:i], query[i+1:]
			} else {
				query = nil
			}
			name, value, _ := bytes.Cut(pair, []byte{'='})
			if len(name) > 0 && !yield(name, value) {
				return
			}
		}
	}
}

// appendText appends the text that a value of a query stands for: at most
// MaxCampaignLen code points, without control characters, bytes that are no
// UTF-8, and spaces around it.
func appendText(dst, value []byte) []byte {
	from := len(dst)
	for i := 0; i < len(value) && len(dst)-from <= 4*MaxCampaignLen; i++ {
		c := value[i]
		switch {
		case c == '+':
			c = ' '
		case c == '%' && i+2 < len(value):
			if decoded, ok := unhex(value[i+1], value[i+2]); ok {
				c = decoded
				i += 2
			}
		}
		dst = append(dst, c)
	}
	text := clean(bytes.TrimSpace(dst[from:]))
	return dst[:from+copy(dst[from:], text)]
}

// clean removes in place what does not belong into a text, and what is too much.
func clean(text []byte) []byte {
	kept, points := 0, 0
	for i := 0; i < len(text) && points < MaxCampaignLen; {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 || unicode.IsControl(r) {
			i += size
			continue
		}
		kept += copy(text[kept:], text[i:i+size])
		i, points = i+size, points+1
	}
	return bytes.TrimSpace(text[:kept])
}
