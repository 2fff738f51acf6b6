package sink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/deadletter"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
)

// run has a sink store what there is to store, and stops it.
func run(t *testing.T, w *world, long time.Duration) {
	t.Helper()
	s := newSink(t, testConfig(), w)
	stop := start(t, s)
	time.Sleep(long) //nolint:forbidigo // fake time
	w.atEnd = s.haltedNow()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if s.budget.InUse() != 0 {
		t.Errorf("%d bytes in hand after the stop", s.budget.InUse())
	}
}

// haltedNow returns why partitions are halted.
func (s *Sink) haltedNow() map[int32]HaltReason {
	halted := map[int32]HaltReason{}
	for _, w := range s.owned() {
		w.mu.Lock()
		if w.haltReason != "" {
			halted[w.partition.Index] = w.haltReason
		}
		w.mu.Unlock()
	}
	return halted
}

// commitState sets a partition's committed offset.
func (w *world) commitState(p Partition, next int64, s ledger.State) {
	metadata, err := s.Encode()
	if err != nil {
		panic(err) //nolint:forbidigo // a mistake in the test itself
	}
	w.committed[p], w.metadata[p] = next, metadata
}

func (w *world) spans(p Partition) []ledger.Span {
	var spans []ledger.Span
	for _, e := range w.ledger[p] {
		spans = append(spans, e.Span)
	}
	return spans
}

// A plan is stored as it was planned, whatever has come since, and before
// anything else.
func TestAnOpenPlanIsStoredFirstAndExactly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(part)
		w.produceMany(part, 250)
		state := ledger.NewState([16]byte{}, 1)
		state.Plan = &[2]int64{10, 159} // more than the triggers let through today
		w.commitState(part, 10, state)
		run(t, w, 5*time.Second)
		if diff := cmp.Diff([]ledger.Span{{First: 10, Last: 159}, {First: 160, Last: 249}}, w.spans(part)); diff != "" {
			t.Errorf("spans (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"plan 10", "insert 150", "commit 160", "plan 160", "insert 90", "commit 250", "close"},
			w.calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

func TestAPlanKeepsItsEpoch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(part)
		w.produceMany(part, 20)
		w.epoch = 7
		state := ledger.NewState([16]byte{}, 6)
		state.Plan = &[2]int64{0, 9}
		w.commitState(part, 0, state)
		run(t, w, 5*time.Second)
		var epochs []int64
		for _, e := range w.ledger[part] {
			epochs = append(epochs, e.Epoch)
		}
		if diff := cmp.Diff([]int64{6, 7}, epochs); diff != "" {
			t.Errorf("epochs (-want +got):\n%s", diff)
		}
	})
}

// What the window knew when a range was planned it knows again when somebody else
// goes on with it: events of the hour before are duplicates, whenever it happens.
func TestAPartitionIsTakenOverWithItsWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(part)
		hour := time.Hour.Milliseconds()
		w.produce(part, anEvent("old", noon-3*hour, noon-3*hour), anEvent("a", noon, noon), anEvent("b", noon, noon))
		run(t, w, 2*time.Second)
		w.produce(part, anEvent("a", noon, noon+hour/2), anEvent("old", noon, noon+hour/2), anEvent("c", noon, noon+hour/2))
		time.Sleep(48 * time.Hour) //nolint:forbidigo // fake time
		run(t, w, 2*time.Second)
		var ids []string
		for _, r := range w.rows {
			ids = append(ids, r.id)
		}
		if diff := cmp.Diff([]string{"old", "a", "b", "old", "c"}, ids); diff != "" {
			t.Errorf("stored (-want +got):\n%s", diff)
		}
		if e := w.ledger[part][1]; e.Stored != 2 || e.Duplicates != 1 || e.Span != (ledger.Span{First: 3, Last: 5}) {
			t.Errorf("entry %+v", e)
		}
	})
}

// What a broker's error stops goes on where it was stopped.
func TestAWindowIsReadOnAfterAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(part)
		w.produceMany(part, 250)
		run(t, w, 5*time.Second)
		w.brokenAt = 160
		s := newSink(t, testConfig(), w)
		stop := start(t, s)
		time.Sleep(time.Minute) //nolint:forbidigo // fake time
		if keys := s.owned()[0].stats.keys.Load(); keys != 250 || w.observed != 250 || w.brokenAt != 0 {
			t.Errorf("%d keys after %d observations, want 250 of 250", keys, w.observed)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// Memory that restored windows take is counted although nothing comes.
func TestRestoredWindowsAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		parts := make([]Partition, 4)
		for i := range parts {
			parts[i] = Partition{Topic: "events.v1", Index: int32(i)}
		}
		w := newWorld(parts...)
		for _, p := range parts {
			w.produceMany(p, 250)
		}
		run(t, w, 5*time.Second)
		s := newSink(t, testConfig(), w)
		stop := start(t, s)
		time.Sleep(10 * time.Minute) //nolint:forbidigo // fake time
		kept, bytes := int64(0), int64(0)
		for _, o := range s.owned() {
			kept, bytes = kept+o.stats.keys.Load(), bytes+o.stats.bytes.Load()
		}
		if kept != 4*250 || bytes != s.windows.Bytes() {
			t.Errorf("windows hold %d keys in %d bytes, and %d are counted", kept, bytes, s.windows.Bytes())
		}
		if room := s.WindowRoom(); room < bytes || room < kept*40 {
			t.Errorf("windows are given %d bytes", room)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if n := s.WindowRoom(); n != 0 || s.windows.Bytes() != 0 {
			t.Errorf("%d bytes are counted after the stop", n)
		}
	})
}

// An offset that was set by somebody's tool has no state: the window is read from
// the first record's own time.
func TestAnOffsetWithoutStateGetsItsWindowFromTheFirstRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(part)
		w.produce(part, anEvent("a", noon, noon), anEvent("a", noon, noon+1000))
		w.committed[part] = 1
		run(t, w, 2*time.Second)
		if len(w.rows) != 0 || w.ledger[part][0].Duplicates != 1 {
			t.Errorf("%d rows, entry %+v", len(w.rows), w.ledger[part][0])
		}
	})
}

// Whoever finds ranges in the ledger behind the offset, because it was set back,
// cuts them as they were: their tokens are known, nothing is stored twice.
func TestOffsetsSetBackAreStoredUnderTheTokensTheyHad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(part)
		for range 3 {
			w.produceMany(part, 30)
			run(t, w, 2*time.Second)
		}
		w.produceMany(part, 10)
		w.committed[part], w.metadata[part] = 30, ""
		w.calls = nil
		run(t, w, 5*time.Second)
		if len(w.rows) != 100 {
			t.Errorf("%d rows of 100 events", len(w.rows))
		}
		if diff := cmp.Diff(
			[]ledger.Span{{First: 0, Last: 29}, {First: 30, Last: 59}, {First: 60, Last: 89}, {First: 90, Last: 99}},
			w.spans(part)); diff != "" {
			t.Errorf("spans (-want +got):\n%s", diff)
		}
	})
}

func TestAPartitionThatDoesNotFitStandsStillAndSaysWhy(t *testing.T) {
	t.Parallel()
	other := [16]byte{1}
	for _, tc := range []struct {
		name string
		set  func(w *world)
		want HaltReason
	}{
		{"nothing committed, but stored", func(w *world) {
			w.ledger[part] = []ledger.Entry{{Span: ledger.Span{First: 0, Last: 4}, Epoch: 1}}
		}, HaltOffset},
		{"another topic", func(w *world) { w.commitState(part, 0, ledger.NewState(other, 1)) }, HaltTopic},
		{"no state of ours", func(w *world) { w.committed[part], w.metadata[part] = 0, "hello" }, HaltMetadata},
		{"a newer build's state", func(w *world) { w.committed[part], w.metadata[part] = 0, `{"v":2}` }, HaltMetadata},
		{"a plan elsewhere", func(w *world) {
			s := ledger.NewState([16]byte{}, 1)
			s.Plan = &[2]int64{3, 4}
			w.commitState(part, 0, s)
		}, HaltMetadata},
		{"records gone", func(w *world) {
			w.logStart[part] = 3
			w.commitState(part, 1, ledger.NewState([16]byte{}, 1))
		}, HaltRetention},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(part, second)
				w.produceMany(part, 5)
				w.produceMany(second, 7)
				tc.set(w)
				run(t, w, 5*time.Second)
				if diff := cmp.Diff(map[int32]HaltReason{0: tc.want}, w.atEnd); diff != "" {
					t.Errorf("halted (-want +got):\n%s", diff)
				}
				if len(w.rows) != 7 {
					t.Errorf("%d rows, want the 7 of the other partition", len(w.rows))
				}
				gaps := slices.DeleteFunc(slices.Clone(w.ledger[part]),
					func(e ledger.Entry) bool { return e.Kind != ledger.EntryGap })
				if tc.want == HaltRetention &&
					(len(gaps) != 1 || gaps[0].Span != (ledger.Span{First: 1, Last: 2}) || gaps[0].Skipped != 2) {
					t.Errorf("gaps %+v", gaps)
				}
			})
		})
	}
}

// Records that vanish while the sink runs: what is in hand is stored, then it
// is halted.
func TestRecordsThatVanishStopThePartitionBehindWhatIsInHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(part)
		w.produceMany(part, 10)
		s := newSink(t, testConfig(), w)
		stop := start(t, s)
		time.Sleep(100 * time.Millisecond) //nolint:forbidigo // fake time
		w.mu.Lock()
		w.logStart[part] = 15
		w.mu.Unlock()
		s.Gone(t.Context(), part, errors.New("out of range"))
		time.Sleep(5 * time.Second) //nolint:forbidigo // fake time
		if diff := cmp.Diff(map[int32]HaltReason{0: HaltRetention}, s.haltedNow()); diff != "" {
			t.Errorf("halted (-want +got):\n%s", diff)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]ledger.Span{{First: 0, Last: 9}, {First: 10, Last: 14}}, w.spans(part)); diff != "" ||
			len(w.rows) != 10 {
			t.Errorf("%d rows, spans (-want +got):\n%s", len(w.rows), diff)
		}
	})
}

// A log that was cut, and goes on otherwise or has not grown so far yet: what is in hand is
// stored, then the partition is halted. Nothing was taken by retention, and the ledger
// says nothing of the kind.
func TestALogThatWasCutStopsThePartitionBehindWhatIsInHand(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"other records": fmt.Errorf("%w: at 7", ErrTruncated), "too short": errors.New("out of range"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(part)
				w.produceMany(part, 10)
				s := newSink(t, testConfig(), w)
				stop := start(t, s)
				time.Sleep(100 * time.Millisecond) //nolint:forbidigo // fake time
				s.Gone(t.Context(), part, err)
				time.Sleep(5 * time.Second) //nolint:forbidigo // fake time
				if diff := cmp.Diff(map[int32]HaltReason{0: HaltTruncated}, s.haltedNow()); diff != "" {
					t.Errorf("halted (-want +got):\n%s", diff)
				}
				if err := stop(); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]ledger.Span{{First: 0, Last: 9}}, w.spans(part)); diff != "" || len(w.rows) != 10 {
					t.Errorf("%d rows, spans (-want +got):\n%s", len(w.rows), diff)
				}
			})
		})
	}
}

// A batch that cannot be unpacked: what is before it is stored, then the partition
// is halted and says why. Nothing of the log is gone, and the ledger says nothing else.
func TestABatchThatCannotBeReadStopsThePartitionBehindWhatIsInHand(t *testing.T) {
	t.Parallel()
	for want, cause := range map[HaltReason]error{HaltBatch: errors.New("it is too large"), HaltPanic: ErrPanicked} {
		t.Run(string(want), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(part, second)
				w.produceMany(part, 10)
				w.produceMany(second, 7)
				s := newSink(t, testConfig(), w)
				stop := start(t, s)
				time.Sleep(100 * time.Millisecond) //nolint:forbidigo // fake time
				s.Gone(t.Context(), part, fmt.Errorf("%w: %w", buffer.ErrUnreadable, cause))
				time.Sleep(5 * time.Second) //nolint:forbidigo // fake time
				if diff := cmp.Diff(map[int32]HaltReason{0: want}, s.haltedNow()); diff != "" {
					t.Errorf("halted (-want +got):\n%s", diff)
				}
				if err := stop(); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]ledger.Span{{First: 0, Last: 9}}, w.spans(part)); diff != "" || len(w.rows) != 17 {
					t.Errorf("%d rows, spans (-want +got):\n%s", len(w.rows), diff)
				}
			})
		})
	}
}

// A row that the table rejects becomes a dead letter, and the others are stored
// around it, once, also when the process dies in between.
func TestARejectedRowIsIsolated(t *testing.T) {
	t.Parallel()
	for _, dies := range []int{0, 2, 3, 4} { // at which commit the session is over; 0: never
		t.Run(fmt.Sprint("dies at commit ", dies), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(part)
				w.produceMany(part, 64)
				bad := map[string]bool{"0-7": true, "0-8": true, "0-63": true}
				w.rejects = func(id string) bool { return bad[id] }
				commits := 0
				w.commitFails = func() error {
					if commits++; commits == dies {
						return ErrFenced
					}
					return nil
				}
				run(t, w, time.Minute)
				seen := map[string]int{}
				for _, r := range w.rows {
					seen[r.id]++
				}
				for n := range 64 {
					id, want := fmt.Sprint("0-", n), 1
					if bad[id] {
						want = 0
					}
					if seen[id] != want {
						t.Errorf("event %s is stored %d times, want %d", id, seen[id], want)
					}
				}
				letters := map[int64]bool{}
				for _, l := range w.letters {
					letters[l.Original.Offset] = true
					if l.Reason != deadletter.ReasonRejected || len(l.Original.Value) == 0 {
						t.Errorf("letter %s of %d bytes", l.Reason, len(l.Original.Value))
					}
				}
				if diff := cmp.Diff(map[int64]bool{7: true, 8: true, 63: true}, letters); diff != "" {
					t.Errorf("letters (-want +got):\n%s", diff)
				}
				if e := w.ledger[part]; len(e) != 1 || e[0].Stored != 61 || e[0].DeadLetters != 3 || e[0].Skipped != 0 {
					t.Errorf("ledger %+v", e)
				}
			})
		})
	}
}

// A block that only a view rejects is sent again, whole, and never searched.
func TestWhatTheCloneTakesIsNeverADeadLetter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(part)
		w.produceMany(part, 10)
		tries := 0
		w.insertFails = func(string) error {
			if tries++; tries < 5 {
				return &InsertError{Class: ClassRejected, Err: errors.New("while pushing to view")}
			}
			return nil
		}
		run(t, w, time.Minute)
		if len(w.rows) != 10 || len(w.letters) != 0 || tries != 5 {
			t.Errorf("%d rows, %d letters, %d tries", len(w.rows), len(w.letters), tries)
		}
	})
}

// One row of 100,000 is found with at most 2·log2 tries.
func TestARowIsFoundInFewTries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, at := range []int{0, 1, 49_999, 50_000, 99_999} {
			w := newWorld(part)
			b := &memoryBlock{}
			for n := range 100_000 {
				b.rows = append(b.rows, storedRow{id: "good", offset: int64(n)})
			}
			b.rows[at].id = "bad"
			tries := 0
			w.rejects = func(id string) bool { return id == "bad" }
			s := newSink(t, testConfig(), w)
			s.deps.Inserter = &counting{world: w, tries: &tries}
			a := attempt{settler: &newWorker(s.common, Assignment{Partition: part}).settler}
			found, err := a.isolate(t.Context(), b)
			if err != nil || !slices.Equal(found, []int64{int64(at)}) || tries > 36 {
				t.Errorf("row %d: found %v, %v in %d tries, want at most 36", at, found, err, tries)
			}
		}
	})
}

func TestTooManyDeadLettersStopThePartition(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		bad, of int // of the records of each range
		every   time.Duration
		stops   bool
	}{
		{"at the limit", 10, 1000, time.Second, false},
		{"beyond it", 11, 1000, time.Second, true},
		{"few, whatever the share", 1, 1, time.Second, false},
		{"at the limit, now and then", 600, 60_000, 5 * time.Minute, false},
		{"beyond it, now and then", 601, 60_000, 5 * time.Minute, true},
		{"few, now and then", 99, 99, 5 * time.Minute, false},
		{"all of them, now and then", 60_000, 60_000, 5 * time.Minute, true},
		{"beyond it, with the least pause", 601, 60_000, 2 * letterSpan, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, now := letterMeter{limit: 0.01}, time.Now()
			stopped := false
			for range 90 {
				stopped = stopped || m.tooMany(tc.of, tc.bad, now)
				now = now.Add(tc.every)
			}
			if stopped != tc.stops {
				t.Errorf("%d dead letters of %d records: stopped %v", tc.bad, tc.of, stopped)
			}
		})
	}
}

// A window may take minutes to read; a stop does not wait for it.
func TestAStopDoesNotWaitForAPartitionThatIsBeingTakenOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(part)
		w.produceMany(part, 10)
		w.commitState(part, 5, ledger.NewState([16]byte{}, 1))
		s := newSink(t, testConfig(), w)
		s.deps.Reader = &slow{world: w}
		stop, begin := start(t, s), time.Now()
		time.Sleep(time.Second) //nolint:forbidigo // fake time
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took != time.Second || len(w.rows) != 0 {
			t.Errorf("took %s, %d rows", took, len(w.rows))
		}
	})
}

// slow never comes to the end of a window.
type slow struct{ *world }

func (*slow) Observations(ctx context.Context, _ Partition, _ *Stretch, _ Observer) error {
	<-ctx.Done()
	return ctx.Err()
}

// A range covers the offsets that have no record.
func TestAGapInTheLogBelongsToTheRangeAfterIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(part)
		control := buffer.Record{Control: true}
		w.produce(part, anEvent("a", noon, noon), control, control, anEvent("b", noon, noon), control)
		run(t, w, 2*time.Second)
		e := w.ledger[part]
		if len(e) != 1 || e[0].Span != (ledger.Span{First: 0, Last: 4}) || e[0].Stored != 2 || e[0].Skipped != 3 {
			t.Errorf("ledger %+v", e)
		}
		if w.committed[part] != 5 {
			t.Errorf("committed %d", w.committed[part])
		}
	})
}

// A compacted log has holes; what got lost on the way here is none.
func TestAHoleIsSkippedAndALostRecordIsReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(part)
		w.produceMany(part, 40)
		w.holes = map[int64]bool{0: true, 7: true, 8: true, 39: true}
		w.pollSize, w.drop = 10, 2
		run(t, w, 10*time.Second)
		if len(w.rows) != 36 {
			t.Errorf("%d rows of 36 events", len(w.rows))
		}
		var skipped int64
		for _, e := range w.ledger[part] {
			skipped += e.Skipped
		}
		if skipped != 3 { // the last hole has nothing behind it yet
			t.Errorf("%d offsets skipped, want 3", skipped)
		}
	})
}

func TestTheLedgerNamesWhatWasTouched(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(part)
		day := int64(record.MillisPerDay)
		w.produce(part, anEvent("a", noon, noon), anEvent("b", noon-day, noon), anEvent("c", noon, noon),
			anEvent("d", noon-40*day, noon))
		run(t, w, 2*time.Second)
		var got []string
		for _, p := range w.ledger[part][0].Touched {
			got = append(got, fmt.Sprint(p.Owner, " ", int64(p.Day)-noon/day))
		}
		if diff := cmp.Diff("web_1 -40, web_1 -1, web_1 0", strings.Join(got, ", ")); diff != "" {
			t.Errorf("touched (-want +got):\n%s", diff)
		}
	})
}

type counting struct {
	*world

	tries *int
}

func (c *counting) Probe(ctx context.Context, b Block) error {
	*c.tries++
	return c.world.Probe(ctx, b)
}
