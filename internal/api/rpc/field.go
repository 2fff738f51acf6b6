package rpc

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/millrace/millrace/internal/contract/wire"
)

// Time is an instant on the wire, written by wire.TimeLayout; other offsets and precisions
// of RFC 3339 are read.
type Time struct{ time.Time }

// At returns t for a response, or nil for the zero time, which is null there.
func At(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	return &Time{t}
}

// MarshalJSON writes the instant.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(t.UTC().Format(`"` + wire.TimeLayout + `"`)), nil
}

// Schema says what the instant looks like.
func (Time) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "date-time"}
}

// Patch is a field of an update: absent keeps the old value and, where it may be
// cleared, null clears it. It needs the tag `omitzero`.
type Patch[T any] struct {
	Set bool // the field was sent
	// Value is nil for null.
	Value *T
}

// UnmarshalJSON notes that the field was there.
func (p *Patch[T]) UnmarshalJSON(text []byte) error {
	p.Set = true
	return json.Unmarshal(text, &p.Value)
}

// MarshalJSON writes the value, or null. Of a response the field is left out, by omitzero,
// where it is not Set.
func (p Patch[T]) MarshalJSON() ([]byte, error) { return json.Marshal(p.Value) }

// Schema is that of T. The tag nullable:"true" says that the field may be
// cleared.
func (Patch[T]) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[T](), true, "")
}

// Or returns the value sent, else old. Null is the zero value.
func (p Patch[T]) Or(old T) T {
	switch {
	case !p.Set:
		return old
	case p.Value == nil:
		var zero T
		return zero
	default:
		return *p.Value
	}
}
