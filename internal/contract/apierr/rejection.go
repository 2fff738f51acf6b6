package apierr

import "fmt"

// MaxDetails is how many problems one rejection lists.
const MaxDetails = 50

// Rejection gathers the problems of an input, so that a caller reads all of them at
// once. The zero value is empty and ready for use.
type Rejection struct{ details []Detail }

// Add notes a problem: the field as the caller wrote it, the rule in a short
// stable word, and the rule in a sentence.
func (r *Rejection) Add(field, rule, format string, args ...any) {
	r.Append(Detail{Index: NoIndex, Field: field, Rule: rule, Message: fmt.Sprintf(format, args...)})
}

// Append notes problems that somebody else found.
func (r *Rejection) Append(details ...Detail) {
	r.details = append(r.details, details[:min(len(details), MaxDetails-len(r.details))]...)
}

// Full reports whether no more problems are noted, so that nobody need look for any.
func (r *Rejection) Full() bool { return len(r.details) >= MaxDetails }

// Merge notes the problems that err tells, a Validation error; nil tells none.
func (r *Rejection) Merge(err error) {
	if err != nil {
		r.Append(Of(err).Details...)
	}
}

// Err returns a Validation error with the problems, or nil when there are none.
// Its message is the first problem's, so that a caller who shows nothing else
// shows what to do.
func (r *Rejection) Err() error {
	if len(r.details) == 0 {
		return nil
	}
	message := r.details[0].Message
	if s := r.details[0].Suggestion; s != "" {
		message += ". " + s
	}
	return &Error{Code: Validation, Message: message, Details: r.details}
}
