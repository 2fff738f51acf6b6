package sink

import (
	"context"
	"errors"

	"github.com/millrace/millrace/internal/pipeline/ledger"
)

// recuts are ranges that the ledger shows behind the committed offset: somebody
// has set it back. Cut as they were, they have the tokens that they had, and the
// server knows which of them it has stored.
type recuts struct {
	spans []ledger.Span
	more  bool // the ledger may show further ones
}

// recutsAtOnce is how many are read from the ledger at a time.
const recutsAtOnce = 1000

// from returns the range by which the record at next is stored, or where there is none, the
// first one after it. One that begins there comes before one that it is within, and of those
// the longest: so to begin at a range's first offset always comes past its end.
func (c *recuts) from(next int64) (found ledger.Span, ok bool) {
	for len(c.spans) > 0 && c.spans[0].Last < next {
		c.spans = c.spans[1:]
	}
	for _, s := range c.spans {
		if ok && s.First > next {
			break
		}
		if s.Last >= next && (!ok || s.First == next && (found.First < next || found.Last < s.Last)) {
			found, ok = s, true
		}
	}
	return found, ok
}

// recut finds out what the next range has to be, as far as the ledger has a say.
func (w *worker) recut(ctx context.Context) error {
	c := &w.recuts
	w.mu.Lock()
	next := w.open.First()
	w.mu.Unlock()
	s, ok := c.from(next)
	if !ok && c.more {
		a := attempt{settler: &w.settler}
		if err := a.until(ctx, stepRestore, func(ctx context.Context) (err error) {
			c.spans, err = w.deps.Ledger.Ranges(ctx, w.assignment.TopicID, w.partition.Index, w.epoch, next, recutsAtOnce)
			return err
		}); err != nil {
			return err
		}
		c.more = len(c.spans) == recutsAtOnce
		s, ok = c.from(next)
	}
	if !ok {
		return nil
	}
	if s.First < next {
		if err := w.goBack(ctx, s.First); err != nil {
			return err
		}
	}
	f := &forcedSpan{last: s.Last, exact: true, epoch: w.epoch, leader: -1}
	if s.First > next {
		f.last, f.exact = s.First-1, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.force(f)
	return nil
}

// errWithin is the error of a partition whose offset was set back into a range, and is set
// back to its beginning.
var errWithin = errors.New("the offset was reset into the middle of a range")

// goBack commits the first offset of a range that the ledger shows and the next record is
// within: only whole it has the token that it had. Its error says to take the partition over
// there. There is none where the log does not hold the offset any more: what is left of the
// range is stored anew then.
func (w *worker) goBack(ctx context.Context, first int64) error {
	known := false // under which session the records are read, which the commit names
	if err := w.sample(ctx, func() bool {
		known = w.session != Session{}
		return known || w.lost != nil
	}); err != nil || !known {
		return err
	}
	state := ledger.NewState(w.assignment.TopicID, w.epoch)
	extentsOf(w.window).describe(&state)
	metadata, err := state.Encode()
	if err != nil {
		return err
	}
	a, held := attempt{settler: &w.settler}, false
	if err := a.until(ctx, stepRestore, func(ctx context.Context) error {
		start, err := w.deps.Reader.LogStart(ctx, w.partition)
		if held = start <= first; err != nil || !held {
			return err
		}
		return w.deps.Source.Commit(ctx, w.partition, w.currentSession(),
			Progress{Next: first, LeaderEpoch: -1, Metadata: metadata})
	}); err != nil || !held {
		return err
	}
	return errWithin
}
