package download

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/valyala/fastjson"
)

// appendNumber appends a number as JSON has it, with the digits that its bits
// need. One that is not finite is never stored; it would be 0.
func appendNumber(dst []byte, f float64, bits int) []byte {
	if f-f != 0 {
		f = 0
	}
	form := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		form = 'e'
	}
	return strconv.AppendFloat(dst, f, form, -1, bits)
}

// appendString appends a JSON string. What is not UTF-8 becomes U+FFFD.
func appendString(dst, s []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRune(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[from:i]...), `\ufffd`...)
				from = i + 1
			}
			i += n
			continue
		case c >= ' ' && c != '"' && c != '\\':
			i++
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

// isObject reports whether a text can stand in a line of JSON as it is: an object,
// which is all that is ever stored, without line breaks.
func isObject(s []byte) bool {
	if len(s) < 2 || s[0] != '{' || !utf8.Valid(s) || fastjson.ValidateBytes(s) != nil {
		return false
	}
	for _, c := range s {
		if c == '\n' || c == '\r' {
			return false
		}
	}
	return true
}
