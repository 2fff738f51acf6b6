package link

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// hostNames turns names as browsers do, which also open those that are no names of hosts by
// the letter, such as with an underscore.
var hostNames = idna.New(
	idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false), idna.CheckHyphens(false), idna.BidiRule(),
)

// HostKey is what hosts are compared by: in lower case, without a dot at the end,
// international names in ASCII, IP addresses in their one form. It allocates nothing for a
// name that is so already. A host that IDNA rejects is compared as it was written.
func HostKey(host string) string {
	if isHostKey(host) {
		return host
	}
	key, _ := parseHost(host)
	return key
}

// parseHost returns the HostKey of a host. It reports false for a name with an empty label or
// with a label that IDNA rejects: browsers may read such a name in another way than hosts are
// compared here.
func parseHost(host string) (key string, ok bool) {
	ascii, err := hostNames.ToASCII(host)
	if err == nil {
		host = ascii
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if addr, ok := addrOf(host); ok {
		return addr.String(), true
	}
	return host, err == nil && !slices.Contains(strings.Split(host, "."), "")
}

// HostOf is the HostKey of an address of http or https, and empty for others. It allocates
// nothing for a name that is its own key.
func HostOf(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok || !strings.EqualFold(scheme, "https") && !strings.EqualFold(scheme, "http") {
		return ""
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	if name, port, _ := strings.Cut(rest, ":"); isHostKey(name) && !strings.ContainsFunc(port, notDigit) {
		return name
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return HostKey(u.Hostname())
}

func notDigit(r rune) bool { return r < '0' || r > '9' }

// isHostKey reports whether a host is surely its own key: an ordinary name.
func isHostKey(host string) bool {
	last := strings.LastIndexByte(host, '.') + 1
	if last == len(host) || host[last] >= '0' && host[last] <= '9' {
		return false // ends with a dot, or may be a number
	}
	for i := range len(host) {
		if c := host[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '-' {
			return false
		}
	}
	return true
}

// addrOf is the address that a browser takes a host for: also numbers such as 0x7f.1 are.
func addrOf(host string) (addr netip.Addr, ok bool) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.WithZone(""), true
	}
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return addr, false
	}
	var ip uint64
	for i, part := range parts {
		n, ok := ipNumber(part)
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (4 - i) // the last one fills what is left
		}
		if !ok || n>>bits != 0 {
			return addr, false
		}
		ip = ip<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(ip >> 24), byte(ip >> 16), byte(ip >> 8), byte(ip)}), true
}

// ipNumber reads a part of an IPv4 address: decimal, octal after 0, hexadecimal after 0x.
func ipNumber(part string) (uint64, bool) {
	base := 10
	switch {
	case part == "0x": // browsers read it as 0
		return 0, true
	case strings.HasPrefix(part, "0x"):
		base, part = 16, part[2:]
	case len(part) > 1 && part[0] == '0':
		base, part = 8, part[1:]
	}
	n, err := strconv.ParseUint(part, base, 32)
	return n, err == nil
}
