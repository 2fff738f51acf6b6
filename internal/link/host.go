package link

import (
	"net/url"
	"strings"

	"golang.org/x/net/idna"
)

// HostKey is what a host's name is compared by: in lower case, without a dot at the end, in
// ASCII.
func HostKey(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		return ascii
	}
	return host
}

// HostOf returns the host of an http or https address as HostKey has it; empty for what is
// none.
func HostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return HostKey(u.Hostname())
}
