package config

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// BaseURL returns where callers reach the query host: query.public_url, else the
// address it listens on. It has no slash at its end.
func (q Query) BaseURL() string { return baseURL(q.PublicURL, q.Listen) }

// BaseURL returns where callers reach the ingestion host, as Query's does.
func (i Ingest) BaseURL() string { return baseURL(i.PublicURL, i.Listen) }

// BaseURL returns where visitors reach the short-link host, as Query's does; it is
// empty when there is neither a public address nor a listener.
func (l Link) BaseURL() string {
	if l.Listen == "" {
		return l.PublicURL
	}
	return baseURL(l.PublicURL, l.Listen)
}

// QueryURL returns where callers of the ingestion host reach the query host. It is empty if the
// ingestion host has a public address and query.public_url is not set: the address that the query host
// listens on is of no use to such callers.
func (s Settings) QueryURL() string {
	if s.Ingest.PublicURL != "" {
		return s.Query.PublicURL
	}
	return s.Query.BaseURL()
}

// ContactURI returns security.contact as a URI; empty if it is not set.
func (s Security) ContactURI() string { return contactURI(s.Contact) }

func baseURL(public, listen string) string {
	if public != "" {
		return public
	}
	return ListenURL(listen)
}

// ListenURL returns the URL of a listener as this machine reaches it, over http:
// one that listens everywhere is on the loopback too.
func ListenURL(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "http://" + listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// IsLoopback reports whether only this machine reaches a listener.
func IsLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	ip, errIP := netip.ParseAddr(host)
	return err == nil && (host == "localhost" || errIP == nil && ip.Unmap().IsLoopback())
}

// publicURLs lists, by the listener of a host, the addresses that it tells callers of:
// in cookies, mails, snippets and discovery. An address of this machine is of no use to
// others, and what a request says of the host it asked is anybody's word.
var publicURLs = []struct{ listen, url string }{
	{"ingest.listen", "ingest.public_url"},
	{"query.listen", "query.public_url"},
	{"query.listen", "ingest.public_url"},
	{"link.listen", "link.public_url"},
}

// unnamed returns a problem for each address that is missing although one of the
// listeners, given by their keys, is reached from other machines.
func (s Settings) unnamed(listeners []string) []*problem {
	var out []*problem
	asked := map[string]bool{}
	for _, p := range publicURLs {
		listen, _ := lookupField(p.listen)
		url, _ := lookupField(p.url)
		addr := formatValue(listen.of(&s))
		if !slices.Contains(listeners, p.listen) || addr == "" || IsLoopback(addr) || !url.isEmpty(&s) || asked[p.url] {
			continue
		}
		asked[p.url] = true
		out = append(out, &problem{key: p.url, text: "must be set with " + url.Env + " or --" + p.url +
			" to the URL that callers use, such as https://millrace.example.com: " + p.listen + " " + addr +
			" is reachable from other machines"})
	}
	return out
}

// Networks returns the trusted proxies as ranges; a single address is a range of
// one. What Validate rejects is left out.
func (p Proxy) Networks() []netip.Prefix {
	var out []netip.Prefix
	for _, text := range p.Trusted {
		if n, ok := parseNetwork(text); ok {
			out = append(out, n)
		}
	}
	return out
}

// parseNetwork reads an address or a range. It rejects the range of all addresses,
// behind which every caller could name itself, and IPv4 written as IPv6, which
// would match nothing.
func parseNetwork(s string) (netip.Prefix, bool) {
	if a, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(a, a.BitLen()), a.Zone() == "" && !a.Is4In6()
	}
	n, err := netip.ParsePrefix(s)
	return n.Masked(), err == nil && n.Bits() > 0 && !n.Addr().Is4In6()
}

func isNetwork(s string) bool {
	_, ok := parseNetwork(s)
	return ok
}

// isOrigin reports whether s is written as a browser writes an origin: lower case,
// without a path, and without the port that its scheme has anyway. Cookies,
// Origin headers and links are compared with it byte by byte.
func isOrigin(s string) bool {
	u, err := url.Parse(s)
	if err != nil || defaultPorts[u.Scheme] == "" || s != u.Scheme+"://"+u.Host || strings.HasSuffix(s, ":") {
		return false
	}
	return isHost(u.Hostname()) && u.Port() != defaultPorts[u.Scheme] && (u.Port() == "" || isPort(u.Port()))
}

// isPort reports whether s is a port as one writes it, without leading zeros.
func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0 && s == strconv.FormatUint(n, 10)
}

var defaultPorts = map[string]string{"http": "80", "https": "443"}

// isHost reports whether s is an address, or a name in ASCII as it stands in a
// Host header.
func isHost(s string) bool {
	if a, err := netip.ParseAddr(s); err == nil {
		return a.Zone() == ""
	}
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '.':
		default:
			return false
		}
	}
	return s != "" && s[0] != '.' && s[0] != '-'
}
