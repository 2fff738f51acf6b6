package rpc

import (
	"encoding/base64"
	"encoding/json"
	"errors"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// Sizes of a page of a list.
const (
	DefaultLimit = 50
	MaxLimit     = 100
)

// Page is embedded by the inputs of lists.
type Page struct {
	Limit  int    `json:"limit,omitempty" minimum:"1" maximum:"100" default:"50" doc:"Maximum number of records to return."`
	Cursor string `json:"cursor,omitempty" maxLength:"512" doc:"Cursor of the next page: nextCursor of the previous response."`
}

// Size is how many records the caller wants.
func (p Page) Size() int {
	if p.Limit == 0 {
		return DefaultLimit
	}
	return p.Limit
}

// After decodes the cursor into the position that Next was given. It reports
// whether there is one; a cursor that this list did not make is a Validation
// error.
func (p Page) After(position any) (bool, error) {
	if p.Cursor == "" {
		return false, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	var made any
	if err == nil {
		err = errors.Join(json.Unmarshal(text, &made), json.Unmarshal(text, position))
	}
	if err != nil || hasNUL(made) { // in no position of a list, and none that PostgreSQL takes
		return false, apierr.Invalid("cursor", "invalid", "cursor must be a nextCursor of this list")
	}
	return true, nil
}

// List is the output of a list operation.
type List[T any] struct {
	Items []T
	// Next is the position of the last record of a page after which there are
	// more; nil when this page is the last one. It is written as JSON.
	Next any
	// Limit is the size of a page.
	Limit int
}

// pagination tells how to go on.
type pagination struct {
	NextCursor *string `json:"nextCursor" doc:"Cursor of the next page; null on the last page."`
	HasMore    bool    `json:"hasMore"`
	Limit      int     `json:"limit" doc:"Maximum number of records on a page."`
}

// page is what the registry asks of a list.
type page interface {
	items() any
	next() any
	limit() int
}

func (l *List[T]) items() any {
	if l.Items == nil {
		return []T{} // never null
	}
	return l.Items
}

func (l *List[T]) next() any  { return l.Next }
func (l *List[T]) limit() int { return l.Limit }

// Cut makes a page of what a store found when it was asked for one record more
// than size; position names a record.
func Cut[T any](found []T, size int, position func(T) any) *List[T] {
	if len(found) <= size {
		return &List[T]{Items: found, Limit: size}
	}
	return &List[T]{Items: found[:size], Next: position(found[size-1]), Limit: size}
}

func cursor(position any) (*string, error) {
	if position == nil {
		return nil, nil //nolint:nilnil // null is the result on the last page
	}
	text, err := json.Marshal(position)
	if err != nil {
		return nil, err
	}
	c := base64.RawURLEncoding.EncodeToString(text)
	return &c, nil
}
