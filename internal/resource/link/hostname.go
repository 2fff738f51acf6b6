package link

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/idna"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// MaxHostnameLen is the most bytes of a domain's hostname, in ASCII: a name of DNS has 253,
// and the record that proves the domain has a label more.
const MaxHostnameLen = 253 - len(recordLabel)

// maxLabelLen is the most bytes between two dots.
const maxLabelLen = 63

// cleanHostname returns a hostname as domains have it, or the Validation error of one that
// cannot be an organization's own.
func (r *Rules) cleanHostname(text string) (string, error) {
	name := strings.TrimSuffix(text, ".")
	if strings.Contains(name, "*") {
		return "", apierr.Invalid("hostname", "wildcard", "hostname must be a single host, not a wildcard")
	}
	if isAddress(name) {
		return "", apierr.Invalid("hostname", "ip_address", "hostname must be a name, not an IP address")
	}
	ascii, err := idna.Lookup.ToASCII(name)
	if err != nil || strings.ContainsFunc(ascii, notInHostname) {
		return "", noHostname()
	}
	labels := strings.Split(ascii, ".")
	switch {
	case len(ascii) > MaxHostnameLen || slices.ContainsFunc(labels, func(l string) bool { return len(l) > maxLabelLen }):
		return "", apierr.Invalid("hostname", "too_long",
			fmt.Sprintf("hostname must have at most %d bytes in ASCII form, and each label at "+
				"most %d", MaxHostnameLen, maxLabelLen))
	case slices.Contains(labels, ""):
		return "", noHostname()
	case len(labels) < 2:
		return "", apierr.Invalid("hostname", "no_dot", "hostname must contain a dot, such as go.example.com")
	case r.ours(ascii) || slices.Contains(r.OwnHosts, ascii):
		return "", apierr.Invalid("hostname", "own_host", "hostname must not be a host of this service")
	}
	return ascii, nil
}

func noHostname() error {
	return apierr.Invalid("hostname", "invalid_hostname",
		"hostname must be a host name such as go.example.com, without a scheme, port or path")
}

func notInHostname(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.'
}

// isAddress reports whether a browser takes a name for an IP address: it does for each whose
// last label is a number.
func isAddress(name string) bool {
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return true
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	if hex, ok := strings.CutPrefix(strings.ToLower(last), "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}
