package flageval

import (
	"context"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// MaxCost bounds the evaluations of one request. One unit is one instruction of a pattern applied
// to one byte of a text: 2 to 16 ns, so the limit is at most 160 ms of a processor. A bulk of 2,000
// flags costs less than half of it, even if each has 10 rules of 3 conditions and a pattern of its
// own with 60 instructions.
const MaxCost = 10_000_000

// checkEvery is the cost, at most 1.6 ms, between two checks of the request's context.
const checkEvery = 100_000

// Bytes of a text that cost one unit.
const (
	parsedBytes   = 4 // read once, such as a version or an id that is hashed
	searchedBytes = 1 // searched for an operand
)

// ErrCost is the error of evaluations that cost more than MaxCost, a Validation error.
var ErrCost = apierr.Invalid("", "too_costly", "The evaluation exceeds the cost limit of 10,000,000 units; evaluate "+
	"fewer flags or contexts, send shorter attributes, or simplify the conditions of the flags")

// Begin starts a request: all evaluations until the next Begin may cost MaxCost together, and end
// with ctx. A zero Evaluator has begun a request without a context.
func (e *Evaluator) Begin(ctx context.Context) {
	e.request, e.spent, e.due, e.err = ctx, 0, checkEvery, nil
}

// spend adds a cost before the work is done. It reports whether to do the work.
func (e *Evaluator) spend(cost int) bool {
	e.spent += cost
	return e.spent < e.due || e.check()
}

// check reports whether the request may cost more, and sets the Evaluator's error if not.
func (e *Evaluator) check() bool {
	switch {
	case e.err != nil:
	case e.spent > MaxCost:
		e.err = ErrCost
	case e.request != nil && e.request.Err() != nil:
		e.err = apierr.Wrap(apierr.DeadlineExceeded, e.request.Err())
	default:
		e.due = min(e.spent+checkEvery, MaxCost+1)
		return true
	}
	e.due = 0
	return false
}
