package millrace

import (
	"fmt"
	"time"
	"unicode/utf8"
)

// Limits of an event and an identity, which the client checks before it sends.
// Lengths are counted in code points, sizes in bytes of JSON.
const (
	MaxNameLen         = 256
	MaxEventIDLen      = 512
	MaxPathLen         = 2048
	MaxAnonymousIDLen  = 256
	MaxProfileIDLen    = 256
	MaxSessionIDLen    = 256
	MaxNamespaceLen    = 64
	MaxSourceLen       = 64
	MaxWebsiteIDLen    = 255
	MaxPropertiesKeys  = 50       // also of traits
	MaxPropertiesBytes = 32 << 10 // also of traits
)

// Anonymize says how the host stores the id of a visitor.
type Anonymize string

// The values of AnonymizeVisitorIDs. AnonymizeUnset leaves it to the
// website's setting.
const (
	AnonymizeUnset Anonymize = ""
	AnonymizeTrue  Anonymize = "true"
	AnonymizeFalse Anonymize = "false"
	AnonymizeAuto  Anonymize = "auto"
)

// Event is one custom event. Only Name is required. The zero value of every other
// field means that it is not told.
type Event struct {
	// Type may be "custom", the only kind that a server sends; empty is the same.
	Type string
	// Name is 1 to MaxNameLen long.
	Name string
	// Properties are anything that encoding/json can encode, at most
	// MaxPropertiesKeys keys and MaxPropertiesBytes bytes. They are encoded before
	// the call returns and may be changed afterwards.
	Properties map[string]any
	// EventID makes the event count once, however often it is sent. Without one the
	// client makes one up, which the Result tells.
	EventID string
	// Path is the page's path or address.
	Path string
	// AnonymousID, ProfileID and SessionID say whose event it is.
	AnonymousID, ProfileID, SessionID string
	// AnonymizeVisitorIDs says how AnonymousID is stored.
	AnonymizeVisitorIDs Anonymize
	// Timestamp is when it happened; zero means now. The host keeps milliseconds.
	Timestamp time.Time
	// Namespace, Source and WebsiteID stand above the client's own.
	Namespace, Source, WebsiteID string
}

// Identity says who a visitor is.
type Identity struct {
	// ProfileID is your own id of the person; required.
	ProfileID string
	// EventID makes it count once, however often it is sent. Without one the client
	// makes one up before it tries for the first time, which the Result tells.
	EventID string
	// Timestamp is when it was so; zero means now. Of what is told of a person, the
	// latest holds, in whatever order it arrives: a call that is made again after a
	// failure needs the time of the first beside its EventID. The host keeps
	// milliseconds.
	Timestamp time.Time
	// AnonymousID is the visitor that the person was so far.
	AnonymousID string
	// Traits are what is known about the person, under the limits of properties.
	// null takes a trait away.
	Traits map[string]any
	// AnonymizeVisitorIDs says how AnonymousID is stored. Where it is not that of the
	// visitor's events, they are not found by this person.
	AnonymizeVisitorIDs Anonymize
	// WebsiteID stands above the client's own.
	WebsiteID string
}

// check returns what is wrong with the choice, or "".
func (a Anonymize) check() string {
	switch a {
	case AnonymizeUnset, AnonymizeTrue, AnonymizeFalse, AnonymizeAuto:
		return ""
	default:
		return fmt.Sprintf("anonymizeVisitorIds %q is none of true, false and auto", string(a))
	}
}

// put writes the choice: true and false are no strings on the wire.
func (a Anonymize) put(o *object) {
	const name = "anonymizeVisitorIds"
	switch a {
	case AnonymizeTrue, AnonymizeFalse:
		o.raw(name, string(a))
	default:
		o.text(name, string(a))
	}
}

// field is a text with its limits.
type field struct {
	name, value string
	least, most int
}

// check returns what is wrong with the field, or "".
func (f field) check() string {
	switch n := len(f.value); {
	case n == 0 && f.least > 0:
		return f.name + " is required"
	case n > f.most && utf8.RuneCountInString(f.value) > f.most:
		return fmt.Sprintf("%s must have at most %d characters", f.name, f.most)
	}
	return ""
}

// check returns what is wrong with the event, or "".
func (e *Event) check() string {
	for _, f := range [...]field{
		{"name", e.Name, 1, MaxNameLen},
		{"eventId", e.EventID, 0, MaxEventIDLen},
		{"path", e.Path, 0, MaxPathLen},
		{"anonymousId", e.AnonymousID, 0, MaxAnonymousIDLen},
		{"profileId", e.ProfileID, 0, MaxProfileIDLen},
		{"sessionId", e.SessionID, 0, MaxSessionIDLen},
		{"namespace", e.Namespace, 0, MaxNamespaceLen},
		{"source", e.Source, 0, MaxSourceLen},
		{"websiteId", e.WebsiteID, 0, MaxWebsiteIDLen},
	} {
		if wrong := f.check(); wrong != "" {
			return wrong
		}
	}
	switch e.Type {
	case "", "custom", "custom_event":
	default:
		return fmt.Sprintf("type %q is not custom", e.Type)
	}
	return e.AnonymizeVisitorIDs.check()
}

// encode returns the event as the host takes it, or what is wrong with it.
func (e *Event) encode() (body []byte, wrong string) {
	if wrong := e.check(); wrong != "" {
		return nil, wrong
	}
	o := newObject(e.Name)
	o.text("name", e.Name)
	o.text("eventId", e.EventID)
	o.millis("timestamp", e.Timestamp)
	o.text("path", e.Path)
	o.text("anonymousId", e.AnonymousID)
	o.text("profileId", e.ProfileID)
	o.text("sessionId", e.SessionID)
	e.AnonymizeVisitorIDs.put(o)
	o.text("namespace", e.Namespace)
	o.text("source", e.Source)
	o.text("websiteId", e.WebsiteID)
	if wrong := o.values("properties", e.Properties); wrong != "" {
		return nil, wrong
	}
	return o.end(), ""
}

// encode returns the identity as the host takes it, or what is wrong with it.
func (i *Identity) encode() (body []byte, wrong string) {
	for _, f := range [...]field{
		{"profileId", i.ProfileID, 1, MaxProfileIDLen},
		{"eventId", i.EventID, 0, MaxEventIDLen},
		{"anonymousId", i.AnonymousID, 0, MaxAnonymousIDLen},
		{"websiteId", i.WebsiteID, 0, MaxWebsiteIDLen},
	} {
		if wrong := f.check(); wrong != "" {
			return nil, wrong
		}
	}
	if wrong := i.AnonymizeVisitorIDs.check(); wrong != "" {
		return nil, wrong
	}
	o := newObject(i.ProfileID)
	o.text("profileId", i.ProfileID)
	o.text("eventId", i.EventID)
	o.millis("timestamp", i.Timestamp)
	o.text("anonymousId", i.AnonymousID)
	i.AnonymizeVisitorIDs.put(o)
	o.text("websiteId", i.WebsiteID)
	if wrong := o.values("traits", i.Traits); wrong != "" {
		return nil, wrong
	}
	return o.end(), ""
}
