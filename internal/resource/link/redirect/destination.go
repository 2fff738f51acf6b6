package redirect

import (
	"net/url"
	"strings"

	"github.com/millrace/millrace/internal/resource/link"
)

// MaxLocation is how long a location may become by what visitors add to it, in bytes:
// what servers and proxies read of a header line.
const MaxLocation = 8192

// qrParam marks the address in a QR code. It is the short link's own, and not handed on.
const qrParam = "qr"

// appendLocation appends an address with more parameters: the target's own stay as they
// are, those of utm follow that it has not, and then those of a visitor's query that
// neither has. Nothing but the query changes. Where that gets longer than MaxLocation,
// nothing is handed on; and if it still is, utm is left out.
func appendLocation(dst []byte, target string, utm *link.UTM, forward []byte) []byte {
	if *utm == (link.UTM{}) && len(forward) == 0 {
		return append(dst, target...)
	}
	from := len(dst)
	l := parseLocation(target)
	if len(forward) <= MaxLocation {
		if dst = l.append(dst, utm, forward); len(dst)-from <= MaxLocation {
			return dst
		}
	}
	if dst = l.append(dst[:from], utm, nil); len(dst)-from <= MaxLocation {
		return dst
	}
	return append(dst[:from], target...)
}

// location is a target taken apart.
type location struct {
	base, query, fragment string // the last two with what they begin with, or empty
	names                 map[string]bool
}

func parseLocation(target string) location {
	var l location
	l.base = target
	if i := strings.IndexByte(l.base, '#'); i >= 0 {
		l.base, l.fragment = l.base[:i], l.base[i:]
	}
	if i := strings.IndexByte(l.base, '?'); i >= 0 {
		l.base, l.query = l.base[:i], l.base[i:]
	}
	return l
}

// has reports whether the target's own query has a parameter.
func (l *location) has(name string) bool {
	if len(l.query) <= 1 {
		return false
	}
	if l.names == nil {
		l.names = map[string]bool{}
		for pair := range strings.SplitSeq(l.query[1:], "&") {
			l.names[nameOf(pair)] = true
		}
	}
	return l.names[name]
}

func (l *location) append(dst []byte, utm *link.UTM, forward []byte) []byte {
	dst = append(append(dst, l.base...), l.query...)
	query := len(l.query) > 0
	open := l.query == "?" || strings.HasSuffix(l.query, "&") // what follows needs no separator
	next := func() {
		switch {
		case !query:
			dst = append(dst, '?')
		case !open:
			dst = append(dst, '&')
		}
		query, open = true, false
	}
	for _, p := range params(utm) {
		if p.value != "" && !l.has(p.name) {
			next()
			dst = appendEscaped(append(append(dst, p.name...), '='), p.value)
		}
	}
	for pair := range strings.SplitSeq(string(forward), "&") {
		if name := nameOf(pair); pair != "" && name != qrParam && !l.has(name) && !isParam(utm, name) {
			next()
			dst = appendPair(dst, pair)
		}
	}
	return append(dst, l.fragment...)
}

// param is a parameter of a campaign.
type param struct{ name, value string }

// params are those that a link adds, in their order.
func params(utm *link.UTM) [5]param {
	return [...]param{
		{"utm_source", utm.Source},
		{"utm_medium", utm.Medium},
		{"utm_campaign", utm.Campaign},
		{"utm_term", utm.Term},
		{"utm_content", utm.Content},
	}
}

func isParam(utm *link.UTM, name string) bool {
	for _, p := range params(utm) {
		if p.value != "" && p.name == name {
			return true
		}
	}
	return false
}

// nameOf returns the name of a parameter as the target would read it, so that another way
// to write it does not get past one that it has.
func nameOf(pair string) string {
	name, _, _ := strings.Cut(pair, "=")
	return unescape(name)
}

func unescape(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}

const hexDigits = "0123456789ABCDEF"

// appendEscaped appends a text as the value of a parameter.
func appendEscaped(dst []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; isUnreserved(c) {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', hexDigits[c>>4], hexDigits[c&0xf])
		}
	}
	return dst
}

// appendPair appends a parameter as it came, but for what may not stand in a query: a
// browser would see the end of it, or of the whole address, there.
func appendPair(dst []byte, pair string) []byte {
	for i := range len(pair) {
		if c := pair[i]; isUnreserved(c) || strings.IndexByte("!$&'()*+,;=:@/?%", c) >= 0 {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', hexDigits[c>>4], hexDigits[c&0xf])
		}
	}
	return dst
}

func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' ||
		c == '.' || c == '_' || c == '~'
}
