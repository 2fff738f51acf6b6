package management

import (
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// shaped is a value that is read and written as a T is, and documented as a Shape: for
// types of a domain whose JSON is that of the wire, but which say nothing of its bounds.
type shaped[T, Shape any] struct{ V T }

// UnmarshalJSON reads what the schema has passed.
func (s *shaped[T, Shape]) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &s.V) }

// MarshalJSON writes the value.
func (s shaped[T, Shape]) MarshalJSON() ([]byte, error) { return json.Marshal(s.V) }

// Schema is that of Shape, and not a reference to it: of those nothing more can be said,
// such as that there may be null instead.
func (shaped[T, Shape]) Schema(r huma.Registry) *huma.Schema {
	is := *r.Schema(reflect.TypeFor[Shape](), false, "")
	return &is
}

// nullable is a struct instead of which there may be null.
type nullable[T any] = shaped[T, T]

func orNone[T any](v *T) *nullable[T] {
	if v == nil {
		return nil
	}
	return &nullable[T]{*v}
}
