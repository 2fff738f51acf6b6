package event

import (
	"fmt"
	"strings"
)

// Rule is a short stable word for the rule that a body breaks.
type Rule string

// The rules. Those of the second group say that the body is no JSON as this
// service reads it; decoding ends at the first of them, but for DecodeEach where it is
// JSON nevertheless.
const (
	RuleRequired     Rule = "required"      // a required field is absent or null
	RuleWrongType    Rule = "wrong_type"    // a value of another JSON type
	RuleTooShort     Rule = "too_short"     // a string that may not be empty
	RuleTooLong      Rule = "too_long"      // a string of too many code points
	RuleInvalidValue Rule = "invalid_value" // a string that is none of the allowed ones
	RuleOutOfRange   Rule = "out_of_range"  // a number beyond one of its bounds
	RuleInvalidTime  Rule = "invalid_time"  // a timestamp in no known form
	RuleTooEarly     Rule = "too_early"     // a timestamp before MinTimeMillis
	RuleTooLarge     Rule = "too_large"     // properties over one of their limits
	RuleEmpty        Rule = "empty"         // a batch of no events

	RuleMalformed    Rule = "malformed"
	RuleDuplicateKey Rule = "duplicate_key"
	RuleInvalidUTF8  Rule = "invalid_utf8"
	RuleNumberRange  Rule = "number_range"
	RuleTooDeep      Rule = "too_deep"

	// ruleNoRoom ends decoding where Decoder.Room does. No Problem has it in the end.
	ruleNoRoom Rule = "no_room"
)

// Problem is one way in which a body breaks the rules.
type Problem struct {
	// Index is the position of the event in the batch, 0 for a single event;
	// NoIndex when the body as a whole is meant.
	Index int
	// Field is the event's field; empty when the event as a whole is meant.
	Field string
	Rule  Rule
	// Message is a sentence for the caller, with limit and unit. It repeats
	// nothing of the body.
	Message string
}

// NoIndex is the Index of a Problem that does not belong to one event.
const NoIndex = -1

// Bounds of what is told; what lies beyond them is not.
const (
	// MaxProblems is how many problems of a rejected body are told.
	MaxProblems = 100
	// MaxRejected is how many events of a body DecodeEach rejects one by one: their
	// responses are longer than they are.
	MaxRejected = 10_000
	// MaxEachProblems is how many problems of such events are told.
	MaxEachProblems = MaxRejected
)

// Invalid says why a body is rejected. Nothing of such a body is accepted.
type Invalid struct { //nolint:errname // reads as event.Invalid
	// Problems are in the order found, at least one and at most MaxProblems.
	Problems []Problem
	// TooLarge is true when the body is sound JSON and properties exceed a limit,
	// whatever else is wrong: the response is 413 instead of 400.
	TooLarge bool
}

// Error lists the first problems.
func (e *Invalid) Error() string {
	var b strings.Builder
	b.WriteString("invalid event body")
	for i, p := range e.Problems {
		if i == 3 {
			b.WriteString("; …")
			break
		}
		fmt.Fprintf(&b, "; event %d %s: %s", p.Index, p.Field, p.Message)
	}
	return b.String()
}

// errorMessage says what is wrong with a body that is no JSON.
func errorMessage(rule Rule, at int) string {
	what := map[Rule]string{
		RuleMalformed:    "not valid JSON",
		RuleDuplicateKey: "a key occurs twice in one object",
		RuleInvalidUTF8:  "not valid UTF-8",
		RuleNumberRange:  "a number that no 64-bit float can hold",
		RuleTooDeep:      fmt.Sprintf("more than %d levels of nested objects and arrays", MaxDepth),
	}[rule]
	return fmt.Sprintf("%s, at byte %d of the body", what, at)
}
