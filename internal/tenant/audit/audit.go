// Package audit says what a change of the control plane is remembered by: who
// made it, from where, what it was and what it changed.
//
// It promises that an entry holds no secret: values of fields that are secrets
// are masked before they get here, by the one function that compares records.
// Entries are written by package store in the transaction of the change and are
// never changed or removed. The use of a key is not audited, its changes are.
package audit

import (
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/millrace/millrace/internal/contract/id"
)

// ActorType says what kind of caller made a change.
type ActorType string

// The types of actors.
const (
	User     ActorType = "user"
	APIKey   ActorType = "apiKey"
	Operator ActorType = "operator" // the millrace command
	System   ActorType = "system"   // the service itself, such as an expiry
)

// Actor is who made a change.
type Actor struct {
	Type ActorType `json:"type"`
	ID   string    `json:"id"`
	Name string    `json:"name"` // as it was then: a person's address, a key's name
}

// By is who made a change, and from where. Every mutating method of the store
// takes one, so that no change goes without an entry.
type By struct {
	Actor     Actor
	IP        string // of the client; empty for the operator's command
	UserAgent string // at most MaxUserAgent bytes
	RequestID string
	Grant     *Grant // nil for who needs none, such as the operator; it is not kept
}

// ByOperator is somebody at the millrace command; name is the account on the
// machine.
func ByOperator(name string) By { return By{Actor: Actor{Type: Operator, ID: name, Name: name}} }

// BySystem is the service itself.
func BySystem() By { return By{Actor: Actor{Type: System, ID: "millrace", Name: "millrace"}} }

// MaxUserAgent is how many bytes of a user agent an entry keeps.
const MaxUserAgent = 256

// Change is what became of one field. Absent values are nil.
type Change struct {
	From any `json:"from"`
	To   any `json:"to"`
}

// Entry is one change as it is remembered.
type Entry struct {
	ID             string // "aud_" + ULID
	At             time.Time
	OrganizationID string // empty for what belongs to no organization
	By             By
	// Action is the resource and what was done, such as "apikey.rotated".
	Action       string
	ResourceType string // such as "apikey"
	ResourceID   string
	ResourceName string // as it was then
	// Changes are the fields that changed, by their name on the wire; empty when
	// the action says it all.
	Changes map[string]Change
}

// New returns an entry for a change of a record at now.
func New(by By, organizationID, resourceType, action string, now time.Time) Entry {
	return Entry{
		ID: id.New("aud"), At: now, OrganizationID: organizationID, By: by.bounded(),
		Action: resourceType + "." + action, ResourceType: resourceType,
	}
}

// Of names the record that the entry is about.
func (e Entry) Of(id, name string) Entry {
	e.ResourceID, e.ResourceName = id, name
	return e
}

// In returns the same entry for another organization: what concerns a person's own account
// is remembered in each that they belong to.
func (e Entry) In(organizationID string) Entry {
	e.ID, e.OrganizationID = id.New("aud"), organizationID
	return e
}

// With adds what became of the fields.
func (e Entry) With(changes map[string]Change) Entry {
	e.Changes = changes
	return e
}

func (by By) bounded() By {
	by.UserAgent = UserAgent(by.UserAgent)
	return by
}

// UserAgent returns of a header of that name what is kept: at most MaxUserAgent bytes of
// text that every store takes.
func UserAgent(header string) string {
	text := strings.ReplaceAll(strings.ToValidUTF8(header, "\uFFFD"), "\x00", "")
	if len(text) <= MaxUserAgent {
		return text
	}
	cut := MaxUserAgent
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut]
}

// Masked stands for a value that must not be written down.
const Masked = "***"

// Diff compares two views of a record, field by field, and returns the fields
// that differ. A view maps names on the wire to values; a nil view stands for a
// record that is not there. The values of the fields named in secret are masked.
func Diff(before, after map[string]any, secret ...string) map[string]Change {
	changes := map[string]Change{}
	for _, view := range []map[string]any{before, after} {
		for field := range view {
			from, to := value(before[field]), value(after[field])
			if !reflect.DeepEqual(from, to) {
				changes[field] = Change{From: from, To: to}
			}
		}
	}
	for _, field := range secret {
		if c, ok := changes[field]; ok {
			changes[field] = Change{From: masked(c.From), To: masked(c.To)}
		}
	}
	return changes
}

// value is what a reader sees: an empty list or pointer is as good as nothing, and a
// pointer is what it points to.
func value(v any) any {
	r := reflect.ValueOf(v)
	switch kind := r.Kind(); {
	case kind == reflect.Pointer && r.IsNil(), (kind == reflect.Slice || kind == reflect.Map) && r.Len() == 0:
		return nil
	case kind == reflect.Pointer:
		return r.Elem().Interface()
	}
	return v
}

func masked(v any) any {
	if v == nil {
		return nil
	}
	return Masked
}
