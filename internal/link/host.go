package link

import (
	"net/url"
	"strings"

	"golang.org/x/net/idna"
)

// HostKey is what a host's name is compared by: in lower case, without a dot at its end, and
// in ASCII, as a browser asks for it.
func HostKey(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		return ascii
	}
	return host
}

// HostOf returns the HostKey of an http or https address, and "" for others. It allocates
// nothing for a name that is written as it is compared.
func HostOf(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok || !strings.EqualFold(scheme, "https") && !strings.EqualFold(scheme, "http") {
		return ""
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	if name, port, _ := strings.Cut(rest, ":"); isPlainHost(name) && !strings.ContainsFunc(port, notDigit) {
		return name
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return HostKey(u.Hostname())
}

// isPlainHost reports whether a name is its own HostKey for sure.
func isPlainHost(name string) bool {
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' {
			return false
		}
	}
	return name != "" && name[len(name)-1] != '.' && !strings.Contains(name, "xn--")
}

func notDigit(r rune) bool { return r < '0' || r > '9' }
