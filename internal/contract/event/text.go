package event

import (
	"unicode/utf16"
	"unicode/utf8"
)

// unescaped maps the letter of a two-character escape to the byte that it
// stands for; 0 is no escape.
var unescaped = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// Surrogates are 0xD800 to 0xDFFF; the upper half of the range are low ones.
const (
	firstSurrogate = 0xD800
	lowSurrogates  = 0xDC00
	lastSurrogate  = 0xDFFF
)

func isSurrogate(r rune) bool { return r >= firstSurrogate && r <= lastSurrogate }

// lowSurrogate reads the escape of a low surrogate at i.
func lowSurrogate(b []byte, i int) (rune, bool) {
	if i+1 >= len(b) || b[i] != '\\' || b[i+1] != 'u' {
		return 0, false
	}
	r, ok := hex4(b, i+2)
	return r, ok && r >= lowSurrogates && r <= lastSurrogate
}

// hex4 reads four hexadecimal digits at i.
func hex4(b []byte, i int) (r rune, ok bool) {
	if i+4 > len(b) {
		return 0, false
	}
	for _, c := range b[i : i+4] {
		switch {
		case isDigit(c):
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// appendUnescaped appends the content of a string that stringEnd has passed,
// without its escapes. An unpaired surrogate becomes U+FFFD: browsers send one
// wherever a script has cut a string in the middle of an emoji, and rejecting a
// batch for that would lose what is whole.
func appendUnescaped(dst, src []byte) []byte {
	for i := 0; i < len(src); {
		c := src[i]
		if c != '\\' {
			dst = append(dst, c)
			i++
			continue
		}
		if src[i+1] != 'u' {
			dst = append(dst, unescaped[src[i+1]])
			i += 2
			continue
		}
		r, _ := hex4(src, i+2)
		i += 6
		if isSurrogate(r) {
			low, ok := lowSurrogate(src, i)
			if r = utf16.DecodeRune(r, low); ok && r != utf8.RuneError {
				i += 6
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// appendCompact appends a value that Skip has passed without its insignificant
// white space, with the escape of an unpaired surrogate replaced by that of
// U+FFFD, and otherwise as it was written.
func appendCompact(dst, src []byte) []byte {
	inString := false
	for i := 0; i < len(src); i++ {
		c := src[i]
		switch {
		case c == '"':
			inString = !inString
		case c <= ' ' && !inString:
			continue
		case c == '\\':
			n := escapeLen(src, i)
			if n == loneEscape {
				dst, n = append(dst, `\ufffd`...), len(`\ufffd`)
			} else {
				dst = append(dst, src[i:i+n]...)
			}
			i += n - 1
			continue
		}
		dst = append(dst, c)
	}
	return dst
}

// loneEscape is the result of escapeLen for an unpaired surrogate.
const loneEscape = 0

// escapeLen returns the length of the valid escape at i, a surrogate pair being
// one escape.
func escapeLen(src []byte, i int) int {
	if src[i+1] != 'u' {
		return 2
	}
	r, _ := hex4(src, i+2)
	if !isSurrogate(r) {
		return 6
	}
	if _, ok := lowSurrogate(src, i+6); ok && r < lowSurrogates {
		return 12
	}
	return loneEscape
}
