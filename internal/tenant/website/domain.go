package website

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/idna"
)

// MaxDomainLen is the longest domain, in bytes of its ASCII form.
const MaxDomainLen = 253

// maxURLLen bounds the text in which a domain is looked for, in bytes.
const maxURLLen = 2048

// hosts maps names as a browser does before it writes them into Origin.
var hosts = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(true), idna.VerifyDNSLength(true))

// NormalizeDomain returns the host name in text: lower case, international names
// in their ASCII form, without scheme, user, port, path, trailing dot and
// leading "www.". Addresses and single names such as "localhost" are accepted.
func NormalizeDomain(text string) (string, error) {
	host, err := normalHost(text)
	return WithoutWWW(host), err
}

// normalHost does all of NormalizeDomain but to cut the "www.".
func normalHost(text string) (string, error) {
	if len(text) > maxURLLen {
		return "", fmt.Errorf("a domain has at most %d bytes", MaxDomainLen)
	}
	host := strings.TrimSpace(text)
	if _, rest, ok := strings.Cut(host, "://"); ok {
		host = rest
	}
	if i := strings.IndexAny(host, "/?#"); i >= 0 {
		host = host[:i]
	}
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	if addr, ok := address(host); ok {
		return addr, nil
	}
	u := url.URL{Host: host}
	ascii, err := hosts.ToASCII(strings.TrimSuffix(u.Hostname(), "."))
	if err != nil || ascii == "" || len(ascii) > MaxDomainLen {
		return "", fmt.Errorf("%q is not a domain such as example.com", text)
	}
	return ascii, nil
}

// WithoutWWW cuts a leading "www." where a domain is left: www.com is one itself.
func WithoutWWW(host string) string {
	for {
		rest, ok := strings.CutPrefix(host, "www.")
		if !ok || !strings.Contains(rest, ".") {
			return host
		}
		host = rest
	}
}

// address returns the normal form of an IP address with or without brackets and
// port.
func address(host string) (string, bool) {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	addr, err := netip.ParseAddr(host)
	return addr.String(), err == nil && addr.Zone() == ""
}
