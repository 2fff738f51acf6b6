package enrich

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/millrace/millrace/internal/tenant/website"
)

// PageInfo is what an event's address and referrer tell. Its slices are its own
// memory, which the next call of Page with it uses again; the zero value is ready.
type PageInfo struct {
	// Host is where the page is, in its normal form; empty when the address does
	// not say.
	Host []byte
	// Path is the page as it is stored: in its normal form and masked. Of a text
	// that is no path, such as the name of an app's screen, it is that text
	// without query and fragment.
	Path []byte
	// Excluded says that the website does not count the page's events.
	Excluded bool
	// Referrer is where the visitor comes from.
	Referrer Source
	// Campaign is what the address says of it.
	Campaign Campaign

	buf     []byte
	scratch []byte

	// What the result is for: the events of one request mostly share it.
	site          *website.Website
	url, referrer []byte
	read          bool
}

// isOf reports whether p holds the result for these.
func (p *PageInfo) isOf(url, referrer []byte, w *website.Website) bool {
	return p.read && p.site == w && bytes.Equal(p.url, url) && bytes.Equal(p.referrer, referrer)
}

// Page reads an event's address, a URL or a path, and its referrer, by the rules
// of a website; w is nil for an event of no website. What p held before is
// overwritten; of url and referrer it keeps copies, so that to be asked the same
// again costs next to nothing.
func (e *Enricher) Page(p *PageInfo, url, referrer []byte, w *website.Website) {
	if p.isOf(url, referrer, w) {
		return
	}
	p.site, p.read = w, true
	p.url, p.referrer = append(p.url[:0], url...), append(p.referrer[:0], referrer...)
	rules := e.Rules(w)
	a := split(url)
	buf := p.buf[:0]

	buf = appendHost(buf, a.host)
	p.Host = slices.Clip(buf)

	p.scratch = appendPage(p.scratch[:0], &a, rules)
	p.Excluded = rules.Excluded(p.scratch)
	from := len(buf)
	buf = rules.Mask(buf, p.scratch)
	p.Path = slices.Clip(buf[from:])

	p.Campaign = Campaign{}
	buf = addCampaign(buf, &p.Campaign, a.query)
	if _, query, ok := bytes.Cut(a.fragment, []byte{'?'}); ok {
		buf = addCampaign(buf, &p.Campaign, query)
	}
	domain := ""
	if w != nil {
		domain = w.Domain
	}
	buf = appendSource(buf, &p.Referrer, referrer, domain, p.Host, rules)
	p.buf = buf
}

// appendPage appends the page of an address in normal form: the path, of the
// query what the website tracks, of the fragment a route. It is at most
// MaxPathLen bytes long.
func appendPage(dst []byte, a *address, rules *Rules) []byte {
	if len(a.path) > 0 && a.path[0] != '/' && len(a.scheme) == 0 {
		return append(dst, bytes.TrimSpace(cutRunes(a.path, MaxPathLen))...)
	}
	if len(a.path) == 0 && len(a.host) == 0 && len(a.fragment) == 0 {
		return dst
	}
	from := len(dst)
	dst, _ = appendPath(dst, a.path, MaxPathLen)
	dst = rules.appendParams(dst, from, a.query)
	if mark, route := routeOf(a.fragment); len(route) > 1 && len(dst)-from+len(mark)+2 <= MaxPathLen {
		at := len(dst)
		dst = append(dst, mark...)
		if dst, _ = appendPath(dst, route, MaxPathLen-(len(dst)-from)); len(dst) == at+len(mark)+1 {
			dst = dst[:at] // "#/" is the page itself
		}
	}
	return dst
}

// routeOf returns the route that a fragment holds, as pages do that choose their
// view by it: "/users" of "/users?tab=1", with what stands in front of it.
func routeOf(fragment []byte) (mark string, route []byte) {
	fragment, _, _ = bytes.Cut(fragment, []byte{'?'})
	switch {
	case bytes.HasPrefix(fragment, []byte{'/'}):
		return "#", fragment
	case bytes.HasPrefix(fragment, []byte("!/")):
		return "#!", fragment[1:]
	}
	return "", nil
}

// appendParams appends the parameters that stay, in the order in which they
// stand, as long as they fit behind what begins at from.
func (r *Rules) appendParams(dst []byte, from int, query []byte) []byte {
	if r == nil || len(r.params) == 0 {
		return dst
	}
	mark := byte('?')
	for name, value := range pairs(query) {
		at := len(dst)
		dst = append(dst, mark)
		dst = appendEscaped(dst, name, inQuery)
		if _, ok := r.params[string(dst[at+1:])]; !ok {
			dst = dst[:at]
			continue
		}
		dst = appendEscaped(append(dst, '='), value, inQuery)
		if len(dst)-from > MaxPathLen {
			dst = dst[:at]
			continue
		}
		mark = '&'
	}
	return dst
}

// cutRunes returns at most n bytes of a text, of which no character is cut in
// two.
func cutRunes(text []byte, n int) []byte {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
