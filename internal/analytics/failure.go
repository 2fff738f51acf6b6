package analytics

import (
	"context"
	"errors"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// What a Runner's errors wrap, where more is known than that it failed.
var (
	// ErrTimeout says that a statement took longer than it may.
	ErrTimeout = errors.New("the statement takes too long")
	// ErrTooLarge says that it needs more memory, reads more rows or answers with more
	// than it may.
	ErrTooLarge = errors.New("the statement takes too much")
	// ErrUnavailable says that the database cannot be asked now.
	ErrUnavailable = errors.New("the database cannot be asked")
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
		Meaning: "The query type is not public, and no credential was sent.",
	},
	{
		Code:    string(apierr.Forbidden),
		Text:    "Insufficient permissions",
		err:     ErrNotCovered,
		Meaning: "The credential does not cover the query type.",
	},
	{
		Code:    "QUERY_TIMEOUT",
		Text:    failedText,
		err:     ErrTimeout,
		Meaning: "The query did not end in time; a shorter range or fewer parameters may.",
	},
	{
		Code: "QUERY_TOO_LARGE",
		Text: failedText,
		err:  ErrTooLarge,
		Meaning: "The query needs more memory, reads more rows or answers with more than it may, alone or with the others " +
			"of its request; a shorter range or a lower limit helps.",
	},
	{
		Code:    "QUERY_UNAVAILABLE",
		Text:    failedText,
		err:     ErrUnavailable,
		Meaning: "The database cannot be asked now; try again later.",
	},
	{Code: "QUERY_FAILED", Text: failedText, Meaning: "Anything else; the log knows more under the request id."},
}

// Why a parameter is rejected before anything is asked; see Environment.Reject.
var (
	ErrNoCredential = errors.New("the query type is not public")
	ErrNotCovered   = errors.New("the query type is not covered by the credential")
)

// failureOf returns the row of an error.
func failureOf(err error) *Failure {
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
