package click

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"unsafe"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/enrich"
	"github.com/millrace/millrace/internal/resource/link"
)

const (
	// visitorBytes is how much of the hash of a visitor is told.
	visitorBytes = 16
	// maxLanguage is the length of a language's tag, in bytes; what is longer is none.
	maxLanguage = 35
)

// draft is what a record is written from. It is used again and again, by one goroutine at
// a time.
type draft struct {
	event    record.Event
	web      record.Web
	click    record.Click
	campaign enrich.Campaign
	origin   enrich.Source
	text     []byte // that the others are slices of
}

// write makes the record of a click.
func (d *draft) write(c *Click, salt []byte, r *record.ClickRecord) {
	if cap(d.text) > keptText {
		d.text = nil
	}
	d.text = d.text[:0]
	at := c.At.UnixMilli()
	d.setClick(c, salt)
	d.setVisitor(&c.Visitor)
	d.setOrigin(c)
	d.event = record.Event{
		ID: d.keep(appendID(d.text, at)), Organization: bytesOf(c.Link.OrganizationID), TimeMillis: at, ReceivedAt: at,
		Web: &d.web, Click: &d.click,
	}
	r.Set(&d.event, c.RequestID)
}

// keep notes what was appended to the text, and returns it.
func (d *draft) keep(text []byte) []byte {
	from := len(d.text)
	d.text = text
	return text[from:len(text):len(text)]
}

func (d *draft) setClick(c *Click, salt []byte) {
	d.click = record.Click{
		Link: bytesOf(c.Link.ID), RuleID: bytesOf(c.RuleID), VariantID: bytesOf(c.VariantID), BotReason: bytesOf(c.Bot),
		IsQR: byQR(c.Query), IsBot: c.Bot != "", Status: c.Status,
	}
	if len(salt) > 0 {
		d.click.Visitor = d.keep(appendVisitor(d.text, c, salt))
	}
}

// noAgent is known of a visitor of whom nothing is known.
var noAgent enrich.Agent

// setVisitor puts in what is known of the visitor.
func (d *draft) setVisitor(v *enrich.Visitor) {
	t := &d.web.Texts
	t[record.Country], t[record.Region], t[record.City] = bytesOf(v.Place.Country),
		bytesOf(v.Place.Region), bytesOf(v.Place.City)
	a := cmp.Or(v.Agent, &noAgent)
	t[record.Device], t[record.OS], t[record.Browser] = bytesOf(a.Device), bytesOf(a.OS), bytesOf(a.Browser)
}

// setOrigin puts in what the request tells of where the visitor comes from.
func (d *draft) setOrigin(c *Click) {
	t := &d.web.Texts
	t[record.Language] = firstLanguage(c.Languages)

	d.keep(enrich.AppendOrigin(d.text, &d.origin, c.Referrer))
	name := bytesOf(d.origin.Name)
	if len(name) == 0 {
		name = d.origin.Host
	}
	t[record.ReferrerHost], t[record.ReferrerKind], t[record.ReferrerName] = d.origin.Host,
		bytesOf(string(d.origin.Kind)), name

	d.keep(enrich.AppendCampaign(d.text, &d.campaign, c.Query))
	d.setCampaign(&c.Link.UTM)
}

// setCampaign puts in the campaign: what the link says of one, and the address else.
func (d *draft) setCampaign(of *link.UTM) {
	t, said := &d.web.Texts, &d.campaign
	t[record.UTMSource], t[record.UTMMedium] = either(of.Source, said.Source), either(of.Medium, said.Medium)
	t[record.UTMCampaign] = either(of.Campaign, said.Name)
	t[record.UTMTerm], t[record.UTMContent] = either(of.Term, said.Term), either(of.Content, said.Content)
}

func either(first string, second []byte) []byte {
	if first != "" {
		return bytesOf(first)
	}
	return second
}

// appendID appends the id of a click. Nobody gains by guessing one, but two must never be
// the same.
func appendID(dst []byte, millis int64) []byte {
	var random [10]byte
	binary.NativeEndian.PutUint64(random[:], rand.Uint64())          //nolint:gosec // see above
	binary.NativeEndian.PutUint16(random[8:], uint16(rand.Uint32())) //nolint:gosec // see above
	return record.AppendID(dst, millis, random)
}

// appendVisitor appends the digits of whose click it is. The room behind dst serves as
// scratch space.
func appendVisitor(dst []byte, c *Click, salt []byte) []byte {
	addr := c.Addr.As16() // of IPv4 as an address of IPv6 that stands for it
	dst = slices.Grow(dst, len(salt)+len(c.Link.ID)+len(addr)+len(c.UserAgent))
	said := append(append(dst, salt...), c.Link.ID...)
	said = append(append(said, addr[:]...), c.UserAgent...)
	sum := sha256.Sum256(said[len(dst):])
	return hex.AppendEncode(dst, sum[:visitorBytes])
}

var (
	qrName  = []byte("qr")
	qrValue = []byte("1")
)

// byQR reports whether a short address is that of a QR code, whose query has "qr=1".
func byQR(query []byte) bool {
	for len(query) > 0 {
		pair, rest, _ := bytes.Cut(query, []byte{'&'})
		if name, value, _ := bytes.Cut(pair, []byte{'='}); bytes.Equal(name, qrName) && bytes.Equal(value, qrValue) {
			return true
		}
		query = rest
	}
	return false
}

// firstLanguage returns the language that a browser names first; nil where that is no tag.
func firstLanguage(header []byte) []byte {
	tag, _, _ := bytes.Cut(header, []byte{','})
	tag, _, _ = bytes.Cut(tag, []byte{';'})
	tag = bytes.TrimSpace(tag)
	if len(tag) > maxLanguage || bytes.ContainsFunc(tag, func(r rune) bool { return !isTagRune(r) }) {
		return nil
	}
	return tag
}

func isTagRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-'
}

// bytesOf returns the bytes of a text without copying it, for a reader.
func bytesOf(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s)) //nolint:gosec // see above
}
