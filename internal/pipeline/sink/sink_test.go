package sink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/pipeline/deadletter"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
	"github.com/millrace/millrace/internal/platform/config"
)

var (
	part = Partition{Topic: "events.v1", Index: 0}
	noon = time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC).UnixMilli()
)

// start runs a sink inside a bubble of fake time; the returned function stops it
// and returns what Run returned.
func start(t *testing.T, s *Sink) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	return func() error {
		cancel()
		return <-done
	}
}

// sinkOver is a sink over w that runs until end, which fails the test on the error of its run.
func sinkOver(t *testing.T, cfg config.Sink, w *world) (s *Sink, end func()) {
	t.Helper()
	s = newSink(t, cfg, w)
	stop := start(t, s)
	return s, func() {
		t.Helper()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnOffsetIsCommittedOnlyAfterTheInsert(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(part)
		w.produce(part, anEvent("a", noon, noon), anEvent("b", noon, noon))
		stop := start(t, newSink(t, testConfig(), w))
		time.Sleep(2 * time.Second) //nolint:forbidigo // fake time
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"plan 0", "insert 2", "commit 2", "close"}, w.calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

func TestTriggers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		rows, wait,
		produce int
		after time.Duration
		want  []string
	}{
		{"time not reached", 100, 1000, 99, 900 * time.Millisecond, nil},
		{"time reached", 100, 1000, 99, 1100 * time.Millisecond, []string{"plan 0", "insert 99", "commit 99"}},
		{"rows reached", 100, 1000, 100, 100 * time.Millisecond, []string{"plan 0", "insert 100", "commit 100"}},
		{"one row more waits", 100, 1000, 101, 100 * time.Millisecond, []string{"plan 0", "insert 100", "commit 100"}},
		{"rows three times", 100, 60_000, 300, 100 * time.Millisecond, []string{
			"plan 0", "insert 100", "commit 100", "plan 100", "insert 100", "commit 200", "plan 200", "insert 100", "commit 300",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg := testConfig()
				cfg.MaxRows, cfg.MaxWait = tc.rows, time.Duration(tc.wait)*time.Millisecond
				w := newWorld(part)
				for n := range tc.produce {
					w.produce(part, anEvent(string(rune('a'+n)), noon, noon))
				}
				stop := start(t, newSink(t, cfg, w))
				time.Sleep(tc.after) //nolint:forbidigo // fake time
				synctest.Wait()
				w.mu.Lock()
				got := slices.Clone(w.calls)
				w.mu.Unlock()
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
				if err := stop(); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

func TestTheByteTriggerIsReached(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		r := anEvent("a", noon, noon)
		cfg.MaxBytes, cfg.MaxWait = int(3*recordBytes(&r)), time.Minute
		w := newWorld(part)
		w.produce(part, anEvent("a", noon, noon), anEvent("b", noon, noon), anEvent("c", noon, noon),
			anEvent("d", noon, noon))
		stop := start(t, newSink(t, cfg, w))
		time.Sleep(time.Second) //nolint:forbidigo // fake time
		w.mu.Lock()
		got := slices.Clone(w.calls)
		w.mu.Unlock()
		if diff := cmp.Diff([]string{"plan 0", "insert 3", "commit 3"}, got); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAFailedInsertIsSentAgainAsItWas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(part)
		w.produce(part, anEvent("a", noon, noon))
		var insertTokens []string
		var at []time.Duration
		begin := time.Now()
		w.insertFails = func(insertToken string) error {
			insertTokens, at = append(insertTokens, insertToken), append(at, time.Since(begin))
			w.produce(part, anEvent("later"+insertToken, noon, noon)) // must not join the sealed range
			if len(insertTokens) < 12 {
				return &InsertError{Class: ClassBusy, Err: errors.New("too many parts")}
			}
			return nil
		}
		stop := start(t, newSink(t, testConfig(), w))
		time.Sleep(3 * time.Minute) //nolint:forbidigo // fake time
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if want := "1:00000000-0000-0000-0000-000000000000:0:0-0:202603"; strings.Count(
			strings.Join(insertTokens[:12], " "), want) != 12 {
			t.Errorf("tokens %q, want 12 times %s", insertTokens[:12], want)
		}
		for n := 1; n < 12; n++ {
			limit := min(30*time.Second, 100*time.Millisecond<<(n-1))
			if got := at[n] - at[n-1]; got < limit/2 || got > limit {
				t.Errorf("attempt %d came %s after the one before, want %s to %s", n+1, got, limit/2, limit)
			}
		}
		if !slices.Equal(w.calls[:3], []string{"plan 0", "insert 1", "commit 1"}) || len(w.letters) != 0 {
			t.Errorf("calls %q, %d dead letters", w.calls[:3], len(w.letters))
		}
	})
}

func TestWhatCannotBeDecodedIsADeadLetterBeforeTheCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(part)
		noHeaders, noJSON := anEvent("a", noon, noon), anEvent("b", noon, noon)
		noHeaders.BadHeaders, noJSON.Value = true, []byte("{")
		w.produce(part, noHeaders, noJSON, anEvent("c", minTime-1, noon), anEvent("d", maxTime, noon),
			anEvent("e", minTime, noon), anEvent("f", maxTime-1, noon), anEvent("b", noon, noon))
		stop := start(t, newSink(t, testConfig(), w))
		time.Sleep(2 * time.Second) //nolint:forbidigo // fake time
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		slices.Sort(w.calls[1:4]) // they are under way at the same time
		// A dead letter is an observation: the second b is a duplicate. Its own replay is
		// none.
		if diff := cmp.Diff([]string{"plan 0", "dead 4", "insert 1", "insert 1", "commit 7", "close"}, w.calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		var got []deadletter.Reason
		for _, l := range w.letters {
			got = append(got, l.Reason)
		}
		if diff := cmp.Diff(
			[]deadletter.Reason{deadletter.ReasonHeaders, deadletter.ReasonValue, deadletter.ReasonTime, deadletter.ReasonTime},
			got); diff != "" {
			t.Errorf("reasons (-want +got):\n%s", diff)
		}
	})
}

func TestAFencedPartitionIsReadAgainFromItsCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(part)
		fences := 0
		w.commitFails = func() error {
			if fences++; fences == 2 { // the plan is taken, the offset is not
				time.Sleep(time.Second) //nolint:forbidigo // fake time
				return ErrFenced
			}
			return nil
		}
		w.produce(part, anEvent("a", noon, noon), anEvent("b", noon, noon))
		s := newSink(t, testConfig(), w)
		stop := start(t, s)
		time.Sleep(5 * time.Second) //nolint:forbidigo // fake time
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"plan 0", "insert 2", "plan 0", "insert 2", "commit 2", "close"}, w.calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		if len(w.rows) != 2 || s.budget.InUse() != 0 {
			t.Errorf("%d rows, want 2; %d bytes still in hand", len(w.rows), s.budget.InUse())
		}
		if n, took := commitWaits(t, s); n != 4 || took < 1 {
			t.Errorf("%d waits of %v s together, want 4 with the second that ended in a fence", n, took)
		}
	})
}

// commitWaits is what metrics tell of how long a sink's plans and offsets waited for the group.
func commitWaits(t *testing.T, s *Sink) (n uint64, seconds float64) {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(s.metrics.commitSeconds)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			n += m.GetHistogram().GetSampleCount()
			seconds += m.GetHistogram().GetSampleSum()
		}
	}
	return n, seconds
}

func TestAStopStoresWhatIsInHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.MaxWait = time.Minute
		w := newWorld(part)
		w.produce(part, anEvent("a", noon, noon))
		stop := start(t, newSink(t, cfg, w))
		time.Sleep(time.Second) //nolint:forbidigo // fake time
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"plan 0", "insert 1", "commit 1", "close"}, w.calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

func TestAStopEndsWithItsBudgetWhenNothingCanBeStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(part)
		w.insertFails = func(string) error { return errors.New("away") }
		w.produce(part, anEvent("a", noon, noon))
		s := newSink(t, testConfig(), w)
		stop := start(t, s)
		time.Sleep(10 * time.Second) //nolint:forbidigo // fake time
		begin := time.Now()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took > s.cfg.DrainBudget {
			t.Errorf("stopping took %s, want at most %s", took, s.cfg.DrainBudget)
		}
		if w.committed[part] != 0 || s.budget.InUse() != 0 {
			t.Errorf("committed %d, %d bytes in hand", w.committed[part], s.budget.InUse())
		}
	})
}

// While nothing can be stored, what is in hand stays within the budget plus one
// delivery, nothing becomes a dead letter, and partitions stay owned.
func TestMemoryIsBoundedWhileNothingCanBeStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		r := anEvent("x000", noon, noon)
		cfg.MaxMemory, cfg.MaxWait = int(50*recordBytes(&r)), time.Second
		other := Partition{Topic: "events.v1", Index: 1}
		w := newWorld(part, other)
		var away atomic.Bool
		away.Store(true)
		w.insertFails = func(string) error {
			if away.Load() {
				return &InsertError{Class: ClassNetwork, Err: errors.New("away")}
			}
			return nil
		}
		w.pollSize = 5
		for n := range 1000 {
			id := "x" + string(rune('0'+n/100)) + string(rune('0'+n/10%10)) + string(rune('0'+n%10))
			w.produce(part, anEvent(id, noon, noon))
			w.produce(other, anEvent(id+"y", noon, noon))
		}
		s := newSink(t, cfg, w)
		stop := start(t, s)
		for range 600 {
			time.Sleep(time.Second) //nolint:forbidigo // fake time
			if used := s.budget.InUse(); used > s.budget.Limit()+10*recordBytes(&r) {
				t.Fatalf("%d bytes in hand, limit %d", used, s.budget.Limit())
			}
		}
		if len(s.owned()) != 2 || len(w.letters) != 0 || len(w.rows) != 0 {
			t.Fatalf("%d partitions owned, %d dead letters, %d rows", len(s.owned()), len(w.letters), len(w.rows))
		}
		away.Store(false)
		time.Sleep(10 * time.Minute) //nolint:forbidigo // fake time
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if len(w.rows) != 2000 || s.budget.InUse() != 0 {
			t.Errorf("%d rows afterwards, want 2000; %d bytes in hand", len(w.rows), s.budget.InUse())
		}
	})
}

// A partition whose next range is complete is paused; the other one is not held
// up by it.
func TestAPartitionThatIsFarBehindWaitsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		other := Partition{Topic: "events.v1", Index: 1}
		w := newWorld(part, other)
		w.insertFails = func(insertToken string) error {
			if strings.Contains(insertToken, ":0:") {
				return errors.New("away")
			}
			return nil
		}
		for n := range 1000 {
			w.produce(part, anEvent(string(rune(n)), noon, noon))
		}
		w.pollSize = 50
		stop := start(t, newSink(t, testConfig(), w))
		time.Sleep(5 * time.Second) //nolint:forbidigo // fake time
		w.mu.Lock()
		if !w.paused[part] || w.position[part] > 300 {
			t.Errorf("paused %v at %d", w.paused[part], w.position[part])
		}
		w.mu.Unlock()
		w.produce(other, anEvent("quick", noon, noon))
		time.Sleep(1200 * time.Millisecond) //nolint:forbidigo // fake time
		w.mu.Lock()
		if len(w.rows) != 1 {
			t.Errorf("%d rows of the other partition, want 1", len(w.rows))
		}
		w.mu.Unlock()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestARevokedPartitionFinishesTheInsertUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(part)
		w.insertFails = func(string) error {
			time.Sleep(5 * time.Second) //nolint:forbidigo // fake time
			return nil
		}
		w.produce(part, anEvent("a", noon, noon))
		s := newSink(t, testConfig(), w)
		stop := start(t, s)
		time.Sleep(2 * time.Second) //nolint:forbidigo // fake time
		w.produce(part, anEvent("b", noon, noon))
		time.Sleep(time.Second) //nolint:forbidigo // fake time
		s.Revoked(t.Context(), []Partition{part})
		if diff := cmp.Diff([]string{"plan 0", "insert 1", "commit 1"}, w.calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		if s.budget.InUse() != 0 {
			t.Errorf("%d bytes of a revoked partition in hand", s.budget.InUse())
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestALostPartitionIsNotCommitted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(part)
		w.insertFails = func(string) error { return errors.New("away") }
		w.produce(part, anEvent("a", noon, noon))
		s := newSink(t, testConfig(), w)
		stop := start(t, s)
		time.Sleep(2 * time.Second) //nolint:forbidigo // fake time
		begin := time.Now()
		s.Lost(t.Context(), []Partition{part})
		if took := time.Since(begin); took != 0 || !slices.Equal(w.calls, []string{"plan 0"}) || s.budget.InUse() != 0 {
			t.Errorf("took %s, calls %q, %d bytes in hand", took, w.calls, s.budget.InUse())
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestNewRejectsAnInsertTimeoutThatARebalanceCannotWaitFor(t *testing.T) {
	t.Parallel()
	for timeout, ok := range map[time.Duration]bool{29 * time.Second: true, 30 * time.Second: false} {
		cfg := testConfig()
		cfg.InsertTimeout, cfg.Rebalance = timeout, time.Minute
		if err := validate(cfg); (err == nil) != ok {
			t.Errorf("insert timeout %s: %v", timeout, err)
		}
	}
}

// Rows of a range are stored while its dead letters are on their way, and one that
// cannot be sent has the range neither written down nor committed.
func TestDeadLettersHoldUpNoInsertButTheCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(part)
		bad := anEvent("a", noon, noon)
		bad.Value = []byte("{")
		w.produce(part, bad, anEvent("b", noon, noon))
		sent := make(chan struct{})
		w.lettersWait = sent
		s := newSink(t, testConfig(), w)
		stop := start(t, s)
		time.Sleep(2 * time.Second) //nolint:forbidigo // fake time
		synctest.Wait()
		w.mu.Lock()
		if len(w.rows) != 1 || len(w.letters) != 0 || len(w.ledger[part]) != 0 || w.committed[part] != 0 {
			t.Errorf("while the letter waits: %d rows, %d letters, %d entries, committed %d",
				len(w.rows), len(w.letters), len(w.ledger[part]), w.committed[part])
		}
		w.mu.Unlock()
		close(sent)
		synctest.Wait()
		w.mu.Lock()
		if len(w.letters) != 1 || len(w.ledger[part]) != 1 || w.committed[part] != 2 {
			t.Errorf("after it: %d letters, %d entries, committed %d", len(w.letters), len(w.ledger[part]), w.committed[part])
		}
		w.mu.Unlock()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// The blocks of a range are of no use once they are inserted, however long its letters wait:
// the next range is built in their memory.
func TestBlocksAreGivenBackWhileDeadLettersWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(part, second)
		w.lettersWait = make(chan struct{})
		bad := anEvent("a", noon, noon)
		bad.Value = []byte("{")
		w.produce(part, bad, anEvent("b", noon, noon))
		s := newSink(t, testConfig(), w)
		stop := start(t, s)
		time.Sleep(2 * time.Second) //nolint:forbidigo // fake time
		w.produce(second, anEvent("c", noon, noon))
		time.Sleep(2 * time.Second) //nolint:forbidigo // fake time
		w.seen()
		if n := w.blocks.Load(); len(w.rows) != 2 || len(w.letters) != 0 || n != 1 || s.budget.InUse() == 0 {
			t.Errorf("%d rows in %d blocks, %d letters, %d bytes in hand; want 2 in one, and a letter in hand",
				len(w.rows), n, len(w.letters), s.budget.InUse())
		}
		close(w.lettersWait)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if len(w.letters) != 1 || s.budget.InUse() != 0 {
			t.Errorf("%d letters, %d bytes in hand afterwards", len(w.letters), s.budget.InUse())
		}
	})
}

// A dead letter is in hand like what is stored: that retention was faster than its topic of
// dead letters loses nothing.
func TestADeadLetterNeedsNoSecondReading(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(part)
		bad := func(id string) buffer.Record { r := anEvent(id, noon, noon); r.Value = []byte("{" + id); return r }
		w.produce(part, bad("a"), anEvent("b", noon, noon), bad("c"), anEvent("d", noon, noon))
		w.rejects = func(id string) bool { return id == "d" }
		waits := true
		w.insertFails = func(string) error {
			if waits {
				return errors.New("away")
			}
			return nil
		}
		stop := start(t, newSink(t, testConfig(), w))
		synctest.Wait()
		w.mu.Lock()
		w.logStart[part], waits = 4, false
		w.mu.Unlock()
		time.Sleep(time.Minute) //nolint:forbidigo // fake time
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		got := map[int64]string{}
		for _, l := range w.letters {
			got[l.Original.Offset] = string(l.Original.Key) + " " + string(l.Original.Value[:2]) + " " + string(l.Reason)
		}
		want := map[int64]string{0: "web_1 {a value", 2: "web_1 {c value", 3: `web_1 {" refused`}
		if diff := cmp.Diff(want, got); diff != "" || len(w.rows) != 1 || w.committed[part] != 4 {
			t.Errorf("%d rows, committed %d, letters (-want +got):\n%s", len(w.rows), w.committed[part], diff)
		}
	})
}

// A record that this build fails at stops its partition, for every owner, and nothing else.
func TestAPanicWhileABlockIsBuiltStopsThatPartitionAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		other := Partition{Topic: "events.v1", Index: 1}
		w := newWorld(part, other)
		w.panics = "b"
		w.produce(part, anEvent("a", noon, noon), anEvent("b", noon, noon), anEvent("c", noon, noon))
		w.produce(other, anEvent("d", noon, noon))
		for range 2 { // the second owner finds the plan
			run(t, w, 5*time.Second)
			if diff := cmp.Diff(map[int32]HaltReason{0: HaltPanic}, w.atEnd); diff != "" {
				t.Errorf("halted (-want +got):\n%s", diff)
			}
			if w.committed[part] != 0 || w.committed[other] != 1 || len(w.rows) != 1 {
				t.Errorf("committed %d and %d, %d rows", w.committed[part], w.committed[other], len(w.rows))
			}
		}
		w.panics = ""
		run(t, w, 5*time.Second)
		if diff := cmp.Diff([]ledger.Span{{First: 0, Last: 2}}, w.spans(part)); diff != "" || len(w.rows) != 4 {
			t.Errorf("after the fix %d rows, spans (-want +got):\n%s", len(w.rows), diff)
		}
	})
}

// The same goes for a block that was built and cannot be encoded, or cut around a row that
// is rejected: it is not tried again, and no other partition is held up.
func TestAPanicWhileABlockIsInsertedStopsItsPartitionAlone(t *testing.T) {
	t.Parallel()
	encoding := func(insertToken string) error {
		if strings.Contains(insertToken, ":0:0-2:") {
			return fmt.Errorf("%w: column name", ErrPanic)
		}
		return nil
	}
	cutting := func(string) error { panic("a mistake") } //nolint:forbidigo // what the test is about
	for name, fails := range map[string]func(string) error{"encoding": encoding, "in the sink's goroutine": cutting} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(part)
				w.insertFails = fails
				w.produce(part, anEvent("a", noon, noon), anEvent("b", noon, noon), anEvent("c", noon, noon))
				for range 2 { // the second owner finds the plan
					run(t, w, 5*time.Second)
					if diff := cmp.Diff(map[int32]HaltReason{0: HaltPanic}, w.atEnd); diff != "" ||
						w.committed[part] != 0 || len(w.rows) != 0 {
						t.Errorf("committed %d, %d rows, halted (-want +got):\n%s", w.committed[part], len(w.rows), diff)
					}
				}
				w.insertFails = nil
				run(t, w, 5*time.Second)
				if diff := cmp.Diff([]ledger.Span{{First: 0, Last: 2}}, w.spans(part)); diff != "" || len(w.rows) != 3 {
					t.Errorf("after the fix %d rows, spans (-want +got):\n%s", len(w.rows), diff)
				}
			})
		})
	}
}
