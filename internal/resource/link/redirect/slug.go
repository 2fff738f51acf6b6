package redirect

import (
	"golang.org/x/text/unicode/norm"

	"github.com/millrace/millrace/internal/resource/link"
)

// maxOwnPath is more bytes than the path of any slug of a domain has: three for each of its
// own, each of those written in three.
const maxOwnPath = 1 + 9*link.MaxOwnSlugLen

// appendSlug appends the slug in a path of the host that all organizations share, decoded
// once; false where it can be none, so that nobody has to look for it.
func appendSlug(b, path []byte) (slug []byte, ok bool) {
	if len(path) == 0 || path[0] != '/' {
		return b, false
	}
	from := len(b)
	for i := 1; i < len(path); i++ {
		c := path[i]
		if c == '%' {
			c, i = decodeAt(path, i)
		}
		if !inSlug(c) || len(b)-from == link.MaxSlugLen {
			return b, false
		}
		b = append(b, c)
	}
	return b, len(b)-from >= link.MinSlugLen
}

// appendOwnSlug appends the slug in a path of a domain likewise, in NFC.
func appendOwnSlug(b, path []byte) (slug []byte, ok bool) {
	if len(path) < 2 || path[0] != '/' || len(path) > maxOwnPath {
		return b, false
	}
	from := len(b)
	for i := 1; i < len(path); i++ {
		c := path[i]
		if c == '%' {
			c, i = decodeAt(path, i)
		}
		b = append(b, c)
	}
	if !norm.NFC.IsNormal(b[from:]) {
		b = append(b[:from], norm.NFC.Bytes(b[from:])...)
	}
	return b, link.CheckOwnSlug(string(b[from:])) == nil
}

// decodeAt returns the byte that the percent sign at i stands for, and where that ends. A
// sign without digits stays one, which is in no slug.
func decodeAt(path []byte, i int) (c byte, end int) {
	if i+2 >= len(path) {
		return '%', i
	}
	high, low := unhex(path[i+1]), unhex(path[i+2])
	if high > 0xf || low > 0xf {
		return '%', i
	}
	return high<<4 | low, i + 2
}

// unhex returns the value of a hexadecimal digit, and more than that of what is none.
func unhex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 0xff
}

func inSlug(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

// appendKey appends what a slug is found by, as link.KeyOn says it; d is nil on the shared
// host, whose slugs are of ASCII.
func appendKey(b []byte, d *link.ServedDomain, slug []byte) []byte {
	if d != nil {
		return append(b, link.KeyOn(d.ID, d.CaseSensitive, string(slug))...)
	}
	for _, c := range slug {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return b
}
