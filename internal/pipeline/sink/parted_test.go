package sink

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/pipeline/ledger"
)

// fencedOnce lets commits through but one, the nth, after which the partition is taken over
// again; meanwhile is done before that.
func fencedOnce(nth int, meanwhile func()) func() error {
	n := 0
	return func() error {
		if n++; n != nth {
			return nil
		}
		meanwhile()
		return ErrFenced
	}
}

// ledBy sets the leader epochs of records, from an offset on.
func (w *world) ledBy(from int, epochs ...int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, epoch := range epochs {
		w.log[part][from+i].LeaderEpoch = epoch
	}
}

// A plan is carried out with the records that it was made of. After an unclean election others
// stand at their offsets, and whoever takes the plan over stops before it stores any of them.
func TestAPlanIsCarriedOutWithTheRecordsThatItWasMadeOf(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name       string
		leader     *int32  // that the plan of 0-3 names
		epochs     []int32 // of the records that are there
		holes      map[int64]bool
		haltReason bool
	}{
		{"the same leader", new(int32(4)), []int32{4, 4, 4, 4, 4, 4}, nil, false},
		{"several leaders", new(int32(6)), []int32{4, 4, 6, 6, 6, 6}, nil, false},
		{"a later leader behind it", new(int32(4)), []int32{4, 4, 4, 4, 7, 7}, nil, false},
		{"a later leader of its last record", new(int32(4)), []int32{4, 4, 4, 7, 7, 7}, nil, true},
		{"a later leader of all of it", new(int32(4)), []int32{7, 7, 7, 7, 7, 7}, nil, true},
		{"an earlier leader of its last record", new(int32(4)), []int32{3, 3, 3, 3, 7, 7}, nil, true},
		{"its last record is compacted away", new(int32(4)), []int32{3, 3, 3, 4, 7, 7}, map[int64]bool{3: true}, false},
		{"its last record is gone, in another log", new(int32(4)), []int32{3, 3, 7, 7, 7, 7}, map[int64]bool{3: true}, true},
		{"the log ends within it", new(int32(4)), []int32{4, 4, 4}, nil, false},
		{"the log ends within it, in another log", new(int32(4)), []int32{4, 4, 7}, nil, true},
		{"a plan that names none", nil, []int32{7, 7, 7, 7, 7, 7}, nil, false},
		{"records that name none", new(int32(4)), []int32{-1, -1, -1, -1, -1, -1}, nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(part)
				w.produceMany(part, len(tc.epochs))
				w.ledBy(0, tc.epochs...)
				w.holes, w.epochs[part] = tc.holes, -1
				state := ledger.NewState([16]byte{}, 1)
				state.Plan, state.PlanLeader = &[2]int64{0, 3}, tc.leader
				w.commitState(part, 0, state)
				run(t, w, time.Minute)
				want, rows := map[int32]HaltReason{}, len(tc.epochs)-len(tc.holes)
				if tc.haltReason {
					want[0] = HaltTruncated
				}
				if tc.haltReason || len(tc.epochs) < 4 { // half of a plan is not stored
					rows = 0
				}
				if diff := cmp.Diff(want, w.atEnd); diff != "" || len(w.rows) != rows {
					t.Errorf("%d rows, want %d; stuck (-want +got):\n%s", len(w.rows), rows, diff)
				}
			})
		})
	}
}

// The sink that planned a range stored it and was cut off before it could commit; the log is
// another one when the next owner comes.
func TestAPlanThatWasMadeOfALostLogIsNotGoneOnWith(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(part)
			w.produceMany(part, 4)
			w.ledBy(0, 2, 2, 2, 2)
			w.commitFails = fencedOnce(2, func() {
				if lost {
					w.ledBy(2, 5, 5)
				}
			})
			run(t, w, time.Minute)
			want, commits := map[int32]HaltReason{}, 3 // the plan, again, and what follows it
			if lost {
				want[0], commits = HaltTruncated, 1
			}
			if diff := cmp.Diff(want, w.atEnd); diff != "" || len(w.commits) != commits || len(w.rows) != 4 {
				t.Errorf("lost %v: %d commits, %d rows, halted (-want +got):\n%s", lost, len(w.commits), len(w.rows), diff)
			}
		})
	}
}

// A plan that is committed again names the leader that it was made under, also where its last
// record is gone by then.
func TestAPlanKeepsItsLeaderWhenItIsCommittedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(part)
		w.produceMany(part, 6)
		w.ledBy(0, 4, 4, 4, 4, 4, 4)
		w.holes, w.epochs[part] = map[int64]bool{3: true}, -1
		state := ledger.NewState([16]byte{}, 1)
		state.Plan, state.PlanLeader = &[2]int64{0, 3}, new(int32(4))
		w.commitState(part, 0, state)
		var again ledger.State
		w.commitFails = fencedOnce(2, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			again, _, _ = ledger.DecodeState(w.metadata[part])
		})
		run(t, w, time.Minute)
		if again.PlanLeader == nil || *again.PlanLeader != 4 {
			t.Errorf("the plan was committed again as %+v", again)
		}
	})
}
