package flageval

import (
	"net/netip"
	"strings"
)

// Context is whom a flag is evaluated for. Nothing of it is kept.
type Context struct {
	UserID         string
	Email          string
	AnonymousID    string
	OrganizationID string
	TeamID         string
	Country        string     // the attribute $country; empty where it is not known
	IP             netip.Addr // the attribute $ip; the zero value where it is not known
	Attributes     map[string]Value
}

// Value is what an attribute is: a text, a number, a boolean, a list of such, or an object, of
// which can be asked only whether it is there. The zero value is none of them, as null is.
type Value struct {
	kind   valueKind
	text   string
	number float64
	list   []Value
}

type valueKind uint8

const (
	noValue valueKind = iota
	textValue
	numberValue
	boolValue
	listValue
	objectValue
)

// Text returns a text.
func Text(s string) Value { return Value{kind: textValue, text: s} }

// Number returns a number.
func Number(n float64) Value { return Value{kind: numberValue, number: n} }

// Bool returns a boolean.
func Bool(b bool) Value {
	v := Value{kind: boolValue}
	if b {
		v.number = 1
	}
	return v
}

// List returns a list, of which lists within and nulls match nothing.
func List(all ...Value) Value { return Value{kind: listValue, list: all} }

// simple reports whether the value is a text, a number or a boolean.
func (v *Value) simple() bool {
	return v.kind == textValue || v.kind == numberValue || v.kind == boolValue
}

// ValueOf returns what encoding/json decodes into an any; a json.Number, which no float64 is, is
// no value.
func ValueOf(v any) Value {
	switch v := v.(type) {
	case string:
		return Text(v)
	case float64:
		return Number(v)
	case bool:
		return Bool(v)
	case []any:
		all := make([]Value, len(v))
		for i := range v {
			all[i] = ValueOf(v[i])
		}
		return List(all...)
	case map[string]any:
		return Value{kind: objectValue}
	}
	return Value{}
}

// equal reports whether two values of one kind, neither of them a list, are the same.
func (v *Value) equal(w *Value) bool {
	switch {
	case v.kind != w.kind:
		return false
	case v.kind == textValue:
		return v.text == w.text
	}
	return v.number == w.number
}

// The attributes that every context has.
const (
	attrUserID       = "userId"
	attrEmail        = "email"
	attrAnonymousID  = "anonymousId"
	attrOrganization = "organizationId"
	attrTeam         = "teamId"
	attrCountry      = "$country"
	attrIP           = "$ip"
)

// attribute returns an attribute; the zero value where it is missing. $ip, which is no
// text, is not among them.
func (c *Context) attribute(name string) Value {
	var text string
	switch name {
	case attrUserID:
		text = c.UserID
	case attrEmail:
		text = c.Email
	case attrAnonymousID:
		text = c.AnonymousID
	case attrOrganization:
		text = c.OrganizationID
	case attrTeam:
		text = c.TeamID
	case attrCountry:
		text = c.Country
	default:
		return c.Attributes[name]
	}
	if text == "" {
		return Value{}
	}
	return Text(text)
}

// bucketAttr is the beginning of a BucketBy that names an attribute.
const bucketAttr = "attr:"

// bucketID returns what somebody is drawn by; empty where there is nothing.
func (c *Context) bucketID(by string) string {
	switch by {
	case "", attrUserID:
		if c.UserID == "" {
			return c.Email
		}
		return c.UserID
	case attrAnonymousID:
		return c.AnonymousID
	case attrOrganization:
		return c.OrganizationID
	case attrTeam:
		return c.TeamID
	}
	return c.Attributes[strings.TrimPrefix(by, bucketAttr)].text
}
