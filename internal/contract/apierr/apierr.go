// Package apierr holds the one error type whose text a caller may see.
//
// A domain package makes a *Error where the meaning of a failure is known; the
// HTTP surface renders it. Every other error is an internal one: its text goes
// to the log and the caller reads "Internal server error". The package promises
// nothing about statuses and bodies, which stand in package httpkit, next to
// the table of codes.
package apierr

import (
	"errors"
	"strings"
	"time"
)

// Error is a failure that may be told to a caller. Code selects the status and
// the standard message; the other fields are optional.
type Error struct {
	// Code is one of the constants of this package.
	Code Code
	// Message replaces the code's standard message. It is shown to callers:
	// never put another error's text into it.
	Message string
	// Details lists the single problems of a rejected body, in the order found.
	Details []Detail
	// RetryAfter, when positive, is sent as the Retry-After header.
	RetryAfter time.Duration
	// Rate says which limit a RateLimited error is about; nil for none.
	Rate *Rate
	// Err is the cause. It is logged and never shown.
	Err error
}

// Detail is one problem of a rejected body.
type Detail struct {
	// Index is the position in the batch of the event concerned; NoIndex where
	// the body is no batch.
	Index int
	// Field is the path of the field as the caller wrote it, such as
	// "properties" or "parameters[0]"; empty when the whole body is meant.
	Field string
	// Rule is a short stable word for the rule broken, such as "too_long".
	Rule string
	// Message says the rule in a sentence, with its limit and unit.
	Message string
	// Suggestion is what the caller may have meant; empty when unknown.
	Suggestion string
}

// Rate is a limit that is used up.
type Rate struct {
	Limit     int       // requests per window, or under way at the same time
	Remaining int       // how many of them are left
	Reset     time.Time // when the next one will be admitted
}

// NoIndex is the Index of a Detail that does not belong to one event of a batch.
const NoIndex = -1

// New returns an error with the standard message of its code.
func New(code Code) *Error { return &Error{Code: code} }

// Wrap returns an error with the standard message of its code and a cause that
// only the log sees.
func Wrap(code Code, cause error) *Error { return &Error{Code: code, Err: cause} }

// Invalid returns a Validation error about one field of a request that is no
// batch; the message says the rule in a sentence.
func Invalid(field, rule, message string) *Error {
	return &Error{Code: Validation, Message: message, Details: []Detail{
		{Index: NoIndex, Field: field, Rule: rule, Message: message},
	}}
}

// Error renders the error for logs: the code, what the caller reads, the cause.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(string(e.Code))
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	for i, d := range e.Details {
		if i == 3 {
			b.WriteString("; …")
			break
		}
		b.WriteString("; " + d.Field + ": " + d.Message)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Of returns the *Error inside err, or an Internal one that wraps err. Of(nil)
// is nil.
func Of(err error) *Error {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*Error](err); ok {
		return f
	}
	return Wrap(Internal, err)
}

// Is reports whether err carries the given code.
func Is(err error, code Code) bool {
	f, ok := errors.AsType[*Error](err)
	return ok && f.Code == code
}
