package rpc

import (
	"errors"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/org"
)

// Item is what became of one of the records that a call names: data where it went well,
// else why it did not.
type Item[T any] struct {
	OK     bool          `json:"ok"`
	Data   *T            `json:"data,omitempty"`
	Error  string        `json:"error,omitempty" doc:"The error that a call for this record alone would return."`
	Code   string        `json:"code,omitempty"`
	Errors []ItemProblem `json:"errors,omitempty"`
}

// ItemProblem is one thing that is wrong with a record.
type ItemProblem struct {
	Field   string `json:"field"`
	Rule    string `json:"rule"`
	Message string `json:"message"`
}

// Each does something with each of several records, one after the other; one that fails
// does not keep the others from it. Where the caller's right to the call has ended before
// anything was done, the call fails as one about a single record does.
func Each[In, Out any](call *Call, items []In, do func(*In) (*Out, error)) ([]Item[Out], error) {
	all := make([]Item[Out], len(items))
	begun := false
	for i := range items {
		out, err := do(&items[i])
		switch {
		case err == nil:
			all[i], begun = Item[Out]{OK: true, Data: out}, true
		case !begun && ofCaller(err):
			return nil, err
		default:
			all[i] = failedItem[Out](call, err)
		}
	}
	return all, nil
}

// ofCaller reports whether an error is about who calls, and not about a record.
func ofCaller(err error) bool {
	switch apierr.Of(err).Code {
	case apierr.AuthRequired, apierr.Forbidden, apierr.AccessDenied, apierr.IPNotAuthorized:
		return true
	default:
		return errors.Is(err, org.ErrNotFound)
	}
}

func failedItem[T any](call *Call, err error) Item[T] {
	f := apierr.Of(call.seen(err))
	row := httpkit.RowOf(f.Code)
	item := Item[T]{Error: f.Message, Code: string(row.Code)}
	if f.Message == "" || f.Code == apierr.Internal {
		item.Error = row.Message
	}
	for _, d := range f.Details {
		item.Errors = append(item.Errors, ItemProblem{Field: d.Field, Rule: d.Rule, Message: d.Message})
	}
	return item
}
