package httpkit

import (
	"bytes"
	"net"
	"net/netip"
	"slices"
	"unsafe"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// Proxies says which peers may tell for whom they speak. The zero value trusts
// nobody.
type Proxies struct {
	// Trusted are the ranges of the proxies' addresses.
	Trusted []netip.Prefix
	// Header is the one header to which they append their peer's address:
	// "x-forwarded-for" or "forwarded" (RFC 7239); empty means the former.
	Header string
}

// ClientAddr returns the address of the caller, which limits, lists of allowed
// addresses, sign-in throttling and the audit log go by. It is the peer's, unless
// that is a trusted proxy: then what the proxies appended to the header is read
// from the right, and the first address that is not itself a trusted proxy's
// counts. What stands left of it was written by the caller and is never looked
// at; where a proxy wrote no address, that proxy's own counts.
//
// IPv4 is never in its IPv6 form and no address has a zone. The address is
// invalid only where the connection has none.
func ClientAddr(c *fiber.Ctx) netip.Addr {
	r := requestOf(c.Context())
	if r == nil {
		return peer(c.Context())
	}
	return r.clientAddr(c.Context())
}

// clientAddr finds the address out once.
func (r *request) clientAddr(rc *fasthttp.RequestCtx) netip.Addr {
	if !r.addr.IsValid() {
		r.addr = r.kit.cfg.Proxies.resolve(rc)
	}
	return r.addr
}

func peer(rc *fasthttp.RequestCtx) netip.Addr {
	tcp, ok := rc.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return plain(tcp.AddrPort().Addr())
}

func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

func (p Proxies) resolve(rc *fasthttp.RequestCtx) netip.Addr {
	client := peer(rc)
	if !p.trusts(client) {
		return client
	}
	name, last := fiber.HeaderXForwardedFor, lastListed
	if p.Header == "forwarded" {
		name, last = fiber.HeaderForwarded, lastForwarded
	}
	for _, rest := range slices.Backward(rc.Request.Header.PeekAll(name)) {
		for len(rest) > 0 {
			var said netip.Addr
			said, rest = last(rest)
			if !said.IsValid() {
				return client
			}
			client = said
			if !p.trusts(client) {
				return client
			}
		}
	}
	return client
}

func (p Proxies) trusts(a netip.Addr) bool {
	for _, n := range p.Trusted {
		if n.Contains(a) {
			return true
		}
	}
	return false
}

// lastListed reads the last item of a value of X-Forwarded-For and returns what
// stands before it.
func lastListed(value []byte) (addr netip.Addr, before []byte) {
	item := value
	if i := bytes.LastIndexByte(value, ','); i >= 0 {
		before, item = value[:i], value[i+1:]
	}
	return parseNode(bytes.TrimSpace(item)), before
}

// lastForwarded reads the last element of a value of Forwarded and returns what
// stands before it. It goes from the right also through quoted text, so that no
// quote that a caller leaves open swallows what a proxy appended.
func lastForwarded(value []byte) (addr netip.Addr, before []byte) {
	end := len(value)
	for i := end - 1; i >= -1; i-- {
		if i >= 0 && value[i] == '"' {
			if i = openingQuote(value, i); i < 0 {
				return netip.Addr{}, nil
			}
			continue
		}
		if i >= 0 && value[i] != ',' && value[i] != ';' {
			continue
		}
		if name, node, ok := bytes.Cut(value[i+1:end], []byte("=")); ok &&
			bytes.EqualFold(bytes.TrimSpace(name), []byte("for")) {
			addr = parseNode(unquote(bytes.TrimSpace(node)))
		}
		if end = i; i >= 0 && value[i] == ',' {
			return addr, value[:i]
		}
	}
	return addr, nil
}

// openingQuote returns the place of the quote that opens the text which ends with
// the quote at closing, or -1.
func openingQuote(value []byte, closing int) int {
	for i := closing - 1; i >= 0; i-- {
		if value[i] == '"' && !escaped(value, i) {
			return i
		}
	}
	return -1
}

// escaped reports whether an odd number of backslashes stands before i.
func escaped(value []byte, i int) bool {
	n := 0
	for i--; i >= 0 && value[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}

// unquote takes off quotes; an address has nothing to escape.
func unquote(b []byte) []byte {
	if len(b) >= 2 && b[0] == '"' && b[len(b)-1] == '"' {
		return b[1 : len(b)-1]
	}
	return b
}

// maxNodeLen is longer than any address with a zone and a port that one meets.
const maxNodeLen = 80

// parseNode reads an address with or without brackets and port; the zero Addr
// where it is none, such as "unknown".
func parseNode(b []byte) netip.Addr {
	if len(b) == 0 || len(b) > maxNodeLen {
		return netip.Addr{}
	}
	// ParseAddr keeps nothing but a zone, which plain takes away.
	s := unsafe.String(unsafe.SliceData(b), len(b)) //nolint:gosec // see above
	if s[0] != '[' {
		if a, err := netip.ParseAddr(s); err == nil {
			return plain(a)
		}
	} else if s[len(s)-1] == ']' {
		a, err := netip.ParseAddr(s[1 : len(s)-1])
		if err != nil || !a.Is6() {
			return netip.Addr{}
		}
		return plain(a)
	}
	ap, err := netip.ParseAddrPort(s)
	if err != nil {
		return netip.Addr{}
	}
	return plain(ap.Addr())
}
