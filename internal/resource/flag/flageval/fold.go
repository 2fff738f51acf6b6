package flageval

import (
	"unicode"
	"unicode/utf8"
)

// fold returns a text without case: two texts that strings.EqualFold takes for equal are the same.
// The result is valid until the next call. Conditions often ask about one text in a row, so the
// last one is kept.
func (e *Evaluator) fold(text string) []byte {
	if text != e.plain && e.spend(len(text)) {
		e.plain, e.folded = text, appendFolded(e.folded[:0], text)
	}
	return e.folded
}

func appendFolded(dst []byte, text string) []byte {
	for _, r := range text {
		dst = utf8.AppendRune(dst, folded(r))
	}
	return dst
}

// folded returns the smallest of the characters that differ in case only.
func folded(r rune) rune {
	if r < utf8.RuneSelf {
		if 'a' <= r && r <= 'z' && r != 'k' && r != 's' {
			return r - 'a' + 'A'
		}
		if r != 'k' && r != 's' {
			return r
		}
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}
