package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/millrace/millrace/internal/pipeline/deadletter"
	"github.com/millrace/millrace/internal/pipeline/ledger"
)

// isolate finds the rows of a block that the server rejects. Each half is tried on
// a clone of the table that keeps nothing, so that nothing is written meanwhile:
// 2·log2(rows) tries for one row. It returns the offsets of the rows, in order;
// none when the clone takes the block, because then it is not the rows that are
// rejected but, say, a view that fails.
func (a *attempt) isolate(ctx context.Context, b Block) ([]int64, error) {
	blocks := a.blocks
	part := blocks.Get()
	defer blocks.Put(part)
	var rejected []int64
	var search func(from, to int) error
	search = func(from, to int) error {
		bad, err := a.probe(ctx, b, part, from, to)
		switch {
		case err != nil || !bad:
			return err
		case to-from == 1:
			rejected = append(rejected, b.Offset(from))
			if len(rejected) > ledger.MaxRejected {
				return &haltError{
					HaltDeadLetters, fmt.Errorf("ClickHouse rejects more than %d rows of one range", ledger.MaxRejected),
				}
			}
			return nil
		}
		half := from + (to-from)/2
		if err := search(from, half); err != nil {
			return err
		}
		return search(half, to)
	}
	if err := search(0, b.Rows()); err != nil {
		return nil, err
	}
	return rejected, nil
}

// probe tries rows of a block on the clone, and reports whether it rejects any.
func (a *attempt) probe(ctx context.Context, b, part Block, from, to int) (bad bool, err error) {
	if from > 0 || to < b.Rows() {
		part.Reset()
		b.CopyTo(part, from, to)
		b = part
	}
	err = a.untilSent(ctx, stepProbe, b, func(ctx context.Context) error {
		err := a.deps.Inserter.Probe(ctx, b)
		if bad = classOf(err) == ClassRejected; bad {
			return nil
		}
		return err
	})
	return bad, err
}

// setAside handles a block that the server rejected: the rows that it rejects
// become part of the plan, then dead letters, and what is left of the block is
// inserted around them. It reports whether there were any such rows.
func (a *attempt) setAside(ctx context.Context, j *job, m *monthBlock, b Block) (bool, error) {
	if !a.probing.TryLock() { // one at a time: it is many small inserts
		return false, nil
	}
	defer a.probing.Unlock()
	found, err := a.isolate(ctx, b)
	if err != nil || len(found) == 0 {
		return false, err
	}
	a.deps.Log.LogAttrs(ctx, slog.LevelWarn, "isolated rows that ClickHouse rejects",
		slog.String("topic", a.partition.Topic), slog.Int("partition", int(a.partition.Index)), slog.Int("rows", len(found)),
		slog.Int("block_rows", b.Rows()))
	m.rejected = append(m.rejected, found...)
	slices.Sort(m.rejected)
	j.rejected = append(j.rejected, found...)
	slices.Sort(j.rejected)
	j.stored -= len(found)
	if err := a.plan(ctx, j); err != nil {
		if errors.Is(err, ledger.ErrStateTooLong) {
			return false,
				&haltError{HaltDeadLetters, fmt.Errorf("ClickHouse rejects %d rows of one range: %w", len(j.rejected), err)}
		}
		return false, err
	}
	letters := make([]letter, len(found))
	for i, offset := range found {
		letters[i] = letter{offset, deadletter.ReasonRejected, errRejected}
	}
	if err := a.count(j, letters, 0); err != nil {
		return false, err
	}
	a.release()
	if err := a.sendLetters(ctx, j, letters); err != nil {
		return false, err
	}
	return true, a.acquire(ctx)
}

// piece is what lies between two rejected offsets of a block: rows [from, to), and
// the offsets that they stand for, which name its insert. It depends on nothing
// but the range and what is rejected of it.
type piece struct {
	from, to int
	span     ledger.Span
}

// pieces cuts a block around its rejected offsets; one without any is one piece.
func (m *monthBlock) pieces(r ledger.Span) []piece {
	var all []piece
	from, first := 0, r.First
	for _, bad := range append(slices.Clone(m.rejected), r.Last+1) {
		to := from
		for to < m.block.Rows() && m.block.Offset(to) < bad {
			to++
		}
		if to > from {
			all = append(all, piece{from, to, ledger.Span{First: first, Last: bad - 1}})
		}
		if to < m.block.Rows() && m.block.Offset(to) == bad {
			to++
		}
		from, first = to, bad+1
	}
	return all
}
