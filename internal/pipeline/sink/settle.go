package sink

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
	"github.com/millrace/millrace/internal/pipeline/sink/dedup"
)

// settler stores the ranges of one partition, a job at a time. What is read and what comes
// next is its worker's.
type settler struct {
	*common

	partition Partition
	topicID   [16]byte
	window    *dedup.Window
	blocks    *buffer.Pool[Block]
	meter     letterMeter
	abort     <-chan struct{} // closed when nothing new may begin

	session func() Session // of the latest delivery
	onPlan  func()         // is called before a plan is committed
}

// steps are the way of a range. Each begins when the one before has ended well.
var steps = []func(*attempt, context.Context, *job) error{
	(*attempt).verify,         // nothing of it was lost on the way here
	(*attempt).plan,           // which offsets are about to be stored is committed
	(*attempt).begin,          // it is one of the few that are built and inserted
	(*attempt).readTombstones, // what was erased is known
	(*attempt).build,          // blocks are made of the records, and dead letters found
	(*attempt).store,          // blocks are inserted, dead letters acknowledged
	(*attempt).record,         // what became of it stands in the ledger
	(*attempt).commit,         // the offset behind it is committed
}

// settle takes a range through all steps. It returns an error only when the worker has to
// end before that; the range is then gone on with from its plan.
func (a *attempt) settle(ctx context.Context, j *job) error {
	defer a.release()
	ctx, traced := a.startSpan(ctx, j)
	defer traced.End()
	for _, step := range steps {
		if err := step(a, ctx, j); err != nil {
			return err
		}
	}
	a.metrics.settled(j)
	return nil
}

// begin waits for a builder, and gives the range's place among the upcoming ones back: plans
// are committed while others insert.
func (a *attempt) begin(ctx context.Context, _ *job) error { return a.acquire(ctx) }

// build decides what of the range is stored. The builder is the one of this moment: who had
// to wait goes on with another one.
func (a *attempt) build(_ context.Context, j *job) error {
	if err := a.builder.build(j, a.partition, a.window, a.blocks.Get); err != nil {
		return err
	}
	a.owners.add(&a.builder.touched)
	return nil
}

// errMissed is the error of a range that lacks records which the log has.
var errMissed = errors.New("records were not delivered")

// verify looks into the log where offsets of the range have no record. There are
// none in the log either where it was compacted, or where a transaction ended; but
// if there are, they got lost on the way here, and to go on would lose them for
// good.
func (a *attempt) verify(ctx context.Context, j *job) error {
	for _, gap := range j.Gaps() {
		holds := false
		if err := a.until(ctx, stepFetch, func(ctx context.Context) (err error) {
			holds, err = a.deps.Reader.Holds(ctx, a.partition, gap)
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
// the same tokens and with the same decisions. It is denied to a process that is
// not the owner any more, before it has written anything. A plan that was found
// is committed again: that tells whether it still may be gone on with.
func (a *attempt) plan(ctx context.Context, j *job) error {
	state := ledger.NewState(a.topicID, j.epoch)
	state.Plan = &[2]int64{j.First, j.Last}
	j.window.describe(&state)
	if j.leader >= 0 {
		state.PlanLeader = &j.leader
	}
	for _, offset := range j.rejected {
		state.Rejected = append(state.Rejected, offset-j.First)
	}
	metadata, err := state.Encode()
	if err != nil {
		return err
	}
	a.onPlan()
	return a.commitTo(ctx, stepPlan, Progress{Next: j.First, LeaderEpoch: j.EpochBefore, Metadata: metadata})
}

// commitTo commits progress, and tells how long that took or was tried: it is all that an
// insert waits for the group and its other members.
func (a *attempt) commitTo(ctx context.Context, step string, to Progress) error {
	start := time.Now()
	err := a.until(ctx, step, func(ctx context.Context) error {
		return a.deps.Source.Commit(ctx, a.partition, a.session(), to)
	})
	a.metrics.commitSeconds.WithLabelValues(step).Observe(time.Since(start).Seconds())
	return err
}

// record writes down what became of the range.
func (a *attempt) record(ctx context.Context, j *job) error {
	e := j.entry(a.partition, a.topicID)
	t := ledger.RangeInsertToken(j.epoch, a.topicID, a.partition.Index, j.Span)
	return a.until(ctx, stepLedger, func(ctx context.Context) error {
		return a.deps.Ledger.Write(ctx, e, t)
	})
}

// commit commits the offset after the range.
func (a *attempt) commit(ctx context.Context, j *job) error {
	state := ledger.NewState(a.topicID, j.epochAfter)
	j.window.describe(&state)
	metadata, err := state.Encode()
	if err != nil {
		return err
	}
	return a.commitTo(ctx, stepCommit, Progress{Next: j.Last + 1, LeaderEpoch: j.EpochOfLast, Metadata: metadata})
}

// release gives a range's memory back. Whoever waits for memory looks again, also where nothing
// counts any more: the partition has nothing on its way to be stored now.
func (s *settler) release(j *job) {
	s.releaseBlocks(j)
	s.releaseBatches(j)
	j.Release(s.memory)
}

// releaseBatches lets go of the batches of a range, and of what it counts.
func (s *settler) releaseBatches(j *job) { s.budget.Release(j.DropBatches()) }

// releaseBlocks gives the blocks back. The range goes on counting what it did: its batches
// are needed for its dead letters.
func (s *settler) releaseBlocks(j *job) {
	for _, m := range j.blocks {
		s.blocks.Put(m.block)
	}
	j.blocks = nil
}

func (s *settler) isAborted() bool {
	select {
	case <-s.abort:
		return true
	default:
		return false
	}
}
