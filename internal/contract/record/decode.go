package record

import (
	"bytes"
	"fmt"
	"math/bits"
	"strconv"

	"github.com/millrace/millrace/internal/contract/event"
)

// Decoder reads the values of the topics of events. It is for one goroutine at a
// time and, once its buffers have grown, allocates nothing for a good value. The
// zero value is ready.
type Decoder struct {
	scan event.Scanner
	web  Web
	// click and exposure are kept like web.
	click    Click
	exposure Exposure
	// behind says which field stood behind another one in a value before: writers keep to
	// theirs, whatever they leave out.
	behind [endOfFields]field
}

// DecodeError says why a value is no event.
type DecodeError struct {
	// Field is the envelope's field concerned; empty when the value is no JSON
	// object at all.
	Field string
	// Reason is a sentence without data of the record.
	Reason string
}

func (e *DecodeError) Error() string {
	if e.Field == "" {
		return "decoding event record: " + e.Reason
	}
	return fmt.Sprintf("decoding event record: field %q: %s", e.Field, e.Reason)
}

// DecodeEvent reads value into e, which it overwrites. Fields that it does not
// know are passed over, so that a newer writer does not stop an older reader;
// what is missing, of another type, or at odds with itself is a *DecodeError, and
// so is what the events of its type need and it lacks; Fits says whether the type
// is one of the topic. The slices of e, and e.Web, belong to the Decoder and to
// value.
func (d *Decoder) DecodeEvent(value []byte, e *Event) error {
	s := &d.scan
	s.Reset(value)
	*e = Event{}
	i := s.Blank(0)
	if i >= len(value) || value[i] != '{' {
		return &DecodeError{Reason: "the value is no JSON object"}
	}
	var seen fieldSet
	last, lastWeb, previous := unknownField, firstText-1, unknownField
	i, more := s.First(i, '}')
	for more {
		var key []byte
		if key, i = s.Key(i); i < 0 {
			return d.malformed("")
		}
		f := d.behind[previous]
		if f == unknownField || string(key) != fieldNames[f] {
			f = fieldOf(key, last, lastWeb)
			d.behind[previous] = f
		}
		previous = f
		var reason string
		if f == unknownField {
			i = s.Skip(i, 1)
		} else if i, reason = d.field(e, f, value, i); seen.has(f) {
			reason = "occurs twice"
		}
		if reason != "" {
			return &DecodeError{fieldNames[f], reason}
		}
		seen.add(f)
		if f < firstText {
			last = max(last, f)
		} else {
			lastWeb = max(lastWeb, f)
		}
		if i < 0 {
			return d.malformed(fieldNames[f])
		}
		if i, more = s.Next(i, '}'); i < 0 {
			return d.malformed("")
		}
	}
	if s.Blank(i) != len(value) {
		return &DecodeError{Reason: "more follows after the object"}
	}
	return check(e, &seen)
}

func (d *Decoder) malformed(name string) error {
	rule, at := d.scan.Failure()
	return &DecodeError{name, fmt.Sprintf("not valid JSON (%s at byte %d)", rule, at)}
}

// field reads the value of f at i into e. It returns a reason when the value is
// of another type, and a negative position when it is malformed.
func (d *Decoder) field(e *Event, f field, b []byte, i int) (next int, reason string) {
	if i >= len(b) {
		return d.scan.Skip(i, 1), ""
	}
	d.begin(e, f)
	switch f {
	case versionField, tsField, rawTsField, receivedAtField, statusField, sampleField:
		n, next := integer(b, i)
		if next == i {
			return i, "must be an integer of at most 16 digits"
		}
		e.setInteger(f, n)
		return next, ""
	case idGeneratedField, isQRField, isBotField:
		if b[i] != 't' && b[i] != 'f' {
			return i, "must be true or false"
		}
		e.setBool(f, b[i] == 't')
		return d.scan.Skip(i, 1), ""
	case propertiesField:
		if b[i] != '{' {
			return i, "must be an object"
		}
		if next = d.scan.Skip(i, 1); next > 0 {
			e.Properties = b[i:next:next]
		}
		return next, ""
	default:
		if f >= firstText && f < firstClick {
			if e.Web == nil {
				d.web = Web{}
				e.Web = &d.web
			}
			if f >= firstNumber {
				return d.number(WebNumber(f-firstNumber), b, i)
			}
		}
		if b[i] != '"' {
			return i, "must be a string"
		}
		text, next := d.scan.Text(i)
		if len(text) > 0 {
			*e.text(f) = text
		}
		return next, ""
	}
}

// begin has e have a place for a field of a click or an exposure.
func (d *Decoder) begin(e *Event, f field) {
	switch {
	case f < firstClick:
	case f < firstExposure && e.Click == nil:
		d.click = Click{}
		e.Click = &d.click
	case f >= firstExposure && e.Exposure == nil:
		d.exposure = Exposure{}
		e.Exposure = &d.exposure
	}
}

// number reads a number of Web.
func (d *Decoder) number(n WebNumber, b []byte, i int) (next int, reason string) {
	if b[i] != '-' && b[i]-'0' > 9 {
		return i, "must be a number"
	}
	next = d.scan.Number(i)
	if next < 0 {
		return next, ""
	}
	if whole, end := integer(b, i); end == next {
		d.web.Set(n, float64(whole))
		return next, ""
	}
	v, err := strconv.ParseFloat(string(b[i:next]), 64)
	if err != nil {
		return i, "is too large"
	}
	d.web.Set(n, v)
	return next, ""
}

// integer reads the digits at i; none, more than 16, or what makes them another
// number leaves next at i.
func integer(b []byte, i int) (n int64, next int) {
	from := i
	for i < len(b) && b[i]-'0' <= 9 {
		n = n*10 + int64(b[i]-'0')
		if i++; i-from > 16 {
			return 0, from
		}
	}
	if i < len(b) && (b[i] == '.' || b[i]|0x20 == 'e') || i-from > 1 && b[from] == '0' {
		return 0, from
	}
	return n, i
}

func (e *Event) setInteger(f field, n int64) {
	switch f {
	case versionField:
		e.Version = int(n)
	case tsField:
		e.TimeMillis = n
	case rawTsField:
		e.RawMillis, e.HasRaw = n, true
	case statusField:
		e.Click.Status = int(n)
	case sampleField:
		e.Exposure.Sample = int(n)
	default:
		e.ReceivedAt = n
	}
}

func (e *Event) setBool(f field, is bool) {
	switch f {
	case isQRField:
		e.Click.IsQR = is
	case isBotField:
		e.Click.IsBot = is
	default:
		e.IDGenerated = is
	}
}

// text returns where the string of field f is kept; nil for a number of Web, Click or
// Exposure.
func (e *Event) text(f field) *[]byte {
	switch {
	case f >= firstExposure:
		return e.Exposure.text(f)
	case f >= firstClick:
		return e.Click.text(f)
	case f >= firstNumber:
		return nil
	case f >= firstText:
		return &e.Web.Texts[f-firstText]
	}
	switch f {
	case idField:
		return &e.ID
	case organizationField:
		return &e.Organization
	case websiteField:
		return &e.Website
	case ownerField:
		return &e.Owner
	case typeField:
		return &e.Type
	case nameField:
		return &e.Name
	case anonymousIDField:
		return &e.AnonymousID
	case profileIDField:
		return &e.ProfileID
	case sessionIDField:
		return &e.SessionID
	case pathField:
		return &e.Path
	case namespaceField:
		return &e.Namespace
	default:
		return &e.Source
	}
}

// check looks at what the fields say together.
func check(e *Event, seen *fieldSet) error {
	if missing := requiredFields &^ seen.common; missing != 0 {
		return &DecodeError{fieldNames[bits.TrailingZeros64(missing)], "is missing"}
	}
	for f := idField; f <= nameField; f++ {
		if requiredFields&(1<<f) != 0 && len(*e.text(f)) == 0 {
			return &DecodeError{fieldNames[f], "must not be empty"}
		}
	}
	if e.Version < 1 {
		return &DecodeError{fieldNames[versionField], "must be at least 1"}
	}
	k := kindOf(e.Type)
	if k != nil {
		if err := k.check(e, seen); err != nil {
			return err
		}
	}
	if !bytes.Equal(e.Owner, ownerOf(e, k)) {
		return &DecodeError{
			fieldNames[ownerField], "must be the website, or the organization where there is none, or of a click the link",
		}
	}
	return nil
}

// ownerOf returns whose record an event of a kind is; nil stands for one that is not known.
func ownerOf(e *Event, k *kind) []byte {
	switch {
	case k != nil && k.ofLink:
		return e.Click.Link
	case len(e.Website) > 0:
		return e.Website
	}
	return e.Organization
}
