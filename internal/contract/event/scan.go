package event

import "encoding/binary"

// Scanner walks JSON once, without a tree and without copying, and rejects what
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

	// lap holds the keys of the event before this one, in the order in which they
	// came; step is the next to be expected. Programs write the keys of one event as
	// they wrote those of the last, and a key that is expected need not be searched
	// for its end.
	lap  [lapKeys]lapKey
	step uint
	// behind has a bit for each key of the lap of which something is known about others.
	behind uint32
	// Of the key that was read last: what fieldOf says of it, and whether it was expected.
	common  field
	matched bool

	at   int
	rule Rule
}

// lapKeys is how many keys of an event are expected again in the next one.
const lapKeys = 32

// lapKey is a key as it was written, quotes and colon included: its bytes in two
// words, and which bits of them count.
type lapKey struct {
	words, masks [2]uint64
	n            int // bytes; 0 for none, or one that is too long
	// before is how many keys stood before this one in an object in which it was new, when
	// they were those of the entries before; noneKnown otherwise.
	before int
	common field
}

// noneKnown is the lapKey.before of a key of which nothing is known.
const noneKnown = -1

// lapKeyMax is how long a key may be to be kept.
const lapKeyMax = 16

// Reset starts on a new body. Slices handed out before are no longer valid.
func (s *Scanner) Reset(body []byte) {
	s.release()
	s.body, s.text = body, s.text[:0]
	s.keys.reset()
	s.step = 0
	s.blanks, s.lone, s.members, s.at, s.rule = 0, false, 0, 0, ""
}

// release lets go of the memory that only large bodies take. What was handed out ends
// with it.
func (s *Scanner) release() {
	if cap(s.text) > keptTextBytes {
		s.text = nil
	}
	s.keys.release()
}

// keptTextBytes bounds what one hostile body leaves behind in a pooled Scanner.
const keptTextBytes = 256 << 10

// Failure tells why and where the last method failed.
func (s *Scanner) Failure() (rule Rule, at int) { return s.rule, s.at }

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
	if !plain && s.keys.idle { // nobody keeps the texts that came before, nor wants a long one
		if len(text) > longestID {
			return text, end + 1
		}
		s.text = s.text[:0]
	}
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
	expected := &s.lap[s.step%lapKeys]
	s.step++
	if next = expected.match(b, i); next > 0 {
		key, s.common, s.matched = b[i+1:next-2:next-2], expected.common, true
		if b[next] <= ' ' {
			next = s.Blank(next)
		}
		return key, next
	}
	if i >= len(b) || b[i] != '"' {
		return nil, s.fail(i, RuleMalformed)
	}
	s.matched = false
	if end := plainEnd(b, i+1); end+1 < len(b) && b[end] == '"' && b[end+1] == ':' {
		expected.keep(b[i : end+2])
		s.forget(s.step - 1)
		key, i = b[i+1:end:end], end+1
	} else if key, i = s.markedText(i + 1); i < 0 {
		return nil, -1
	}
	s.common = fieldOf(key)
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

// expectedField returns what fieldOf says of the key that is expected, and the position of its
// value, when it stands at i and names a field; fieldUnknown and 0 otherwise, and Key is to read
// what does.
func (s *Scanner) expectedField(i int) (f field, value int) {
	k := &s.lap[s.step%lapKeys]
	if value = k.match(s.body, i); value == 0 || k.common == fieldUnknown {
		return fieldUnknown, 0
	}
	s.step++
	if s.body[value] <= ' ' {
		value = s.Blank(value)
	}
	return k.common, value
}

// match returns the position behind the key when it stands at i and something
// follows it, else 0.
func (k *lapKey) match(b []byte, i int) (next int) {
	if i+lapKeyMax >= len(b) {
		return 0
	}
	text := b[i : i+lapKeyMax : i+lapKeyMax]
	if (binary.LittleEndian.Uint64(text)^k.words[0])&k.masks[0]|
		(binary.LittleEndian.Uint64(text[8:])^k.words[1])&k.masks[1] != 0 || k.n == 0 {
		return 0
	}
	return i + k.n
}

// keep notes a key that has no escape, unless it is too long.
func (k *lapKey) keep(text []byte) {
	if k.n = len(text); k.n > lapKeyMax {
		*k = lapKey{}
		return
	}
	k.common = fieldOf(text[1 : k.n-2])
	var room, mask [lapKeyMax]byte
	copy(room[:], text)
	for i := range text {
		mask[i] = 0xFF
	}
	for half := range k.words {
		k.words[half] = binary.LittleEndian.Uint64(room[8*half:])
		k.masks[half] = binary.LittleEndian.Uint64(mask[8*half:])
	}
}

// Again says that what follows probably has the keys that followed the last call.
func (s *Scanner) Again() { s.step = 0 }

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
	row := keyRow{scope: s.keys.open(), first: s.step}
	i, more := s.First(i, '}')
	for more {
		if next := s.known(&row, i); next > 0 {
			i = next
		} else if i = s.member(&row, i); i < 0 {
			return -1
		}
		row.members++
		if i = s.Skip(i, depth+1); i < 0 {
			return -1
		}
		if i+1 < len(b) && b[i] == ',' && b[i+1] > ' ' { // the usual case of Next
			i++
			continue
		}
		i, more = s.Next(i, '}')
	}
	s.keys.close(&row.scope)
	s.members = row.members
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
