package enrich

import (
	"bytes"
	"slices"
	"strings"
)

// MaxReferrerLen is the longest referrer, in bytes.
const MaxReferrerLen = 2048

// Kind says what kind of place a visit comes from.
type Kind string

// The kinds of places.
const (
	Direct   Kind = "direct"   // none is told, or none that can be read
	Internal Kind = "internal" // the website itself
	Search   Kind = "search"
	Social   Kind = "social"
	AI       Kind = "ai" // an assistant or an answer engine
	Email    Kind = "email"
	Video    Kind = "video"
	Ads      Kind = "ads" // the servers of advertising networks
	Other    Kind = "other"
)

// Source is where a visit comes from.
type Source struct {
	Kind Kind
	Name string // of a known place, such as "Google"; else empty
	// Host is the host in its normal form, or the package of an Android app.
	Host []byte
	// URL is the referrer without user, query and fragment.
	URL []byte
}

// Referrer returns where a visit comes from. ref is a URL, "direct" or empty;
// ownHost is the website's domain, whose own pages and those of its subdomains
// are internal.
func Referrer(ref []byte, ownHost string) Source {
	var s Source
	appendSource(nil, &s, ref, ownHost, nil, nil)
	return s
}

// AppendOrigin is Referrer for those who want to know the host alone, and have no pages of
// their own: URL stays empty. The host is appended to dst, of which it allocates nothing
// as long as it fits.
func AppendOrigin(dst []byte, s *Source, ref []byte) []byte {
	*s = Source{Kind: Direct}
	a := split(ref)
	if schemeOf(a.scheme) == "" {
		return dst
	}
	from := len(dst)
	dst = appendHost(dst, a.host)
	if len(dst) > from {
		s.Host = slices.Clip(dst[from:])
		s.Kind, s.Name = sourceOf(s.Host)
	}
	return dst
}

// referrerSchemes are the schemes of addresses that say where somebody was.
var referrerSchemes = []string{"https", "http", "android-app", "ios-app"}

// appendSource reads a referrer into s, whose parts are appended to dst. Paths of
// the website itself, which is called domain and here goes by page, are masked
// by its rules.
func appendSource(dst []byte, s *Source, ref []byte, domain string, page []byte, rules *Rules) []byte {
	*s = Source{Kind: Direct}
	a := split(ref)
	scheme := schemeOf(a.scheme)
	if scheme == "" {
		return dst
	}
	from := len(dst)
	dst = appendHost(append(append(dst, scheme...), "://"...), a.host)
	at := from + len(scheme) + len("://")
	if len(dst) == at {
		return dst[:from]
	}
	s.Host = slices.Clip(dst[at:])
	s.Kind, s.Name = sourceOf(s.Host)
	start := len(dst)
	dst, _ = appendPath(dst, a.path, MaxReferrerLen-(start-from))
	if isWithin(s.Host, domain) || bytes.Equal(s.Host, page) {
		s.Kind, s.Name = Internal, ""
		// Masked behind itself, then moved to its place; it only gets shorter.
		end := len(dst)
		dst = rules.Mask(dst, dst[start:end])
		dst = dst[:start+copy(dst[start:], dst[end:])]
	}
	s.URL = slices.Clip(dst[from:])
	return dst
}

func schemeOf(text []byte) string {
	for _, s := range referrerSchemes {
		if len(text) == len(s) && bytes.EqualFold(text, []byte(s)) {
			return s
		}
	}
	return ""
}

// isWithin reports whether a host is domain or one below it.
func isWithin(host []byte, domain string) bool {
	host, _ = cutPort(host)
	if domain == "" || len(host) < len(domain) || string(host[len(host)-len(domain):]) != domain {
		return false
	}
	return len(host) == len(domain) || host[len(host)-len(domain)-1] == '.'
}

// sourceOf looks a host up: itself, then each domain above it.
func sourceOf(host []byte) (Kind, string) {
	host, _ = cutPort(host)
	for len(host) > 0 {
		if s, ok := sourceByHost[string(host)]; ok {
			return s.kind, s.name
		}
		label, above, _ := bytes.Cut(host, []byte{'.'})
		if s, ok := sourceByLabel[string(label)]; ok && isCountryTail(above) {
			return s.kind, s.name
		}
		host = above
	}
	return Other, ""
}

// isCountryTail reports whether a name is what companies with a domain in each
// country put behind their own: a country, or "co", "com", "net" or "org" of one.
func isCountryTail(name []byte) bool {
	first, country, ok := bytes.Cut(name, []byte{'.'})
	if !ok {
		return len(first) == 2 || string(first) == "com"
	}
	switch string(first) {
	case "co", "com", "net", "org":
		return len(country) == 2
	}
	return false
}

type knownSource struct {
	kind Kind
	name string
}

// sourceByHost and sourceByLabel are the table of sources by host, and by the
// label in front of ".*".
var sourceByHost, sourceByLabel = indexSources(sources)

func indexSources(list []sourceRow) (byHost, byLabel map[string]knownSource) {
	byHost, byLabel = map[string]knownSource{}, map[string]knownSource{}
	for _, row := range list {
		for host := range strings.FieldsSeq(row.hosts) {
			if label, ok := strings.CutSuffix(host, ".*"); ok {
				byLabel[label] = knownSource{row.kind, row.name}
			} else {
				byHost[host] = knownSource{row.kind, row.name}
			}
		}
	}
	return byHost, byLabel
}
