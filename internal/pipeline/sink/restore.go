package sink

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
)

// restore takes a partition over: it reads what was committed for it, makes the
// window whole, and finds out what the next range has to be. Until it returns,
// records are delivered, but nothing is sealed; so there is nothing to wait for
// when the worker is to end meanwhile.
func (w *worker) restore(ctx context.Context) error {
	ctx, cancel := endedBy(ctx, w.ends)
	defer cancel()
	a := attempt{settler: &w.settler}
	var reached int64
	if err := a.until(ctx, stepRestore, func(ctx context.Context) (err error) {
		if w.epoch, err = w.deps.Ledger.Epoch(ctx, w.partition.Topic); err != nil {
			return err
		}
		reached, err = w.deps.Ledger.Reached(ctx, w.partition.Topic, w.assignment.TopicID, w.partition.Index, w.epoch)
		return err
	}); err != nil {
		return err
	}
	state, err := w.check(ctx, reached)
	if err != nil {
		return err
	}
	if state.Plan != nil {
		w.window.Pin() // with it the plan was made
	}
	if err := w.rebuild(ctx, state); err != nil {
		return err
	}
	w.measure()
	w.recuts = recuts{more: reached > w.settled.next}
	if state.Plan != nil {
		w.goOnWith(state)
	} else if err := w.recut(ctx); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.restored = true
	w.regulate()
	w.budget.Recheck() // what came meanwhile can be sealed from now on
	return nil
}

// check compares what was committed with what the log holds and the ledger shows,
// and returns the state. Whatever does not fit is for people to decide.
func (w *worker) check(ctx context.Context, reached int64) (ledger.State, error) {
	as := &w.assignment
	if as.Committed < 0 {
		if reached > 0 {
			return ledger.State{},
				&haltError{HaltOffset, fmt.Errorf("no offset is committed, but the ledger shows records up to offset %d",
					reached-1)}
		}
		return ledger.State{}, nil
	}
	state, known, err := ledger.DecodeState(as.Metadata)
	switch {
	case err != nil:
		return ledger.State{}, &haltError{HaltMetadata, err}
	case known && state.TopicID != ledger.UUID(as.TopicID):
		return ledger.State{}, &haltError{HaltTopic, fmt.Errorf("offset %d was committed for topic id %s, but the topic now "+
			"has id %s",
			as.Committed, state.TopicID, ledger.UUID(as.TopicID))}
	case state.Plan != nil && state.Plan[0] != as.Committed:
		return ledger.State{}, &haltError{
			HaltMetadata, fmt.Errorf("offset %d was committed with a plan that begins at %d", as.Committed, state.Plan[0]),
		}
	case as.Committed < as.LogStart:
		return ledger.State{}, w.missing(ctx, fmt.Errorf("the next offset is %d, but the log begins at %d",
			as.Committed, as.LogStart))
	}
	return state, nil
}

// missing writes into the ledger which offsets retention has taken, and returns why the
// partition is halted.
func (w *worker) missing(ctx context.Context, cause error) error {
	switch {
	case errors.Is(cause, buffer.ErrUnreadable):
		return unreadable(cause)
	case errors.Is(cause, ErrTruncated):
		return &haltError{HaltTruncated, cause}
	}
	w.mu.Lock()
	first := w.open.First()
	w.mu.Unlock()
	a, reason := attempt{settler: &w.settler}, HaltRetention
	if err := a.until(ctx, stepLedger, func(ctx context.Context) error {
		start, err := w.deps.Reader.LogStart(ctx, w.partition)
		if err != nil {
			return err
		}
		if start <= first { // what is not there is behind its end
			reason = HaltTruncated
			return nil
		}
		gap := ledger.Span{First: first, Last: start - 1}
		return w.deps.Ledger.Write(ctx, &ledger.Entry{
			Topic: w.partition.Topic, TopicID: w.assignment.TopicID, Partition: w.partition.Index, Epoch: w.epoch,
			Span: gap, Kind: ledger.EntryGap, Skipped: gap.Len(),
		}, ledger.GapInsertToken(w.epoch, w.assignment.TopicID, w.partition.Index, gap))
	}); err != nil {
		return err
	}
	return &haltError{reason, cause}
}

// firstReceipts waits for the first records that name events and returns when they were
// received; nothing where many name none. It is needed only where the offset was set by
// somebody's tool.
func (w *worker) firstReceipts(ctx context.Context) (received []int64, err error) {
	const enough = 1000
	err = w.sample(ctx, func() bool {
		received = w.open.Receipts(enough)
		return len(received) > 0 || w.triggers.Full(&w.open)
	})
	return received, err
}

// sample waits until enough was delivered for taking over to go on. mu is held while enough
// is asked.
func (w *worker) sample(ctx context.Context, enough func() bool) error {
	for {
		w.mu.Lock()
		done, ending := enough(), w.ending != running
		w.sampling = !done
		w.mu.Unlock()
		switch {
		case done:
			return nil
		case ending:
			return errAborted
		}
		select {
		case <-w.wake:
		case <-w.abort:
			return errAborted
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// goOnWith makes an open plan the next range.
func (w *worker) goOnWith(s ledger.State) {
	f := &forcedSpan{last: s.Plan[1], exact: true, plan: true, epoch: s.Epoch, leader: -1}
	if s.PlanLeader != nil {
		f.leader = *s.PlanLeader
	}
	for _, n := range s.Rejected {
		f.rejected = append(f.rejected, s.Plan[0]+n)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.planned = time.Now()
	w.force(f)
}
