package sink

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/platform/telemetry"
)

// store has the range's dead letters acknowledged and its blocks inserted, and gives back
// what both needed: the builder and the memory.
func (a *attempt) store(ctx context.Context, j *job) error {
	if err := a.count(j, j.letters, len(j.Records)); err != nil {
		return err
	}
	if err := a.insertAndSend(ctx, j); err != nil {
		return err
	}
	a.releaseBatches(j)
	a.release()
	return nil
}

// insertAndSend does both at the same time: the letters wait for brokers, and a builder that
// waited with them would be missed. Neither is of any use alone: if one fails the other is cut
// off, and both are done again from the plan.
func (a *attempt) insertAndSend(ctx context.Context, j *job) error {
	if len(j.letters) == 0 {
		return a.insert(ctx, j)
	}
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return a.sendLetters(ctx, j, j.letters) })
	both.Go(func() error {
		defer a.release()
		return a.insert(ctx, j)
	})
	return both.Wait()
}

// count notes the dead letters among so many records, before anything is done
// about them. It is an error that they are too many.
func (a *attempt) count(j *job, letters []letter, records int) error {
	if a.meter.tooMany(records, len(letters), time.Now()) {
		return &haltError{
			HaltDeadLetters, fmt.Errorf("more than %g of the records became dead letters within a minute", a.meter.limit),
		}
	}
	j.dead += len(letters)
	return nil
}

// insert stores the range's blocks, each under its own token, and gives them back: letters
// may wait for brokers long after that. A panic, as over a block that is cut, is returned as
// the reason to halt.
func (a *attempt) insert(ctx context.Context, j *job) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &haltError{HaltPanic, fmt.Errorf("inserting %d-%d: %v\n%s", j.First, j.Last, cause, debug.Stack())}
		}
	}()
	for i := range j.blocks {
		if err := a.insertMonth(ctx, j, &j.blocks[i]); err != nil {
			return err
		}
	}
	a.releaseBlocks(j)
	return nil
}

// insertMonth stores one block, in pieces where rows of it are rejected.
func (a *attempt) insertMonth(ctx context.Context, j *job, m *monthBlock) error {
	done := map[ledger.Span]bool{}
	for failures := 0; ; {
		again := false
		for _, p := range m.pieces(j.Span) {
			if done[p.span] {
				continue
			}
			rejected, err := a.insertPiece(ctx, j, m, p)
			if err != nil {
				return err
			}
			if rejected == nil {
				done[p.span] = true
				continue
			}
			found, err := a.lookInto(ctx, j, m, p)
			if err != nil {
				return err
			}
			if !found {
				failures++
				a.tell(ctx, stepInsert, failures, rejected)
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

// insertPiece stores a piece of a block. rejected is the server's response when time
// alone does not help.
func (a *attempt) insertPiece(ctx context.Context, j *job, m *monthBlock, p piece) (rejected, err error) {
	b, back := a.rowsOf(m, p)
	defer back()
	t := ledger.BlockInsertToken(j.epoch, a.topicID, a.partition.Index, p.span, m.month)
	err = a.untilSent(ctx, stepInsert, b, func(ctx context.Context) error {
		if err := a.upToDate(ctx, j); err != nil {
			return err
		}
		start := time.Now()
		traced, span := startInsert(ctx, a.partition.Topic, b)
		err := a.deps.Inserter.Insert(traced, b, t)
		telemetry.End(span, err)
		if classOf(err) == ClassRejected {
			rejected = fmt.Errorf("inserting %d rows: %w", b.Rows(), err)
			return nil
		}
		if err != nil {
			return fmt.Errorf("inserting %d rows: %w", b.Rows(), err)
		}
		a.metrics.inserted(b.Rows(), time.Since(start))
		return nil
	})
	return rejected, err
}

// lookInto finds out which rows of a piece are rejected.
func (a *attempt) lookInto(ctx context.Context, j *job, m *monthBlock, p piece) (found bool, err error) {
	b, back := a.rowsOf(m, p)
	defer back()
	return a.setAside(ctx, j, m, b)
}

// rowsOf returns a block of a piece's rows, which is the whole block where nothing
// is rejected; back gives it back.
func (a *attempt) rowsOf(m *monthBlock, p piece) (b Block, back func()) {
	if p.from == 0 && p.to == m.block.Rows() {
		return m.block, func() {}
	}
	b = a.blocks.Get()
	m.block.CopyTo(b, p.from, p.to)
	return b, func() { a.blocks.Put(b) }
}
