package website

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
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
		return "", fmt.Errorf("a domain must have at most %d bytes", MaxDomainLen)
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

// WithoutWWW cuts a leading "www." where a domain is left that belongs to somebody:
// www.com and www.co.uk are such themselves, and so is a site below a host's name that
// anybody may have, as www.github.io.
func WithoutWWW(host string) string {
	for {
		rest, ok := strings.CutPrefix(host, "www.")
		if !ok || isSuffix(rest) {
			return host
		}
		host = rest
	}
}

// isSuffix reports whether a domain is one below which everybody may have a name: "co.uk",
// and every single name, such as "com" or "localhost".
func isSuffix(domain string) bool {
	suffix, _ := publicsuffix.PublicSuffix(domain)
	return suffix == domain
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
