package enrich

import "bytes"

// MaxSegments is how many segments a path has at most.
const MaxSegments = 63

// appendPath appends the normal form of a path: it begins with a slash and does
// not end with one unless it is nothing else, slashes that follow each other are
// one, "." and ".." are resolved, and of the characters that may stand in a path
// as they are none is percent-encoded, all others are, in upper case. whole says
// that nothing was cut, at limit bytes or MaxSegments.
func appendPath(dst, path []byte, limit int) (to []byte, whole bool) {
	from, n := len(dst), 0
	whole = true
	for len(path) > 0 && whole {
		segment := path
		if i := bytes.IndexByte(path, '/'); i >= 0 {
			segment, path = path[:i], path[i+1:]
		} else {
			path = nil
		}
		if len(segment) == 0 {
			continue
		}
		at := len(dst)
		dst = appendEscaped(append(dst, '/'), segment, inPath)
		switch string(dst[at+1:]) {
		case ".":
			dst = dst[:at]
		case "..":
			dst, n = dst[:from+max(0, bytes.LastIndexByte(dst[from:at], '/'))], max(0, n-1)
		default:
			if n++; n > MaxSegments {
				dst, whole = dst[:at], false
			}
		}
	}
	if cut := cutPath(dst[from:], limit); len(cut) < len(dst)-from {
		dst, whole = dst[:from+len(cut)], false
	}
	if len(dst) == from {
		dst = append(dst, '/')
	}
	return dst, whole
}

// cutPath returns the beginning of a path in normal form, itself in normal form.
func cutPath(path []byte, limit int) []byte {
	if len(path) <= limit {
		return path
	}
	path = cutEscaped(path, limit)
	for {
		cut := bytes.TrimRight(path, "/")
		if bytes.HasSuffix(cut, []byte("/.")) || bytes.HasSuffix(cut, []byte("/..")) {
			cut = cut[:bytes.LastIndexByte(cut, '/')]
		}
		if len(cut) == len(path) {
			return path
		}
		path = cut
	}
}

// cutEscaped returns at most n bytes of an escaped text, of which no character is
// cut in two.
func cutEscaped(text []byte, n int) []byte {
	if len(text) <= n {
		return text
	}
	for i := 1; i <= 2; i++ {
		if n >= i && text[n-i] == '%' {
			n -= i
			break
		}
	}
	// The first byte that is left out may be inside a character of several.
	for n >= 3 && text[n-3] == '%' && isContinuation(text[n:]) {
		n -= 3
	}
	return text[:n]
}

// isContinuation reports whether a text begins with the escape of a byte that
// continues a character of UTF-8.
func isContinuation(text []byte) bool {
	return len(text) >= 3 && text[0] == '%' && '8' <= text[1] && text[1] <= 'B' && (text[1] <= '9' || text[1] >= 'A')
}

// charset says which bytes stand in a part of an address as they are.
type charset [256]bool

const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

var (
	isUnreserved = newCharset(unreserved)
	inPath       = newCharset(unreserved + "!$&'()*+,;=:@")
	inQuery      = newCharset(unreserved + "!$'()*,;=:@/")
)

func newCharset(chars string) *charset {
	var set charset
	for i := range len(chars) {
		set[chars[i]] = true
	}
	return &set
}

const hexDigits = "0123456789ABCDEF"

// appendEscaped appends text with each byte that is not in plain percent-encoded.
// What is encoded already stays so, unless nothing ever needs it. In a query "+"
// is a space.
func appendEscaped(dst, text []byte, plain *charset) []byte {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if plain[c] {
			dst = append(dst, c)
			continue
		}
		if c == '%' && i+2 < len(text) {
			if decoded, ok := unhex(text[i+1], text[i+2]); ok {
				i += 2
				if isUnreserved[decoded] {
					dst = append(dst, decoded)
					continue
				}
				c = decoded
			}
		} else if c == '+' && plain == inQuery {
			c = ' '
		}
		dst = append(dst, '%', hexDigits[c>>4], hexDigits[c&15])
	}
	return dst
}

func unhex(high, low byte) (byte, bool) {
	h, ok := digit(high)
	l, ok2 := digit(low)
	return h<<4 | l, ok && ok2
}

func digit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}
