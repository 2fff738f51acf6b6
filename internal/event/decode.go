package event

import (
	"fmt"
	"unicode/utf8"
)

// Decoder reads bodies of POST /track. It is for one goroutine at a time and is
// worth keeping: once its buffers have grown it allocates nothing for a valid
// body. The zero value is ready.
type Decoder struct {
	scan     Scanner
	events   []Custom
	batch    bool
	refused  Custom   // takes the fields of events that nobody will read
	rejected fieldSet // fields of the current event that have a problem
	problems []Problem
	tooLarge bool
}

// keptEvents bounds what one hostile body leaves behind in a pooled Decoder.
const keptEvents = 1 << 12

// Decode reads one event object or an array of them. It returns at least one
// event, in the order of the body, or an *Invalid and nothing. The events belong
// to the Decoder, and parts of them to body: both must stay as they are until
// the events are no longer needed.
func (d *Decoder) Decode(body []byte) ([]Custom, error) {
	d.scan.Reset(body)
	d.batch, d.tooLarge, d.problems = false, false, nil
	if cap(d.events) > keptEvents {
		d.events = nil
	}
	d.events = d.events[:0]
	i := d.root(d.scan.Blank(0))
	if i >= 0 {
		if i = d.scan.Blank(i); i < len(body) {
			d.malformed(NoIndex, "", d.scan.fail(i, RuleMalformed))
		}
	}
	if d.problems != nil {
		return nil, &Invalid{Problems: d.problems, TooLarge: d.tooLarge}
	}
	return d.events, nil
}

// Batch reports whether the last body was an array.
func (d *Decoder) Batch() bool { return d.batch }

func (d *Decoder) root(i int) int {
	b := d.scan.body
	if i >= len(b) || b[i] != '[' {
		return d.event(i, 0, 0)
	}
	d.batch = true
	i, more := d.scan.First(i, ']')
	if !more {
		d.reject(NoIndex, fieldUnknown, RuleEmpty, "a batch must hold at least one event")
	}
	for index := 0; more; index++ {
		if i = d.event(i, index, 1); i < 0 {
			return -1
		}
		if i, more = d.scan.Next(i, ']'); i < 0 {
			return d.malformed(NoIndex, "", i)
		}
	}
	return i
}

// event reads the value at i, which must be an event.
func (d *Decoder) event(i, index, depth int) int {
	b := d.scan.body
	if i >= len(b) || b[i] != '{' {
		if i = d.scan.Skip(i, depth); i < 0 {
			return d.malformed(index, "", i)
		}
		d.reject(index, fieldUnknown, RuleWrongType, "an event must be a JSON object")
		return i
	}
	e := d.next()
	e.Plain = true
	var seen fieldSet
	d.rejected = 0
	scope := d.scan.keys.open()
	i, more := d.scan.First(i, '}')
	for more {
		from := i
		var key []byte
		if key, i = d.scan.Key(i); i < 0 {
			return d.malformed(index, "", i)
		}
		f := fieldOf(key)
		if f == fieldUnknown && !d.scan.keys.add(&scope, key) || seen.has(f) {
			return d.malformed(index, fields[f].name, d.scan.fail(from, RuleDuplicateKey))
		}
		if f == fieldUnknown {
			i = d.scan.Skip(i, depth+1)
		} else {
			seen = seen.with(f)
			i = d.field(e, f, i, index, depth+1)
		}
		if i < 0 {
			return d.malformed(index, fields[f].name, i)
		}
		if i+1 < len(b) && b[i] == ',' && b[i+1] > ' ' { // the usual case of Next
			i++
			continue
		}
		if i, more = d.scan.Next(i, '}'); i < 0 {
			return d.malformed(index, "", i)
		}
	}
	d.scan.keys.close(&scope)
	if e.Name == nil && !d.rejected.has(fieldName) {
		d.reject(index, fieldName, RuleRequired, "name is required")
	}
	return i
}

// next returns where the next event's fields go.
func (d *Decoder) next() *Custom {
	if d.problems != nil {
		d.refused = Custom{}
		return &d.refused
	}
	d.events = append(d.events, Custom{})
	return &d.events[len(d.events)-1]
}

// field reads the value of f at i into e.
func (d *Decoder) field(e *Custom, f field, i, index, depth int) int {
	b := d.scan.body
	if i >= len(b) {
		return d.scan.fail(i, RuleMalformed)
	}
	if b[i] == 'n' {
		return d.scan.literal(i, "null")
	}
	switch f {
	case fieldTimestamp:
		return d.timestamp(e, i, index, depth)
	case fieldAnonymize:
		return d.anonymize(e, i, index, depth)
	case fieldProperties:
		return d.properties(e, i, index, depth)
	default:
		return d.text(e, f, i, index, depth)
	}
}

func (d *Decoder) text(e *Custom, f field, i, index, depth int) int {
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
	limit := &fields[f]
	switch {
	case len(text) > limit.max && utf8.RuneCount(text) > limit.max:
		d.reject(index, f, RuleTooLong, fmt.Sprintf("%s must have at most %d characters", limit.name, limit.max))
	case len(text) > 0:
		*e.text(f) = text
	case limit.min > 0:
		d.reject(index, f, RuleTooShort, limit.name+" must not be empty")
	}
	return next
}

func (d *Decoder) anonymize(e *Custom, i, index, depth int) int {
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
			d.reject(index, fieldAnonymize, RuleInvalidValue, `anonymizeVisitorIds must be true, false or "auto"`)
		}
		e.Anonymize = AnonymizeAuto
		return next
	}
	return d.wrongType(fieldAnonymize, `true, false or "auto"`, i, index, depth)
}

// properties keeps the object as the caller wrote it, less white space: numbers
// keep their digits, strings their escapes.
func (d *Decoder) properties(e *Custom, i, index, depth int) int {
	s := &d.scan
	if s.body[i] != '{' {
		return d.wrongType(fieldProperties, "an object", i, index, depth)
	}
	s.blanks, s.lone = 0, false
	next := s.object(i, depth)
	if next < 0 {
		return -1
	}
	switch size := next - i - s.blanks; {
	case s.members > MaxPropertiesKeys:
		d.tooLarge = true
		d.reject(index, fieldProperties, RuleTooLarge, fmt.Sprintf("properties must have at most %d keys", MaxPropertiesKeys))
	case size > MaxPropertiesBytes:
		d.tooLarge = true
		d.reject(index, fieldProperties, RuleTooLarge, fmt.Sprintf("properties must have at most %d bytes of compact JSON", MaxPropertiesBytes))
	case s.blanks > 0 || s.lone:
		from := len(s.text)
		s.text = appendCompact(s.text, s.body[i:next])
		e.Properties = s.text[from:len(s.text):len(s.text)]
	default:
		e.Properties = s.body[i:next:next]
	}
	return next
}

func (d *Decoder) wrongType(f field, want string, i, index, depth int) int {
	if i = d.scan.Skip(i, depth); i >= 0 {
		d.reject(index, f, RuleWrongType, fields[f].name+" must be "+want)
	}
	return i
}

// reject notes a problem; decoding goes on, so that a caller learns of all.
func (d *Decoder) reject(index int, f field, rule Rule, message string) {
	d.rejected = d.rejected.with(f)
	if len(d.problems) < MaxProblems {
		d.problems = append(d.problems, Problem{Index: index, Field: fields[f].name, Rule: rule, Message: message})
	}
}

// malformed notes the scanner's last fault, which ends the decoding, and returns
// failed.
func (d *Decoder) malformed(index int, name string, failed int) int {
	rule, at := d.scan.Fault()
	d.tooLarge = false
	if len(d.problems) == MaxProblems {
		d.problems = d.problems[:MaxProblems-1]
	}
	d.problems = append(d.problems, Problem{Index: index, Field: name, Rule: rule, Message: faultMessage(rule, at)})
	return failed
}
