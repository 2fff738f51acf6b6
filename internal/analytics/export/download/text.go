package download

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/valyala/fastjson"

	"github.com/millrace/millrace/internal/contract/wire"
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

// appendString appends a JSON string. Each byte that is no UTF-8 becomes U+FFFD.
func appendString(dst, s []byte) []byte {
	if !utf8.Valid(s) {
		s = []byte(string([]rune(string(s))))
	}
	return wire.AppendText(dst, s)
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
