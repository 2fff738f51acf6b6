package wire

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"unicode/utf8"
)

// shortEscapes are the letters of the two-character escapes.
var shortEscapes = [256]byte{
	'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't',
}

const hexDigits = "0123456789abcdef"

// AppendText appends s as the shortest JSON string that means it: for what is stored and
// exported. Text that is no UTF-8 stays so.
func AppendText(dst, s []byte) []byte {
	dst = append(dst, '"')
	for {
		n := cleanLen(s)
		dst = append(dst, s[:n]...)
		if n == len(s) {
			return append(dst, '"')
		}
		if c := s[n]; shortEscapes[c] != 0 {
			dst = append(dst, '\\', shortEscapes[c])
		} else {
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		s = s[n+1:]
	}
}

// AppendHTMLSafe appends s as encoding/json does: for responses. What has a meaning in HTML
// is escaped too, and what is no UTF-8 becomes U+FFFD.
func AppendHTMLSafe(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf || c == '<' || c == '>' || c == '&' {
			text, _ := json.Marshal(s) // which fails for no string
			return append(dst, text...)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}

// Every byte of a word at once: lows is 0x01 in each, highs is 0x80 in each.
const (
	lows  = 0x0101010101010101
	highs = 0x8080808080808080
)

// escaped marks, by their high bit, the bytes of w that JSON wants escaped: of
// the marks only the lowest counts. Flipping bit 1 brings the quote down to the
// control characters and lifts blank above it.
func escaped(w uint64) uint64 {
	controls := (w ^ lows*0x02) - lows*(' '+1)
	slashes := (w ^ lows*'\\') - lows
	return (controls | slashes) &^ w & highs
}

// cleanLen returns how many bytes of s come before the first that JSON wants
// escaped.
func cleanLen(s []byte) int {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		if m := escaped(binary.LittleEndian.Uint64(s[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for i < len(s) && escaped(uint64(s[i]))&0x80 == 0 {
		i++
	}
	return i
}
