package event

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Every byte of a word at once: lows is 0x01 in each, highs is 0x80 in each.
const (
	lows  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks, by their high bit, the bytes of w that end a run of plain
// string content: quote, backslash, control characters and everything outside
// ASCII. Flipping bit 1 brings the quote down to the control characters and
// lifts blank above it, so that one comparison finds both. A subtraction that
// borrows may mark bytes above a true mark, so only the lowest mark counts.
func special(w uint64) uint64 {
	controls := (w ^ lows*0x02) - lows*(' '+1)
	slashes := (w ^ lows*'\\') - lows
	return (controls | slashes | w) & highs
}

// plainEnd returns the position of the first byte at or after i that special
// marks, or the length of b. It looks at two words at a time: most ids are longer
// than one.
func plainEnd(b []byte, i int) int {
	for ; i+16 <= len(b); i += 16 {
		pair := b[i : i+16 : i+16]
		if m := special(binary.LittleEndian.Uint64(pair)); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		if m := special(binary.LittleEndian.Uint64(pair[8:])); m != 0 {
			return i + 8 + bits.TrailingZeros64(m)>>3
		}
	}
	for i < len(b) && special(uint64(b[i]))&0x80 == 0 {
		i++
	}
	return i
}

// stringEnd returns the position of the quote that closes the string whose
// content starts at i; plain is false when the content has an escape.
func (s *Scanner) stringEnd(i int) (end int, plain bool) {
	b := s.body
	plain = true
	for {
		i = plainEnd(b, i)
		if i >= len(b) {
			return s.fail(i, RuleMalformed), false
		}
		switch c := b[i]; {
		case c == '"':
			return i, plain
		case c == '\\':
			plain = false
			if i = s.escapeEnd(i); i < 0 {
				return -1, false
			}
		case c < ' ':
			return s.fail(i, RuleMalformed), false
		default:
			_, size := utf8.DecodeRune(b[i:])
			if size == 1 {
				return s.fail(i, RuleInvalidUTF8), false
			}
			i += size
		}
	}
}

// escapeEnd returns the position after the escape whose backslash is at i. A
// surrogate pair is one escape.
func (s *Scanner) escapeEnd(i int) int {
	b := s.body
	if i+1 >= len(b) {
		return s.fail(i, RuleMalformed)
	}
	if b[i+1] != 'u' {
		if unescaped[b[i+1]] == 0 {
			return s.fail(i, RuleMalformed)
		}
		return i + 2
	}
	r, ok := hex4(b, i+2)
	if !ok {
		return s.fail(i, RuleMalformed)
	}
	if !isSurrogate(r) {
		return i + 6
	}
	if low, ok := lowSurrogate(b, i+6); ok && r < lowSurrogates && low != 0 {
		return i + 12
	}
	s.lone = true
	return i + 6
}
