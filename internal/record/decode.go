package record

import (
	"bytes"
	"fmt"
	"math/bits"

	"github.com/millrace/millrace/internal/event"
)

// Decoder reads the values of events.v1. It is for one goroutine at a time and,
// once its buffers have grown, allocates nothing for a good value. The zero value
// is ready.
type Decoder struct {
	scan event.Scanner
}

// DecodeError says why a value is no event of this topic.
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

// eventField numbers the fields of the envelope.
type eventField uint8

const (
	unknownField eventField = iota
	versionField
	idField
	idGeneratedField
	organizationField
	websiteField
	ownerField
	typeField
	nameField
	tsField
	rawTsField
	receivedAtField
	anonymousIDField
	profileIDField
	sessionIDField
	pathField
	namespaceField
	sourceField
	propertiesField
)

// eventFields are their names in the JSON, in the order of writing.
var eventFields = [...]string{
	versionField: "v", idField: "id", idGeneratedField: "idGenerated",
	organizationField: "organization", websiteField: "website", ownerField: "owner",
	typeField: "type", nameField: "name", tsField: "ts", rawTsField: "rawTs",
	receivedAtField: "receivedAt", anonymousIDField: "anonymousId", profileIDField: "profileId",
	sessionIDField: "sessionId", pathField: "path", namespaceField: "namespace",
	sourceField: "source", propertiesField: "properties",
}

// requiredFields must be there, and where they are strings, must not be empty.
const requiredFields = 1<<versionField | 1<<idField | 1<<organizationField | 1<<ownerField |
	1<<typeField | 1<<nameField | 1<<tsField | 1<<receivedAtField

// eventFieldOf looks key up, starting at from: writers keep the order of
// eventFields, so that the search nearly always ends after a step or two.
func eventFieldOf(key []byte, from eventField) eventField {
	for f := from; f <= propertiesField; f++ {
		if string(key) == eventFields[f] {
			return f
		}
	}
	for f := versionField; f < from; f++ {
		if string(key) == eventFields[f] {
			return f
		}
	}
	return unknownField
}

// DecodeEvent reads value into e, which it overwrites. Fields that it does not
// know are passed over, so that a newer writer does not stop an older reader;
// what is missing, of another type, or at odds with itself is a *DecodeError.
// The slices of e belong to the Decoder and to value.
func (d *Decoder) DecodeEvent(value []byte, e *Event) error {
	s := &d.scan
	s.Reset(value)
	*e = Event{}
	i := s.Blank(0)
	if i >= len(value) || value[i] != '{' {
		return &DecodeError{Reason: "the value is no JSON object"}
	}
	var seen uint32
	last := unknownField
	i, more := s.First(i, '}')
	for more {
		var key []byte
		if key, i = s.Key(i); i < 0 {
			return d.malformed("")
		}
		f := eventFieldOf(key, last+1)
		var reason string
		if f == unknownField {
			i = s.Skip(i, 1)
		} else if i, reason = d.field(e, f, value, i); seen&(1<<f) != 0 {
			reason = "occurs twice"
		}
		if reason != "" {
			return &DecodeError{eventFields[f], reason}
		}
		seen |= 1 << f
		last = max(last, f)
		if i < 0 {
			return d.malformed(eventFields[f])
		}
		if i, more = s.Next(i, '}'); i < 0 {
			return d.malformed("")
		}
	}
	if s.Blank(i) != len(value) {
		return &DecodeError{Reason: "more follows after the object"}
	}
	return check(e, seen)
}

func (d *Decoder) malformed(name string) error {
	rule, at := d.scan.Fault()
	return &DecodeError{name, fmt.Sprintf("not valid JSON (%s at byte %d)", rule, at)}
}

// field reads the value of f at i into e. It returns a reason when the value is
// of another type, and a negative position when it is malformed.
func (d *Decoder) field(e *Event, f eventField, b []byte, i int) (next int, reason string) {
	if i >= len(b) {
		return d.scan.Skip(i, 1), ""
	}
	switch f {
	case versionField, tsField, rawTsField, receivedAtField:
		n, next := integer(b, i)
		if next == i {
			return i, "must be an integer of at most 16 digits"
		}
		e.setInteger(f, n)
		return next, ""
	case idGeneratedField:
		if b[i] != 't' && b[i] != 'f' {
			return i, "must be true or false"
		}
		e.IDGenerated = b[i] == 't'
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

func (e *Event) setInteger(f eventField, n int64) {
	switch f {
	case versionField:
		e.Version = int(n)
	case tsField:
		e.TimeMillis = n
	case rawTsField:
		e.RawMillis, e.HasRaw = n, true
	default:
		e.ReceivedAt = n
	}
}

// text returns where the string of field f is kept.
func (e *Event) text(f eventField) *[]byte {
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
func check(e *Event, seen uint32) error {
	if missing := requiredFields &^ seen; missing != 0 {
		return &DecodeError{eventFields[bits.TrailingZeros32(missing)], "is missing"}
	}
	for f := idField; f <= nameField; f++ {
		if requiredFields&(1<<f) != 0 && len(*e.text(f)) == 0 {
			return &DecodeError{eventFields[f], "must not be empty"}
		}
	}
	if e.Version < 1 {
		return &DecodeError{eventFields[versionField], "must be at least 1"}
	}
	owner := e.Website
	if len(owner) == 0 {
		owner = e.Organization
	}
	if !bytes.Equal(owner, e.Owner) {
		return &DecodeError{eventFields[ownerField], "must be the website, or the organization where there is none"}
	}
	return nil
}
