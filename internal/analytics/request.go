package analytics

import (
	"fmt"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// Bounds of a request. A body holds one request or an array of them.
const (
	MaxRequests   = 10        // in one body
	MaxParameters = 25        // of one request
	MaxBodyBytes  = 1 << 20   // before and after decompression
	MaxValues     = 10_000    // JSON values in one body
	MaxLabelLen   = 256       // of an id or a label, in bytes
	MaxGroups     = 3         // of groupBy
	DefaultLimit  = 100       // rows of a response
	MaxLimit      = 10_000    // rows of a response
	MaxPage       = 1_000_000 // so that the offset stays within bounds
	MaxProblems   = 50        // listed in one rejection
	maxEchoLen    = 64        // of a caller's text inside a message, in code points
)

// Request is one question, or several that share a range and filters.
type Request struct {
	// ID is echoed as queryId.
	ID         string
	Parameters []Parameter
	// StartDate and EndDate are YYYY-MM-DD, the end included, or date-times, the
	// end excluded. Preset wins over both.
	StartDate, EndDate, Preset string
	// TimeZone is an IANA name; it wins over the query string's.
	TimeZone    string
	Granularity string
	Filters     []Filter
	GroupBy     []string
	SortBy      string
	SortOrder   string
	// Compare adds to each row what it was in another range; nil does not.
	Compare *Compare
	// Limit and Page are 0 when the request does not say.
	Limit, Page int
	// Offset is how many rows are left out, where it is not Page that says it. It is
	// not part of a body.
	Offset int
}

// Parameter is one query type asked for, with a range of its own where it names
// one.
type Parameter struct {
	Name string
	// ID replaces the name as the label of the response.
	ID                 string
	StartDate, EndDate string
	Granularity        string

	options []rawOption
}

// Label is how the response names the parameter: as the caller wrote it.
func (p *Parameter) Label() string {
	if p.ID != "" {
		return p.ID
	}
	return p.Name
}

// echo shortens a caller's text for a message.
func echo(s string) string {
	if len(s) <= maxEchoLen {
		return s
	}
	return fmt.Sprintf("%.*s", maxEchoLen, s)
}

// problem makes one entry of details[].
func problem(field, rule, message, suggestion string) apierr.Detail {
	return apierr.Detail{Index: apierr.NoIndex, Field: field, Rule: rule, Message: message, Suggestion: suggestion}
}

// invalid makes the error of a rejected request. Its message is the first
// problem's, so that a caller who shows nothing else shows what to do.
func invalid(details []apierr.Detail) error {
	if len(details) == 0 {
		return nil
	}
	details = details[:min(len(details), MaxProblems)]
	message := details[0].Message
	if s := details[0].Suggestion; s != "" {
		message += ". " + s
	}
	return &apierr.Error{Code: apierr.Validation, Message: message, Details: details}
}

// tooMany says both numbers, so that a caller can split without guessing.
func tooMany(field, what string, got, most int) apierr.Detail {
	return problem(field, "too_many", fmt.Sprintf("Too many %s: %d given, at most %d are allowed", what, got, most), "")
}

// paramBytes is the memory of a value in a statement, besides its text, in bytes.
const paramBytes = 128

// PlanBytes estimates the memory, in bytes, of the plans of requests: each parameter of a request has
// the filters of the request in a statement of its own.
func PlanBytes(requests []Request) (n int64) {
	for i := range requests {
		r := &requests[i]
		n += int64(len(r.Parameters)) * (statementBytes + filterBytes(r.Filters))
	}
	return n
}

// statementBytes is the memory of a usual statement without filters, in bytes.
const statementBytes = 8 << 10

func filterBytes(filters []Filter) (n int64) {
	for i := range filters {
		_, items := filters[i].group()
		n += filterBytes(items)
		for _, v := range filters[i].Values {
			n += int64(len(v.Text)) + paramBytes
		}
	}
	return n
}
