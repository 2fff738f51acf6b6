package sink

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
)

// storedAhead has a sink with few keys store what two edges write, one of them six hours ahead,
// and then all of it again. With takenOver the range of what comes again is planned by one
// sink, which can store nothing, and stored by another. It returns its entry, and the ceilings
// that it was planned with.
func storedAhead(t *testing.T, takenOver bool) (e ledger.Entry, ceilings [][2]int64) {
	t.Helper()
	w, cfg, again := newWorld(part), testConfig(), []buffer.Record(nil)
	cfg.WindowKeys, cfg.MaxRows = 200, 10_000
	var away atomic.Bool
	w.insertFails = func(string) error {
		if away.Load() {
			return errors.New("the server is away")
		}
		return nil
	}
	s := newSink(t, cfg, w)
	stop := start(t, s)
	for minute := range 40 {
		time.Sleep(time.Minute) //nolint:forbidigo // fake time
		now := time.Now().UnixMilli()
		var records []buffer.Record
		for n := range 10 {
			at := now
			if n >= 2 {
				at += 6 * time.Hour.Milliseconds()
			}
			records = append(records, anEvent(fmt.Sprint(minute, "-", n), now, at))
		}
		w.produce(part, records...)
		again = append(again, records...)
	}
	time.Sleep(time.Minute) //nolint:forbidigo // fake time
	w.seen()
	before := w.committed[part]
	away.Store(takenOver)
	w.produce(part, again...)
	time.Sleep(time.Minute) //nolint:forbidigo // fake time
	if takenOver {
		w.seen()
		state, _, err := ledger.DecodeState(w.metadata[part])
		if err != nil || state.Plan == nil || w.committed[part] != before {
			t.Fatalf("state %+v, %v, want an open plan", state, err)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		ceilings = state.Ceilings
		away.Store(false)
		s = newSink(t, cfg, w)
		stop = start(t, s)
		time.Sleep(time.Minute) //nolint:forbidigo // fake time
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	return w.ledger[part][len(w.ledger[part])-1], ceilings
}

// What is ahead is forgotten where there is too much of it, and whoever takes a plan over has
// forgotten the same.
func TestAPlanIsDecidedAliveAndTakenOverUnderTheSameCeilings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		alive, _ := storedAhead(t, false)
		again, ceilings := storedAhead(t, true)
		type counts struct{ stored, duplicates int64 }
		want, got := counts{alive.Stored, alive.Duplicates}, counts{again.Stored, again.Duplicates}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(counts{})); diff != "" {
			t.Errorf("stored by the one who planned it, and by another (-want +got):\n%s", diff)
		}
		if got.duplicates < 80 || got.stored == 0 || len(ceilings) == 0 {
			t.Errorf("%+v under %v: want all that is not ahead as duplicates, and a ceiling", got, ceilings)
		}
	})
}
