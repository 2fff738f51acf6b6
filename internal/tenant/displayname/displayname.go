// Package displayname reads the short texts that people choose for others to read:
// names of people, organizations, websites and keys, and tags.
//
// It promises that two display names that look alike because they are written with the
// same characters are the same bytes (Unicode's form NFC), and that a display name can
// be shown anywhere: no line break, no control character, nothing that turns the
// direction of what stands beside it, and something that one can see. It refuses
// to compare display names that merely look alike, such as Latin and Cyrillic letters.
package displayname

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// Clean returns the display name in text, in form NFC and without space around it. A
// text that is none, or has less than one or more than maxLen code points, is a
// Validation error about the field.
func Clean(field, text string, maxLen int) (string, error) {
	if !utf8.ValidString(text) {
		return "", apierr.Invalid(field, "invalid_text", field+" must be valid UTF-8")
	}
	// Normalizing costs time with the length, which is bounded before it too: NFC
	// makes no text shorter than a third.
	if len(text) > maxLen*utf8.UTFMax*3 {
		return "", wrongLength(field, utf8.RuneCountInString(text), maxLen)
	}
	text = Form(text)
	if n := utf8.RuneCountInString(text); n < 1 || n > maxLen {
		return "", wrongLength(field, n, maxLen)
	}
	visible := false
	for _, r := range text {
		if !allowed(r) {
			return "", apierr.Invalid(field, "invalid_text", fmt.Sprintf("%s must not contain the character U+%04X", field, r))
		}
		visible = visible || unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S)
	}
	if !visible {
		return "", apierr.Invalid(field, "invalid_text", field+" must contain a visible character")
	}
	return text, nil
}

// Form is the form in which Clean keeps a text, for who looks for what was kept.
func Form(text string) string { return norm.NFC.String(strings.TrimSpace(text)) }

func wrongLength(field string, n, maxLen int) error {
	rule := "too_long"
	if n == 0 {
		rule = "too_short"
	}
	return apierr.Invalid(field, rule, fmt.Sprintf("%s must have 1 to %d characters; it has %d", field, maxLen, n))
}

// joiners are characters of the kind that formats others which words and emoji
// are written with: the joiners of Persian, Indic scripts and emoji, the marks of
// Hebrew and Arabic, and the letters of flags.
var joiners = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x061c, Hi: 0x061c, Stride: 1}, {Lo: 0x200c, Hi: 0x200f, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0xe0020, Hi: 0xe007f, Stride: 1}},
}

// fillers are letters, marks and symbols that show nothing.
var fillers = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x034f, Hi: 0x034f, Stride: 1}, // combining grapheme joiner
		{Lo: 0x115f, Hi: 0x1160, Stride: 1}, // Hangul
		{Lo: 0x17b4, Hi: 0x17b5, Stride: 1}, // Khmer
		{Lo: 0x2800, Hi: 0x2800, Stride: 1}, // Braille
		{Lo: 0x3164, Hi: 0x3164, Stride: 1}, // Hangul
		{Lo: 0xffa0, Hi: 0xffa0, Stride: 1}, // Hangul
	},
}

func allowed(r rune) bool {
	if unicode.Is(fillers, r) {
		return false
	}
	if unicode.In(r, unicode.Cf) {
		return unicode.Is(joiners, r)
	}
	return !unicode.In(r, unicode.Cc, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp) &&
		unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z)
}
