package event

import (
	"encoding/binary"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// Scanner walks JSON once, without a tree and without copying, and refuses what
// lenient readers let pass: duplicate keys (compared after unescaping, at every
// level), invalid UTF-8, raw control characters, bad escapes, numbers outside
// the grammar or beyond float64, and nesting over MaxDepth. Positions are
// indices into the body; a method that fails returns -1 and leaves the reason in
// Fault. The zero value is ready for Reset; a Scanner is not safe for concurrent
// use and allocates nothing once its buffers have grown.
type Scanner struct {
	body    []byte
	text    []byte // unescaped strings and compacted values of this body
	keys    keySet
	blanks  int  // bytes of insignificant white space passed since it was last zeroed
	lone    bool // an unpaired surrogate was passed since it was last cleared
	members int  // of the object that ended last

	at   int
	rule Rule
}

// Reset starts on a new body. Slices handed out before are no longer valid.
func (s *Scanner) Reset(body []byte) {
	s.body, s.text = body, s.text[:0]
	if cap(s.text) > keptTextBytes {
		s.text = nil
	}
	s.keys.reset()
	s.blanks, s.lone, s.members, s.at, s.rule = 0, false, 0, 0, ""
}

// keptTextBytes bounds what one hostile body leaves behind in a pooled Scanner.
const keptTextBytes = 256 << 10

// Fault tells why and where the last method failed.
func (s *Scanner) Fault() (rule Rule, at int) { return s.rule, s.at }

func (s *Scanner) fail(at int, rule Rule) int {
	s.at, s.rule = at, rule
	return -1
}

// Blank returns the position of the first byte at or after i that is not white
// space.
func (s *Scanner) Blank(i int) int {
	b := s.body
	from := i
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	s.blanks += i - from
	return i
}

// Text reads the string whose opening quote is at i. It returns the string
// unescaped, with an unpaired surrogate replaced by U+FFFD, and the position
// after the closing quote.
func (s *Scanner) Text(i int) (text []byte, next int) {
	b := s.body
	i++
	if end := plainEnd(b, i); end < len(b) && b[end] == '"' {
		return b[i:end:end], end + 1
	}
	return s.markedText(i)
}

// markedText is Text for a string whose content, which starts at i, is not plain.
func (s *Scanner) markedText(i int) (text []byte, next int) {
	end, plain := s.stringEnd(i)
	if end < 0 {
		return nil, -1
	}
	text = s.body[i:end:end]
	if !plain {
		from := len(s.text)
		s.text = appendUnescaped(s.text, text)
		text = s.text[from:len(s.text):len(s.text)]
	}
	return text, end + 1
}

// Key reads an object's key at i and what separates it from its value. It
// returns the key unescaped and the position of the value.
func (s *Scanner) Key(i int) (key []byte, next int) {
	b := s.body
	if i >= len(b) || b[i] != '"' {
		return nil, s.fail(i, RuleMalformed)
	}
	if end := plainEnd(b, i+1); end+1 < len(b) && b[end] == '"' && b[end+1] == ':' {
		key, i = b[i+1:end:end], end+1
	} else if key, i = s.markedText(i + 1); i < 0 {
		return nil, -1
	}
	if i < len(b) && b[i] <= ' ' {
		i = s.Blank(i)
	}
	if i >= len(b) || b[i] != ':' {
		return nil, s.fail(i, RuleMalformed)
	}
	i++
	if i < len(b) && b[i] <= ' ' {
		i = s.Blank(i)
	}
	return key, i
}

// First returns the position of the first member after the bracket at i. More is
// false when the container is empty; next then stands after closing.
func (s *Scanner) First(i int, closing byte) (next int, more bool) {
	b := s.body
	i++
	if i < len(b) && b[i] <= ' ' {
		i = s.Blank(i)
	}
	if i < len(b) && b[i] == closing {
		return i + 1, false
	}
	return i, true
}

// Next goes on behind a member that ended before i: to the next member, or, with
// more false, behind closing.
func (s *Scanner) Next(i int, closing byte) (next int, more bool) {
	b := s.body
	if i < len(b) && b[i] <= ' ' {
		i = s.Blank(i)
	}
	if i >= len(b) {
		return s.fail(i, RuleMalformed), false
	}
	switch b[i] {
	case ',':
		i++
		if i < len(b) && b[i] <= ' ' {
			i = s.Blank(i)
		}
		return i, true
	case closing:
		return i + 1, false
	}
	return s.fail(i, RuleMalformed), false
}

// Skip returns the position after the value at i, which is checked in full.
// Depth counts the containers that are open around it.
func (s *Scanner) Skip(i, depth int) int {
	b := s.body
	if i >= len(b) {
		return s.fail(i, RuleMalformed)
	}
	switch b[i] {
	case '"':
		end := plainEnd(b, i+1)
		if end < len(b) && b[end] == '"' {
			return end + 1
		}
		if end, _ = s.stringEnd(end); end < 0 {
			return -1
		}
		return end + 1
	case '{':
		return s.object(i, depth)
	case '[':
		return s.array(i, depth)
	case 't':
		return s.literal(i, "true")
	case 'f':
		return s.literal(i, "false")
	case 'n':
		return s.literal(i, "null")
	}
	return s.Number(i)
}

func (s *Scanner) object(i, depth int) int {
	if depth >= MaxDepth {
		return s.fail(i, RuleTooDeep)
	}
	b := s.body
	scope := s.keys.open()
	members := 0
	i, more := s.First(i, '}')
	for more {
		from := i
		var key []byte
		if key, i = s.Key(i); i < 0 {
			return -1
		}
		if !s.keys.add(scope, key) {
			return s.fail(from, RuleDuplicateKey)
		}
		members++
		if i = s.Skip(i, depth+1); i < 0 {
			return -1
		}
		if i+1 < len(b) && b[i] == ',' && b[i+1] > ' ' { // the usual case of Next
			i++
			continue
		}
		i, more = s.Next(i, '}')
	}
	s.keys.close(scope)
	s.members = members
	return i
}

func (s *Scanner) array(i, depth int) int {
	if depth >= MaxDepth {
		return s.fail(i, RuleTooDeep)
	}
	i, more := s.First(i, ']')
	for more {
		if i = s.Skip(i, depth+1); i < 0 {
			return -1
		}
		i, more = s.Next(i, ']')
	}
	return i
}

func (s *Scanner) literal(i int, word string) int {
	if len(s.body)-i < len(word) || string(s.body[i:i+len(word)]) != word {
		return s.fail(i, RuleMalformed)
	}
	return i + len(word)
}

// surelyFinite is a count of digits that no float64 overflows on: the largest
// one has 309.
const surelyFinite = 300

// Number returns the position after the number at i.
func (s *Scanner) Number(i int) int {
	b := s.body
	from := i
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch {
	case i < len(b) && b[i] == '0':
		i++
	case i < len(b) && isDigit(b[i]):
		i = digits(b, i)
	default:
		return s.fail(i, RuleMalformed)
	}
	if i < len(b) && b[i] == '.' {
		if i++; digits(b, i) == i {
			return s.fail(i, RuleMalformed)
		}
		i = digits(b, i)
	}
	finite := i-from < surelyFinite
	if i < len(b) && b[i]|0x20 == 'e' {
		finite = false
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if digits(b, i) == i {
			return s.fail(i, RuleMalformed)
		}
		i = digits(b, i)
	}
	if !finite {
		if _, err := strconv.ParseFloat(string(b[from:i]), 64); err != nil {
			return s.fail(from, RuleNumberRange)
		}
	}
	return i
}

func isDigit(c byte) bool { return c-'0' <= 9 }

func digits(b []byte, i int) int {
	for i < len(b) && isDigit(b[i]) {
		i++
	}
	return i
}

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
// marks, or the length of b.
func plainEnd(b []byte, i int) int {
	for i+8 <= len(b) {
		if m := special(binary.LittleEndian.Uint64(b[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
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
