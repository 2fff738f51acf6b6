package event

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// number reads the value at i, which must be a number within the field's bounds.
func (d *Decoder) number(e *Event, f *Field, i, index, depth int) int {
	if c := d.scan.body[i]; c != '-' && !isDigit(c) {
		return d.wrongType(f, f.wanted(), i, index, depth)
	}
	next := d.scan.Number(i)
	if next < 0 {
		return -1
	}
	v, err := strconv.ParseFloat(string(d.scan.body[i:next]), 64)
	switch {
	case err != nil || f.Type == Integer && v != math.Trunc(v):
		d.reject(index, f, RuleWrongType, f.Name+" must be "+f.wanted())
	case f.Min != math.MinInt64 && v < float64(f.Min) || f.Max > 0 && v > float64(f.Max):
		d.reject(index, f, RuleOutOfRange, f.Name+" must be "+f.wanted())
	default:
		d.page(e).set(PageNumber(f.to.at), v+0) // no -0
	}
	return next
}

// wanted says what the value of a field must be.
func (f *Field) wanted() string {
	switch f.Type {
	case Address:
		return "a full http or https address"
	case Referral:
		return "a full address, or direct"
	case Size:
		return "a width and a height of " + bounds(f.Min, f.Max) + ", such as 1920x1080"
	case Word:
		return "one of " + strings.Join(f.Words, ", ")
	case Integer:
		return "an integer" + within(f.Min, f.Max)
	case Number:
		return "a number" + within(f.Min, f.Max)
	default:
		return "a string"
	}
}

func within(low, high int64) string {
	switch {
	case low == math.MinInt64 && high == 0:
		return ""
	case low == math.MinInt64:
		return " of at most " + strconv.FormatInt(high, 10)
	case high == 0 || high == maxWhole:
		return " of at least " + strconv.FormatInt(low, 10)
	}
	return " of " + bounds(low, high)
}

func bounds(low, high int64) string {
	return strconv.FormatInt(low, 10) + " to " + strconv.FormatInt(high, 10)
}

// fits reports whether a text that is neither empty nor too long is of the field's
// type.
func (f *Field) fits(text []byte) bool {
	switch f.Type {
	case Address:
		scheme, ok := schemeOf(text)
		return ok && (bytes.EqualFold(scheme, []byte("http")) || bytes.EqualFold(scheme, []byte("https")))
	case Referral:
		_, ok := schemeOf(text)
		return ok || string(text) == "direct"
	case Size:
		width, height, ok := bytes.Cut(text, []byte("x"))
		return ok && f.side(width) && f.side(height)
	case Word:
		return slices.Contains(f.Words, string(text))
	default:
		return true
	}
}

// side reports whether text is a length in pixels.
func (f *Field) side(text []byte) bool {
	const mostDigits = 9
	if len(text) == 0 || len(text) > mostDigits || digits(text, 0) != len(text) {
		return false
	}
	n := int64(0)
	for _, c := range text {
		n = n*10 + int64(c-'0')
	}
	return n >= f.Min && n <= f.Max
}

// schemeOf returns the scheme of an address that names a host and holds no white
// space or control character.
func schemeOf(text []byte) (scheme []byte, ok bool) {
	name, rest, ok := bytes.Cut(text, []byte("://"))
	if !ok || len(name) == 0 || len(rest) == 0 || bytes.IndexByte([]byte("/?#:"), rest[0]) >= 0 {
		return nil, false
	}
	for i, c := range name {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || !isDigit(c) && c != '+' && c != '-' && c != '.') {
			return nil, false
		}
	}
	for _, c := range rest {
		if c <= ' ' || c == 0x7f {
			return nil, false
		}
	}
	return name, true
}

// cutText returns the first code points of text.
func cutText(text []byte, most int) []byte {
	at := 0
	for range most {
		_, size := utf8.DecodeRune(text[at:])
		at += size
	}
	return text[:at:at]
}

// flat reports whether an object that has been checked holds no object or array.
func flat(object []byte) bool {
	for i := 1; i < len(object); i++ {
		switch object[i] {
		case '{', '[':
			return false
		case '"':
			for i++; object[i] != '"'; i++ {
				if object[i] == '\\' {
					i++
				}
			}
		}
	}
	return true
}
