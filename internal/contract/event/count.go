package event

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// Where a body has no more braces than these, AtMost takes each for an event: to tell
// events from other objects, and from what stands in texts, takes ten times as long.
const (
	fewBraces = 16
	// spacing is how many bytes each brace has there: usual events have more.
	spacing = 128
)

// AtMost returns how many events a body holds at most, whatever the shape that is asked
// of it. Its braces are no less; where they are so dense that they may be anything, it is
// the objects that stand where events do.
func AtMost(body []byte) int {
	braces := bytes.Count(body, []byte{'{'})
	if braces <= max(fewBraces, len(body)/spacing) {
		return braces
	}
	return objects(body)
}

// objects returns how many objects a body holds in the place of the root, or in the array
// that is the root. It is never less than the decoder reads, whatever the body is: up to
// where one breaks that is no JSON, both see the same strings and brackets, and behind
// that the decoder reads nothing.
func objects(body []byte) int {
	i, level, n := 0, 0, 0
	for i < len(body) && body[i] <= ' ' {
		i++
	}
	if i < len(body) && body[i] == '[' {
		level = 1
	}
	for depth := 0; i < len(body); i++ {
		switch body[i] {
		case '"':
			i = closingQuote(body, i+1)
		case '{':
			if depth == level {
				n++
			}
			depth++
		case '[':
			depth++
		case '}', ']':
			depth--
		}
	}
	return n
}

// closingQuote returns the position of the first quote at or after i that is not escaped,
// and one at or behind the end of b where there is none.
func closingQuote(b []byte, i int) int {
	for {
		for ; i+8 <= len(b); i += 8 {
			w := binary.LittleEndian.Uint64(b[i:])
			quotes, slashes := w^lows*'"', w^lows*'\\'
			// A byte is marked that is 0 now. A subtraction that borrows may mark bytes above
			// a true mark, so only the lowest mark counts.
			if m := ((quotes-lows)&^quotes | (slashes-lows)&^slashes) & highs; m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				break
			}
		}
		for i < len(b) && b[i] != '"' && b[i] != '\\' {
			i++
		}
		if i >= len(b) || b[i] == '"' {
			return i
		}
		i += 2
	}
}
