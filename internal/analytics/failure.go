package analytics

import (
	"context"
	"errors"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// What a Runner's errors wrap, where more is known than that it failed.
var (
	// ErrTimeout says that a statement took longer than it may.
	ErrTimeout = errors.New("the statement exceeded its time limit")
	// ErrTooLarge says that it needs more memory, reads more rows or answers with more
	// than it may.
	ErrTooLarge = errors.New("the statement exceeded its resource limits")
	// ErrUnavailable says that the database cannot be asked now.
	ErrUnavailable = errors.New("the database is unavailable")
)

// Failure is why a parameter has no response, as callers see it.
type Failure struct {
	// Code is a stable word.
	Code string
	// Text is for people, and says nothing about anything but the caller's own doing.
	Text string
	// Meaning is a sentence for the reference.
	Meaning string

	err error // what it is made of; nil for everything else
}

const failedText = "Query execution failed"

// Failures lists them; the last one is for what is no other.
var Failures = []Failure{
	{
		Code:    string(apierr.AuthRequired),
		Text:    "Authentication required",
		err:     ErrNoCredential,
		Meaning: "The request has no credential, and the query type, or a field that it filters or groups by, is not public.",
	},
	{
		Code:    string(apierr.Forbidden),
		Text:    "Insufficient permissions",
		err:     ErrNotCovered,
		Meaning: "The credential does not cover the query type, or a field that the request filters or groups by.",
	},
	{
		Code:    "QUERY_TIMEOUT",
		Text:    failedText,
		err:     ErrTimeout,
		Meaning: "The query exceeded its time limit; use a shorter range or fewer parameters.",
	},
	{
		Code: "QUERY_TOO_LARGE",
		Text: failedText,
		err:  ErrTooLarge,
		Meaning: "The query exceeded its limit of memory, rows read or response size, alone or with the other queries of " +
			"the request; use a shorter range or a lower limit.",
	},
	{
		Code:    "QUERY_UNAVAILABLE",
		Text:    failedText,
		err:     ErrUnavailable,
		Meaning: "The database is unavailable, or the host has no memory for the result; try again later.",
	},
	{Code: "QUERY_FAILED", Text: failedText, Meaning: "Other failure; the log has details under the request id."},
}

// Why a parameter is rejected before anything is asked; see Environment.Reject.
var (
	ErrNoCredential = errors.New("the query type is not public")
	ErrNotCovered   = errors.New("the query type is not covered by the credential")
)

// PersonalFieldError is why a parameter is rejected only for a field that its request filters or groups
// by. Its text is for the caller.
type PersonalFieldError struct {
	Name string // as the caller wrote it
	Err  error  // ErrNoCredential or ErrNotCovered
}

func (e *PersonalFieldError) Error() string {
	return failureOf(e.Err).Text + " to filter or group by " + echo(e.Name)
}

func (e *PersonalFieldError) Unwrap() error { return e.Err }

// failureOf returns the row of an error, with a text of its own for a PersonalFieldError.
func failureOf(err error) *Failure {
	if personal, ok := errors.AsType[*PersonalFieldError](err); ok {
		row := *failureOf(personal.Err)
		row.Text = personal.Error()
		return &row
	}
	last := len(Failures) - 1
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrUnavailable) {
		err = ErrTimeout
	}
	for i := range Failures[:last] {
		if errors.Is(err, Failures[i].err) {
			return &Failures[i]
		}
	}
	return &Failures[last]
}
