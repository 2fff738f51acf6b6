package repair

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ledger"
)

// ReplayOptions say what is stored again.
type ReplayOptions struct {
	Pipeline Pipeline
	// Partitions are those concerned; none means all.
	Partitions []int32
	// Offset is the first record to store, and so is From, in Unix milliseconds of
	// receipt, which is used where Offset is negative.
	Offset, From int64
	// Skip allows to go forward, past records that were never stored.
	Skip bool
	// DryRun changes nothing.
	DryRun bool
}

// ReplayDeps are the parts that Replay needs; all are required.
type ReplayDeps struct {
	Groups Groups
	Log    Log
	Store  Store
}

// Move is what happens to a partition.
type Move struct {
	Partition int32
	// Committed is where the partition stands; -1 where nothing is committed.
	Committed int64
	// To is where it goes on.
	To int64
	// Again is how many offsets are read again that were stored before, Skipped how
	// many are left out that were not.
	Again, Skipped int64
	// Days are those that the records touch which were stored before, and so may be
	// counted twice by the rollups.
	Days []ledger.Touched
}

// extent is what is known of a partition before it is moved.
type extent struct {
	Bounds

	committed int64 // -1 for none
	next      int64 // the first offset that nobody has committed
	stored    int64 // the offset after the last one of which rows may be in the table
}

// standing returns where the sinks go on by themselves; -1 where they would not.
func (at *extent) standing() int64 {
	if at.committed < 0 && at.stored == 0 {
		return at.Start
	}
	return at.committed
}

// ErrNothing says that a replay would change nothing.
var ErrNothing = errors.New("every partition is already at this offset: nothing to replay")

// Replay sets committed offsets back, so that the sinks store records again when
// they start. It returns what it did, or would do.
//
// What is stored again is inserted under new tokens, so that the base ends up as
// it was, by its key, and the rollups count it twice. So the order is: the days
// concerned are listed as dirty, the epoch is raised, and only then the offsets
// are set, without a plan. Whoever stops it in between has listed some days too
// many; the same command again completes it.
//
// Days come from the values of the records, from the new offset to the last one of
// which anything may be stored: what is committed, an open plan, or what the
// ledger shows, whichever is the furthest.
//
// Forward is allowed only with Skip: what lies between was never stored, and an
// entry of the ledger says that it is lost.
func Replay(ctx context.Context, d ReplayDeps, o ReplayOptions) ([]Move, error) {
	if err := stopped(ctx, d.Groups, []Pipeline{o.Pipeline}); err != nil {
		return nil, err
	}
	id, extents, err := d.extents(ctx, o)
	if err != nil {
		return nil, err
	}
	targets, err := d.targets(ctx, o, extents)
	if err != nil {
		return nil, err
	}
	var moves []Move
	for _, p := range slices.Sorted(maps.Keys(targets)) {
		at := extents[p]
		m, err := d.move(ctx, o, p, &at, targets[p])
		if err != nil {
			return nil, err
		}
		if m.To != at.standing() {
			moves = append(moves, m)
		}
	}
	if len(moves) == 0 {
		return nil, ErrNothing
	}
	if o.DryRun {
		return moves, nil
	}
	return moves, d.apply(ctx, o, id, extents, moves)
}

// extents looks at the partitions.
func (d *ReplayDeps) extents(ctx context.Context, o ReplayOptions) (id [16]byte, extents map[int32]extent, err error) {
	id, bounds, err := d.Log.Describe(ctx, o.Pipeline.Topic)
	if err != nil {
		return id, nil, err
	}
	committed, err := d.Groups.Committed(ctx, o.Pipeline.Group, o.Pipeline.Topic)
	if err != nil {
		return id, nil, err
	}
	wanted := o.Partitions
	if len(wanted) == 0 {
		wanted = slices.Sorted(maps.Keys(bounds))
	}
	extents = map[int32]extent{}
	for _, p := range wanted {
		b, ok := bounds[p]
		if !ok {
			return id, nil, fmt.Errorf("topic %s has no partition %d, only 0 to %d", o.Pipeline.Topic, p, len(bounds)-1)
		}
		stored, err := d.Store.StoredTo(ctx, id, p)
		if err != nil {
			return id, nil, err
		}
		at := extent{Bounds: b, committed: -1, next: stored, stored: stored}
		if stored == 0 {
			at.next = b.Start
		}
		if c, ok := committed[p]; ok {
			at.read(c, id)
		}
		at.stored = min(at.stored, b.End)
		extents[p] = at
	}
	return id, extents, nil
}

// read takes what is committed into account.
func (at *extent) read(c Committed, id [16]byte) {
	at.committed = c.Offset
	state, known, err := ledger.DecodeState(c.Metadata)
	switch {
	case err != nil: // it may hide a plan of any length
		at.next, at.stored = c.Offset, at.End
	case known && state.TopicID != ledger.UUID(id):
		// Committed for a topic that is no more: it says nothing about this one.
	default:
		at.next, at.stored = c.Offset, max(at.stored, c.Offset)
		if state.Plan != nil {
			at.stored = max(at.stored, state.Plan[1]+1)
		}
	}
}

// targets returns where each partition is to go on.
func (d *ReplayDeps) targets(ctx context.Context, o ReplayOptions, extents map[int32]extent) (map[int32]int64, error) {
	targets := map[int32]int64{}
	if o.Offset < 0 {
		after, err := d.Log.After(ctx, o.Pipeline.Topic, o.From)
		if err != nil {
			return nil, err
		}
		for p := range extents {
			targets[p] = after[p]
			if at := extents[p]; !o.Skip && after[p] > at.next && at.next >= at.Start {
				delete(targets, p) // everything of that time is still to come
			}
		}
		return targets, nil
	}
	for p := range extents {
		targets[p] = o.Offset
	}
	return targets, nil
}

// move works out what happens to a partition, or why it may not.
func (d *ReplayDeps) move(ctx context.Context, o ReplayOptions, p int32, at *extent, to int64) (Move, error) {
	m := Move{Partition: p, Committed: at.committed, To: to}
	where := fmt.Sprintf("partition %d of %s", p, o.Pipeline.Topic)
	switch {
	case to < at.Start:
		return m, fmt.Errorf("%s now begins at offset %d: retention removed %d", where, at.Start, to)
	case to > at.End:
		return m, fmt.Errorf("%s ends at offset %d, before %d", where, at.End, to)
	case to > at.next && !o.Skip:
		return m, fmt.Errorf(
			"%s is at offset %d: continuing at %d would lose %d offsets that were never stored; use --skip to lose them",
			where, at.next, to, to-at.next)
	case to == at.standing():
		return m, nil
	}
	m.Skipped = max(0, to-at.next)
	m.Again = max(0, at.stored-to)
	from := max(min(to, at.next), at.Start)
	if from >= at.stored {
		return m, nil
	}
	days := map[ledger.Touched]struct{}{}
	if err := collect(ctx, d.Log, o.Pipeline.Topic, p, from, at.stored, days); err != nil {
		return m, err
	}
	m.Days = slices.SortedFunc(maps.Keys(days), compareTouched)
	return m, nil
}

// collect adds the days that the records [from, to) of a partition touch.
func collect(
	ctx context.Context, log Log, topic string, p int32, from, to int64, days map[ledger.Touched]struct{},
) error {
	var decoder record.Decoder
	var event record.Event
	err := log.Values(ctx, topic, p, from, to, func(value []byte) error {
		if decoder.DecodeEvent(value, &event) == nil {
			days[ledger.Touched{Owner: string(event.Owner), Day: record.Day(event.TimeMillis)}] = struct{}{}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading the days of partition %d of %s: %w", p, topic, err)
	}
	return nil
}

// apply does it, in the order that keeps a stop in between harmless.
func (d *ReplayDeps) apply(
	ctx context.Context, o ReplayOptions, id [16]byte, extents map[int32]extent, moves []Move,
) error {
	if err := d.list(ctx, moves); err != nil {
		return fmt.Errorf("listing the days as dirty, before any offset was changed: %w", err)
	}
	epoch, err := d.epoch(ctx, o, moves)
	if err != nil {
		return fmt.Errorf("raising the epoch, before any offset was changed: %w", err)
	}
	to, marks := map[int32]Committed{}, []ledger.Mark(nil)
	metadata, err := ledger.NewState(id, epoch).Encode()
	if err != nil {
		return err
	}
	for i := range moves {
		m := &moves[i]
		if m.Skipped > 0 {
			gap := ledger.Span{First: extents[m.Partition].next, Last: m.To - 1}
			if err := d.Store.Write(ctx, &ledger.Entry{
				Topic: o.Pipeline.Topic, TopicID: id, Partition: m.Partition, Epoch: epoch, Span: gap, Kind: ledger.EntryGap,
				Skipped: gap.Len(),
			}, ledger.GapInsertToken(epoch, id, m.Partition, gap)); err != nil {
				return fmt.Errorf("writing the gap to the ledger, before any offset was changed: %w", err)
			}
		} else {
			marks = append(marks, ledger.Mark{
				Partition: ledger.Partition{Topic: o.Pipeline.Topic, TopicID: id, Index: m.Partition},
				Cursor:    ledger.Cursor{Epoch: epoch, Next: m.To},
			})
		}
		to[m.Partition] = Committed{m.To, metadata}
	}
	if err := d.Groups.Commit(ctx, o.Pipeline.Group, o.Pipeline.Topic, to); err != nil {
		return fmt.Errorf("setting the offsets (run the same command again): %w", err)
	}
	if err := d.Store.SetMarks(ctx, marks); err != nil {
		return fmt.Errorf("informing the reconciler, after the offsets were set: %w", err)
	}
	return nil
}

// epoch raises the epoch if anything is stored again.
func (d *ReplayDeps) epoch(ctx context.Context, o ReplayOptions, moves []Move) (int64, error) {
	if !slices.ContainsFunc(moves, func(m Move) bool { return m.Again > 0 }) {
		return d.Store.Epoch(ctx, o.Pipeline.Topic)
	}
	return d.Store.RaiseEpoch(ctx, o.Pipeline.Topic, "millrace replay")
}

// list puts the days of all moves on the list.
func (d *ReplayDeps) list(ctx context.Context, moves []Move) error {
	var listed []ledger.Listed
	for _, t := range Days(moves) {
		listed = append(listed, ledger.Listed{Touched: t, Reason: ledger.ReasonReplay})
	}
	if len(listed) == 0 {
		return nil
	}
	return d.Store.List(ctx, listed)
}

func compareTouched(a, b ledger.Touched) int {
	return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Day, b.Day))
}

// Days returns the days of all moves, each once.
func Days(moves []Move) []ledger.Touched {
	var all []ledger.Touched
	for i := range moves {
		all = append(all, moves[i].Days...)
	}
	slices.SortFunc(all, compareTouched)
	return slices.Compact(all)
}
