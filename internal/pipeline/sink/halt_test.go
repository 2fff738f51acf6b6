package sink

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// halted is a sink with a partition that was halted behind five events.
func halted(t *testing.T) (s *Sink, stop func() error) {
	t.Helper()
	w := newWorld(part)
	w.produceMany(part, 10)
	w.panics = "0-9"
	cfg := testConfig()
	cfg.MaxRows = 5 // the second range fails, behind one that is remembered
	s = newSink(t, cfg, w)
	stop = start(t, s)
	time.Sleep(10 * time.Second) //nolint:forbidigo // fake time
	if diff := cmp.Diff(map[int32]HaltReason{0: HaltPanic}, s.haltedNow()); diff != "" {
		t.Fatalf("halted (-want +got):\n%s", diff)
	}
	return s, stop
}

// A halted partition has nothing to finish: neither a rebalance nor a stop waits for it.
func TestAHaltedPartitionEndsAtOnce(t *testing.T) {
	t.Parallel()
	for _, revoked := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s, stop := halted(t)
			begin := time.Now()
			if revoked {
				s.Revoked(t.Context(), []Partition{part})
			}
			if err := stop(); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begin); took != 0 {
				t.Errorf("revoked %v: it took %s", revoked, took)
			}
		})
	}
}

// It may be halted for days, and is taken over anew afterwards: its window's memory is for
// those of others meanwhile, and metrics say so.
func TestAHaltedPartitionRemembersNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, stop := halted(t)
		stats := &s.owned()[0].stats
		if n := s.windows.Bytes() + s.WindowRoom() + stats.keys.Load() + stats.bytes.Load(); n != 0 {
			t.Errorf("windows take %d bytes of %d; %d keys in %d bytes are shown",
				s.windows.Bytes(), s.WindowRoom(), stats.keys.Load(), stats.bytes.Load())
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// Where memory is short nobody waits for a halted partition, and nothing is fetched for the plan
// that it was halted with.
func TestAHaltedPartitionIsNeitherBusyNorStarved(t *testing.T) {
	t.Parallel()
	w := newWorker(newSink(t, testConfig(), newWorld(part)).common, Assignment{Partition: part, Committed: -1})
	w.restored = true
	w.force(&forcedSpan{last: 9, exact: true})
	if !w.starved() {
		t.Fatal("a plan that has no records needs none")
	}
	w.flush, w.planned = true, time.Now()
	w.end(draining)
	w.halt(t.Context(), HaltTruncated)
	if w.busy() || w.starved() || w.idle() > 0 {
		t.Errorf("busy %v, starved %v, %d bytes idle", w.busy(), w.starved(), w.idle())
	}
	if !w.planned.IsZero() {
		t.Error("the age of its plan grows, although no range of it is in flight")
	}
}
