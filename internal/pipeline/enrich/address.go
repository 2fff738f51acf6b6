package enrich

import (
	"bytes"
	"net/netip"
	"net/url"
	"strings"
	"unsafe"

	"golang.org/x/net/idna"
)

// Bounds of what is found in an address, in bytes.
const (
	// MaxHostLen is the longest host, with its port.
	MaxHostLen = 253
	// MaxPathLen is the longest path, with what stays of query and fragment.
	MaxPathLen = 2048
)

// address is a URL taken apart; its parts are slices of the text.
type address struct {
	scheme   []byte // as it was written, without "://"; empty where there is none
	host     []byte // with port, without user and password
	path     []byte
	query    []byte // without "?"
	fragment []byte // without "#"
}

// split takes a URL apart. Text without a scheme is a path, whatever it looks
// like.
func split(text []byte) address {
	var a address
	rest, fragment, _ := bytes.Cut(bytes.TrimSpace(text), []byte{'#'})
	rest, query, _ := bytes.Cut(rest, []byte{'?'})
	a.fragment, a.query = fragment, query
	scheme, after, ok := bytes.Cut(rest, []byte("://"))
	switch {
	case ok && isScheme(scheme):
		a.scheme, rest = scheme, after
	case bytes.HasPrefix(rest, []byte("//")) && text[0] == '/':
		rest = rest[2:]
	default:
		a.path = rest
		return a
	}
	a.host = rest
	if i := bytes.IndexByte(rest, '/'); i >= 0 {
		a.host, a.path = rest[:i], rest[i:]
	}
	if i := bytes.LastIndexByte(a.host, '@'); i >= 0 {
		a.host = a.host[i+1:]
	}
	return a
}

func isScheme(text []byte) bool {
	for _, c := range text {
		if !isSchemeByte(c) {
			return false
		}
	}
	return len(text) > 0 && isLetter(text[0])
}

func isSchemeByte(c byte) bool {
	return isLetter(c) || '0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// hosts maps names as a browser does.
var hosts = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(false), idna.VerifyDNSLength(true))

// appendHost appends the normal form of a host: lower case, international names
// in their ASCII form, without a leading "www.", a trailing dot and the ports of
// http and https. What is no host leaves dst as it is.
func appendHost(dst, host []byte) []byte {
	from := len(dst)
	name, port := cutPort(host)
	switch {
	case len(name) == 0:
	case name[0] == '[':
		dst = appendAddress(dst, name)
	case isPlainHost(name):
		for _, c := range bytes.TrimSuffix(name, []byte{'.'}) {
			if 'A' <= c && c <= 'Z' {
				c |= 0x20
			}
			dst = append(dst, c)
		}
	default:
		dst = appendForeignHost(dst, name)
	}
	dst = cutWWW(dst, from)
	if len(dst) > from && len(port) > 0 && string(port) != "80" && string(port) != "443" {
		dst = append(append(dst, ':'), port...)
	}
	if len(dst)-from > MaxHostLen {
		return dst[:from]
	}
	return dst
}

// cutPort separates a host from its port, if that is a number.
func cutPort(host []byte) (name, port []byte) {
	i := bytes.LastIndexByte(host, ':')
	if i < 0 || bytes.IndexByte(host[i:], ']') >= 0 {
		return host, nil
	}
	port = bytes.TrimLeft(host[i+1:], "0")
	for _, c := range port {
		if c < '0' || c > '9' {
			return host, nil // not a host at all; the colon will tell
		}
	}
	if len(port) > 5 {
		return host, nil
	}
	return host[:i], port
}

// isPlainHost reports whether all of a name may stand in a host as it is, but
// for its case.
func isPlainHost(name []byte) bool {
	for _, c := range name {
		if !isLetter(c) && ('0' > c || c > '9') && c != '-' && c != '.' && c != '_' {
			return false
		}
	}
	return len(name) > 0 && len(name) <= MaxHostLen && name[0] != '.' && !bytes.Contains(name, []byte(".."))
}

// cutWWW cuts each leading "www." of a host that leaves a domain behind.
func cutWWW(dst []byte, from int) []byte {
	for {
		host := dst[from:]
		if !bytes.HasPrefix(host, []byte("www.")) || bytes.IndexByte(host[4:], '.') < 0 {
			return dst
		}
		dst = append(dst[:from], host[4:]...)
	}
}

// appendAddress appends an IPv6 address in brackets.
func appendAddress(dst, host []byte) []byte {
	addr, err := netip.ParseAddr(view(bytes.TrimSuffix(host[1:], []byte{']'})))
	if err != nil || addr.Zone() != "" || host[len(host)-1] != ']' {
		return dst
	}
	return append(addr.AppendTo(append(dst, '[')), ']')
}

// appendForeignHost appends the ASCII form of an international name, which may
// be percent-encoded. It is rare: browsers send the ASCII form.
func appendForeignHost(dst, name []byte) []byte {
	if len(name) > 4*MaxHostLen {
		return dst
	}
	text, err := url.PathUnescape(string(name))
	if err != nil {
		return dst
	}
	ascii, err := hosts.ToASCII(text)
	ascii = strings.TrimSuffix(ascii, ".")
	if err != nil || !isPlainHost([]byte(ascii)) || strings.HasSuffix(ascii, ".") {
		return dst
	}
	return append(dst, ascii...)
}

// view returns b as a string without copying it, for a callee that does not keep
// it.
func view(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b)) //nolint:gosec // see above
}
