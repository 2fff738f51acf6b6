package sink

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/platform/telemetry"
)

// settle brings a frozen range to its end: plan committed, blocks built without what was
// erased, dead letters acknowledged and blocks inserted, ledger written, offset committed,
// in this order. It returns an error only when the worker has to end before that; the
// range is then gone on with from its plan. It gives the range's place among the upcoming
// ones back once there is a builder for it: plans are committed while others insert.
func (a *attempt) settle(ctx context.Context, r *frozen) (err error) {
	w, s := a.worker, a.worker.sink
	defer func() {
		w.landed(err == nil)
		s.recycle(r, w.blocks)
	}()
	defer a.release()
	ctx, traced := s.startSpan(ctx, w.partition, r)
	defer traced.End()

	if err := a.prepare(ctx, r); err != nil {
		return err
	}
	if err := a.readTombstones(ctx, r); err != nil {
		return err
	}
	// Not b: one that had to wait goes on with another builder.
	if err := a.builder.build(r, w.partition, w.window, w.blocks.get); err != nil {
		return err
	}
	s.owners.add(&a.builder.touched)
	if err := a.store(ctx, r); err != nil {
		return err
	}
	s.recycleBlocks(r, w.blocks)
	a.release()
	if err := a.record(ctx, r); err != nil {
		return err
	}
	if err := a.commit(ctx, r); err != nil {
		return err
	}
	w.moveOn(r)
	s.metrics.settled(r)
	return nil
}

// prepare commits the plan of a range, and waits for a builder.
func (a *attempt) prepare(ctx context.Context, r *frozen) error {
	if err := a.verify(ctx, r); err != nil {
		return err
	}
	if err := a.plan(ctx, r); err != nil {
		return err
	}
	return a.acquire(ctx)
}

// moveOn notes how far everything is settled.
func (w *worker) moveOn(r *frozen) {
	w.window.MoveOn(time.Now())
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settled.next = r.Last + 1
	for i := len(r.records) - 1; i >= 0; i-- {
		if r.records[i].hasHash() {
			w.settled.received = r.records[i].receivedAt
			return
		}
	}
}

// currentSession is that of the latest delivery: a partition that was kept
// through a change of the group goes on under the new generation.
func (w *worker) currentSession() Session {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.session
}

// errMissed is the error of a range that lacks records which the log has.
var errMissed = errors.New("records were not delivered")

// verify looks into the log where offsets of the range have no record. There are
// none in the log either where it was compacted, or where a transaction ended; but
// if there are, they got lost on the way here, and to go on would lose them for
// good.
func (a *attempt) verify(ctx context.Context, r *frozen) error {
	w := a.worker
	for _, gap := range r.gaps() {
		holds := false
		if err := a.until(ctx, stepFetch, func(ctx context.Context) (err error) {
			holds, err = w.sink.deps.Reader.Holds(ctx, w.partition, gap)
			return err
		}); err != nil {
			return err
		}
		if holds {
			return fmt.Errorf("%w: %d-%d", errMissed, gap.First, gap.Last)
		}
	}
	return nil
}

// plan commits which range is being stored, beside the offset that stays as it
// is. From then on whoever owns the partition stores exactly this range, under
// the same tokens and with the same decisions. It is refused to a process that is
// not the owner any more, before it has written anything. A plan that was found
// is committed again: that tells whether it still may be gone on with.
func (a *attempt) plan(ctx context.Context, r *frozen) error {
	w := a.worker
	state := NewState(w.assignment.TopicID, r.epoch)
	state.Floor, state.Plan = r.floor, &[2]int64{r.First, r.Last}
	if r.planLeader >= 0 {
		state.PlanLeader = &r.planLeader
	}
	for _, offset := range r.refused {
		state.Refused = append(state.Refused, offset-r.First)
	}
	metadata, err := state.Encode()
	if err != nil {
		return err
	}
	w.mu.Lock()
	if w.planned.IsZero() {
		w.planned = time.Now()
	}
	w.mu.Unlock()
	return a.commitTo(ctx, stepPlan, Progress{Next: r.First, LeaderEpoch: r.epochBefore, Metadata: metadata})
}

// commitTo commits progress, and tells how long it took: it is all that an insert waits for
// the group and its other members.
func (a *attempt) commitTo(ctx context.Context, step string, to Progress) error {
	w, start := a.worker, time.Now()
	err := a.until(ctx, step, func(ctx context.Context) error {
		return w.sink.deps.Source.Commit(ctx, w.partition, w.currentSession(), to)
	})
	if err == nil {
		w.sink.metrics.commitSeconds.WithLabelValues(step).Observe(time.Since(start).Seconds())
	}
	return err
}

// store has the range's dead letters acknowledged and its blocks inserted, both at
// the same time: the letters wait for brokers, and a builder that waited with them
// would be missed. Neither is of any use alone. If
// one fails the other is cut off, and both are done again from the plan.
func (a *attempt) store(ctx context.Context, r *frozen) error {
	if err := a.count(r, r.letters, len(r.records)); err != nil {
		return err
	}
	if len(r.letters) == 0 {
		return a.insert(ctx, r)
	}
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return a.worker.sendLetters(ctx, r, r.letters) })
	both.Go(func() error {
		defer a.release()
		return a.insert(ctx, r)
	})
	return both.Wait()
}

// count notes the dead letters among so many records, before anything is done
// about them. It is an error that they are too many.
func (a *attempt) count(r *frozen, letters []letter, records int) error {
	w := a.worker
	if w.letters.tooMany(records, len(letters), time.Now()) {
		return &stuck{StuckDeadLetters, fmt.Errorf("more than %g of the records became dead letters for a minute", w.letters.limit)}
	}
	r.dead += len(letters)
	return nil
}

// insert stores the range's blocks, each under its own token. A panic, as over a block that
// is cut, is returned as the reason to stand still.
func (a *attempt) insert(ctx context.Context, r *frozen) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &stuck{StuckPanic, fmt.Errorf("inserting %d-%d: %v\n%s", r.First, r.Last, cause, debug.Stack())}
		}
	}()
	for i := range r.blocks {
		if err := a.insertMonth(ctx, r, &r.blocks[i]); err != nil {
			return err
		}
	}
	return nil
}

// insertMonth stores one block, in pieces where rows of it are refused.
func (a *attempt) insertMonth(ctx context.Context, r *frozen, m *monthBlock) error {
	done := map[ledger.Span]bool{}
	for failures := 0; ; {
		again := false
		for _, p := range m.pieces(r.Span) {
			if done[p.span] {
				continue
			}
			refused, err := a.insertPiece(ctx, r, m, p)
			if err != nil {
				return err
			}
			if refused == nil {
				done[p.span] = true
				continue
			}
			found, err := a.lookInto(ctx, r, m, p)
			if err != nil {
				return err
			}
			if !found {
				failures++
				a.tell(ctx, stepInsert, failures, refused)
				if err := a.pause(ctx, backoff(failures)); err != nil {
					return err
				}
			}
			again = true
			break // it may be cut otherwise now
		}
		if !again {
			return nil
		}
	}
}

// insertPiece stores a piece of a block. refused is the server's answer when time
// alone does not help.
func (a *attempt) insertPiece(ctx context.Context, r *frozen, m *monthBlock, p piece) (refused, err error) {
	w := a.worker
	b, back := a.rowsOf(m, p)
	defer back()
	t := blockToken(r.epoch, w.assignment.TopicID, w.partition.Index, p.span, m.month)
	err = a.untilSent(ctx, stepInsert, b, func(ctx context.Context) error {
		if err := a.upToDate(ctx, r); err != nil {
			return err
		}
		start := time.Now()
		traced, span := startInsert(ctx, w.partition.Topic, b)
		err := w.sink.deps.Inserter.Insert(traced, b, t)
		telemetry.End(span, err)
		if classOf(err) == ClassRefused {
			refused = fmt.Errorf("inserting %d rows: %w", b.Rows(), err)
			return nil
		}
		if err != nil {
			return fmt.Errorf("inserting %d rows: %w", b.Rows(), err)
		}
		w.sink.metrics.inserted(b.Rows(), time.Since(start))
		return nil
	})
	return refused, err
}

// lookInto finds out which rows of a piece are refused.
func (a *attempt) lookInto(ctx context.Context, r *frozen, m *monthBlock, p piece) (found bool, err error) {
	b, back := a.rowsOf(m, p)
	defer back()
	return a.setAside(ctx, r, m, b)
}

// rowsOf returns a block of a piece's rows, which is the whole block where nothing
// is refused; back gives it back.
func (a *attempt) rowsOf(m *monthBlock, p piece) (b Block, back func()) {
	if p.from == 0 && p.to == m.block.Rows() {
		return m.block, func() {}
	}
	b = a.worker.blocks.get()
	m.block.CopyTo(b, p.from, p.to)
	return b, func() { a.worker.blocks.put(b) }
}

// record writes down what became of the range.
func (a *attempt) record(ctx context.Context, r *frozen) error {
	w := a.worker
	e := r.entry(w.partition, w.assignment.TopicID)
	t := rangeToken(r.epoch, w.assignment.TopicID, w.partition.Index, r.Span)
	return a.until(ctx, stepLedger, func(ctx context.Context) error {
		return w.sink.deps.Ledger.Write(ctx, e, t)
	})
}

// commit commits the offset after the range.
func (a *attempt) commit(ctx context.Context, r *frozen) error {
	w := a.worker
	state := NewState(w.assignment.TopicID, w.epoch)
	state.Floor = r.floor
	metadata, err := state.Encode()
	if err != nil {
		return err
	}
	return a.commitTo(ctx, stepCommit, Progress{Next: r.Last + 1, LeaderEpoch: r.epochOfLast, Metadata: metadata})
}
