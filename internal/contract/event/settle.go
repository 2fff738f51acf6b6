package event

import (
	"bytes"
	"strconv"
)

// The names that events have whatever was sent.
var (
	nameScreenView   = []byte("screen_view")
	namePageExit     = []byte("page_exit")
	nameLink         = []byte("outgoing_link")
	nameLinkOut      = []byte("link_out")
	nameEngagement   = []byte("engagement")
	nameIdentify     = []byte("identify")
	nameError        = []byte("Error")
	typeTrack        = []byte("track")
	typeOutgoingLink = nameLink
)

// UnknownType is the message for a page event of a type that is neither track nor
// outgoing_link.
const UnknownType = "Unknown event type"

// Reserved reports whether a name has a meaning, whoever uses it.
func Reserved(name []byte) bool {
	switch string(name) {
	case string(nameScreenView), string(namePageExit), string(nameLink), string(nameLinkOut), string(nameEngagement):
		return true
	}
	return false
}

// settlePage finds out what a page event tells of.
func (d *Decoder) settlePage(e *Event, index int) {
	switch {
	case bytes.Equal(e.Type(), typeOutgoingLink):
		e.Name, e.Kind = nameLink, OutgoingLink
		return
	case e.UnknownType():
		if number := d.form.numbers["type"]; !d.faulty.has(number) {
			d.reject(index, &d.form.fields[number], RuleInvalidValue, UnknownType)
		}
		return
	}
	switch {
	case len(e.Name) == 0:
		if !d.faulty.has(fieldName) {
			d.reject(index, &d.form.fields[fieldName], RuleRequired, "name is required")
		}
	case bytes.Equal(e.Name, nameScreenView):
		e.Kind = PageView
	case bytes.Equal(e.Name, namePageExit):
		e.Kind = PageExit
	case bytes.Equal(e.Name, nameLink), bytes.Equal(e.Name, nameLinkOut):
		e.Name, e.Kind = nameLink, OutgoingLink
	}
}

// Type is the type of a page event: as it was sent, track without it.
func (e *Event) Type() []byte {
	if e.Page == nil || len(e.Page.Texts[EventType]) == 0 {
		return typeTrack
	}
	return e.Page.Texts[EventType]
}

// UnknownType reports whether a page event is of a type that is neither track nor
// outgoing_link.
func (e *Event) UnknownType() bool {
	return !bytes.Equal(e.Type(), typeTrack) && !bytes.Equal(e.Type(), typeOutgoingLink)
}

func (*Decoder) settleVital(e *Event, _ int) { e.Kind = Vital }

func (*Decoder) settleError(e *Event, _ int) {
	e.Kind = Error
	if len(e.Name) == 0 {
		e.Name = nameError
	}
}

func (*Decoder) settleIdentity(e *Event, _ int) { e.Kind, e.Name = Identify, nameIdentify }

// settleEngagement writes what was told into the event's properties.
func (d *Decoder) settleEngagement(e *Event, _ int) {
	e.Kind, e.Name = Engagement, nameEngagement
	if e.Page == nil {
		return
	}
	s := &d.scan
	from := len(s.text)
	for i := range engagementFields {
		f := &engagementFields[i]
		switch f.to.in {
		case inNumber:
			if v, ok := e.Page.Number(PageNumber(f.to.at)); ok {
				s.text = strconv.AppendFloat(appendMember(s.text, from, f.Name), v, 'f', -1, 64)
			}
		case inText:
			if v := e.Page.Texts[f.to.at]; len(v) > 0 {
				s.text = AppendQuoted(appendMember(s.text, from, f.Name), v)
			}
		case inEvent, inName:
		}
	}
	s.text = append(s.text, '}')
	e.Properties, e.Page = s.text[from:len(s.text):len(s.text)], nil
}

// appendMember begins the next member of the object that begins at from.
func appendMember(dst []byte, from int, name string) []byte {
	if len(dst) == from {
		dst = append(dst, '{')
	} else {
		dst = append(dst, ',')
	}
	return append(append(append(dst, '"'), name...), `":`...)
}

// AppendQuoted appends text as a JSON string. What is no UTF-8 stays so, for whoever decodes
// it to reject. Its bytes never change: properties are made of them, and ids of those.
func AppendQuoted(dst, text []byte) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
