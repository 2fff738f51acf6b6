package sink

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
)

const (
	takenFrom   = 10  // the committed offset of each partition that is taken over
	plannedSpan = 200 // records of each open plan
)

// takenOver is as behind, with partitions that have a window to read, of which each takes a
// second, and open plans or none.
func takenOver(t *testing.T, planned bool) (*world, *Sink) {
	t.Helper()
	w, s := behind(t)
	state := ledger.NewState([16]byte{}, 1)
	state.LowWatermark = 1
	if planned {
		state.Plan = &[2]int64{takenFrom, takenFrom + plannedSpan - 1}
	}
	for p := range w.log {
		w.commitState(p, takenFrom, state)
	}
	w.observes = func() { time.Sleep(time.Second) } //nolint:forbidigo // fake time
	return w, s
}

// Memory runs out while windows are still read, and none of the plans that are found then is
// whole: what has come cannot be stored, and more of one plan after the other is fetched
// nevertheless.
func TestPlansAreGoneOnWithWhereMemoryRanOutBeforeWindowsWereRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, s := takenOver(t, true)
		r := anEvent("0-000", noon, noon)
		const delivery = 8 * 10
		stop, most := start(t, s), int64(0)
		for range 12_000 {
			time.Sleep(10 * time.Millisecond) //nolint:forbidigo // fake time
			most = max(most, s.budget.InUse())
		}
		w.seen()
		if want := 8 * (1000 - takenFrom); len(w.rows) != want {
			t.Errorf("%d rows, want %d", len(w.rows), want)
		}
		if limit := s.budget.Limit() + (plannedSpan+delivery)*recordBytes(&r); most > limit {
			t.Errorf("%d records in hand, want no more than %d", most/recordBytes(&r), limit/recordBytes(&r))
		}
		want := ledger.Span{First: takenFrom, Last: takenFrom + plannedSpan - 1}
		for p := range w.log {
			if spans := w.spans(p); len(spans) == 0 || spans[0] != want {
				t.Errorf("partition %d stored %v first, want its plan", p.Index, spans)
			}
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// What came meanwhile is sealed as soon as a window is read, and waits for no trigger.
func TestMemoryThatRanOutBeforeWindowsWereReadIsFreedAfterwards(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, s := takenOver(t, false)
		stop := start(t, s)
		time.Sleep(900 * time.Millisecond) //nolint:forbidigo // fake time
		if calls := w.seen(); len(calls) > 0 {
			t.Errorf("%q before any window was read", calls)
		}
		time.Sleep(s.cfg.MaxWait / 2) //nolint:forbidigo // fake time
		if calls := w.seen(); len(calls) < 3 {
			t.Errorf("%q after a window was read", calls)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// A partition whose offset somebody's tool has set needs its first record to be taken over, and
// is fetched for that also where memory is short; any other one is not before it is whole.
func TestAPartitionThatIsTakenOverIsFetchedForItsFirstRecordOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(part)
		w.produceMany(part, 20)
		w.committed[part] = 20
		w.observes = func() { time.Sleep(1500 * time.Millisecond) } //nolint:forbidigo // fake time
		s, end := sinkOver(t, testConfig(), w)
		for _, want := range []bool{false, true, false} { // it waits for one, has it, is whole
			time.Sleep(500 * time.Millisecond) //nolint:forbidigo // fake time
			if got := s.owned()[0].Level().Restoring; got != want {
				t.Errorf("needs no more: %v, want %v", got, want)
			}
			if !want {
				w.produceMany(part, 1)
			}
			time.Sleep(500 * time.Millisecond) //nolint:forbidigo // fake time
		}
		end()
	})
}

// A range that was to be sealed for memory's sake, and turns out to be one that the ledger
// shows, is not about to be stored until it is whole; who waits for memory is told.
func TestARangeThatHasToBeWholeIsNotSealedForMemory(t *testing.T) {
	t.Parallel()
	w := newWorker(newSink(t, testConfig(), newWorld(part)).common, Assignment{Partition: part, Committed: -1})
	w.deliver(*batchOf([]buffer.Record{anEvent("a", noon, noon)}))
	if w.hurry(); w.busy() || w.idle() > 0 {
		t.Errorf("busy %v, %d bytes idle before it is taken over", w.busy(), w.idle())
	}
	w.restored = true
	if w.hurry(); !w.busy() || w.starved() || w.idle() > 0 {
		t.Fatalf("busy %v, starved %v, %d bytes idle after it was hurried", w.busy(), w.starved(), w.idle())
	}
	w.recuts = recuts{spans: []ledger.Span{{First: 0, Last: 5}}}
	w.budget.Take(w.budget.Limit())
	asked := 0
	if _, err := w.budget.Room(t.Context(), func() bool {
		if asked++; asked == 1 {
			if err := w.recut(t.Context()); err != nil {
				t.Error(err)
			}
		}
		w.hurry() // also where it comes too late
		return asked == 2
	}); err != nil {
		t.Fatal(err)
	}
	if w.busy() || !w.starved() || w.idle() > 0 {
		t.Errorf("busy %v, starved %v, %d bytes idle of a span that is not whole", w.busy(), w.starved(), w.idle())
	}
}
