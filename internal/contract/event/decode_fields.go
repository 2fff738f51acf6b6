package event

import (
	"fmt"
	"unicode/utf8"
)

// field reads the value of f at i into e.
func (d *Decoder) field(e *Event, f field, i, index, depth int) int {
	b := d.scan.body
	if i >= len(b) {
		return d.scan.fail(i, RuleMalformed)
	}
	if b[i] == 'n' {
		return d.scan.literal(i, "null")
	}
	d.present = d.present.with(f)
	spec := &d.form.fields[f]
	if b[i] == '"' && spec.Type == Text { // the usual case: a short string without an escape
		end := plainEnd(b, i+1)
		if size := end - i - 1; size > 0 && int64(size) <= spec.Max && end < len(b) && b[end] == '"' {
			*d.placeOf(e, spec) = b[i+1 : end : end]
			return end + 1
		}
	}
	switch spec.Type {
	case Time, Millis:
		return d.timestamp(e, spec, i, index, depth)
	case Choice:
		return d.anonymize(e, spec, i, index, depth)
	case Object, Traits:
		return d.properties(e, spec, i, index, depth)
	case Number, Integer:
		return d.number(e, spec, i, index, depth)
	default:
		return d.text(e, spec, i, index, depth)
	}
}

func (d *Decoder) text(e *Event, f *Field, i, index, depth int) int {
	if d.scan.body[i] != '"' {
		return d.wrongType(f, "a string", i, index, depth)
	}
	unescaped := len(d.scan.text)
	text, next := d.scan.Text(i)
	if next < 0 {
		return -1
	}
	if len(d.scan.text) != unescaped {
		e.Plain = false
	}
	switch {
	case int64(len(text)) > f.Max && f.Type != Size && int64(utf8.RuneCount(text)) > f.Max:
		if !f.Cut {
			d.reject(index, f, RuleTooLong, fmt.Sprintf("%s must have at most %d characters", f.Name, f.Max))
			return next
		}
		*d.placeOf(e, f) = cutText(text, int(f.Max))
	case len(text) > 0:
		if f.Type != Text && !f.fits(text) {
			d.reject(index, f, RuleInvalidValue, f.Name+" must be "+f.wanted())
			return next
		}
		*d.placeOf(e, f) = text
	case f.Min > 0 && f.Type != Size:
		d.reject(index, f, RuleTooShort, f.Name+" must not be empty")
	}
	return next
}

// placeOf returns where the text of a field is kept.
func (d *Decoder) placeOf(e *Event, f *Field) *[]byte {
	switch f.to.in {
	case inName:
		return &e.Name
	case inText:
		return &d.page(e).Texts[f.to.at]
	case inEvent, inNumber:
	}
	return e.text(f.number)
}

func (d *Decoder) anonymize(e *Event, f *Field, i, index, depth int) int {
	switch d.scan.body[i] {
	case 't':
		e.Anonymize = AnonymizeTrue
		return d.scan.literal(i, "true")
	case 'f':
		e.Anonymize = AnonymizeFalse
		return d.scan.literal(i, "false")
	case '"':
		text, next := d.scan.Text(i)
		if next >= 0 && string(text) != "auto" {
			d.reject(index, f, RuleInvalidValue, `anonymizeVisitorIds must be true, false or "auto"`)
		}
		e.Anonymize = AnonymizeAuto
		return next
	}
	return d.wrongType(f, `true, false or "auto"`, i, index, depth)
}

// properties keeps the object as the caller wrote it, less white space: numbers
// keep their digits, strings their escapes.
func (d *Decoder) properties(e *Event, f *Field, i, index, depth int) int {
	s := &d.scan
	if s.body[i] != '{' {
		return d.wrongType(f, "an object", i, index, depth)
	}
	s.blanks, s.lone = 0, false
	next := s.object(i, depth)
	if next < 0 {
		return -1
	}
	switch size := next - i - s.blanks; {
	case s.members > MaxPropertiesKeys:
		d.tooLarge = true
		d.reject(index, f, RuleTooLarge, fmt.Sprintf("%s must have at most %d keys", f.Name, MaxPropertiesKeys))
	case size > MaxPropertiesBytes:
		d.tooLarge = true
		d.reject(index, f, RuleTooLarge, fmt.Sprintf("%s must have at most %d bytes of compact JSON",
			f.Name, MaxPropertiesBytes))
	case f.Type == Traits && !flat(s.body[i:next]):
		d.reject(index, f, RuleWrongType, f.Name+" must be an object of strings, numbers, booleans and null")
	case s.blanks > 0 || s.lone:
		from := len(s.text)
		s.text = appendCompact(s.text, s.body[i:next])
		e.Properties = s.text[from:len(s.text):len(s.text)]
	default:
		e.Properties = s.body[i:next:next]
	}
	return next
}

func (d *Decoder) wrongType(f *Field, want string, i, index, depth int) int {
	if i = d.scan.Skip(i, depth); i >= 0 {
		d.reject(index, f, RuleWrongType, f.Name+" must be "+want)
	}
	return i
}
