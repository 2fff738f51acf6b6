package sink

import (
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// Lag reaches beyond what is in hand: what memory has no room for counts too.
func TestLagIsMeasuredToTheEndOfThePartition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		r := anEvent("0-00", noon, noon)
		cfg.MaxMemory, cfg.MaxWait = int(50*recordBytes(&r)), time.Second
		w := newWorld(part)
		var away atomic.Bool
		away.Store(true)
		w.insertFails = func(string) error {
			if away.Load() {
				return errors.New("away")
			}
			return nil
		}
		w.produceMany(part, 1000)
		s, end := sinkOver(t, cfg, w)
		time.Sleep(10 * time.Second) //nolint:forbidigo // fake time
		if records, oldest := s.owned()[0].lag(time.Now().UnixMilli()); records != 1000 || oldest != noon {
			t.Errorf("lag of %d records, the oldest from %d; want 1000 from %d", records, oldest, noon)
		}
		away.Store(false)
		time.Sleep(10 * time.Minute) //nolint:forbidigo // fake time
		if records, oldest := s.owned()[0].lag(time.Now().UnixMilli()); records != 0 || oldest != 0 {
			t.Errorf("lag of %d records from %d after all was stored", records, oldest)
		}
		end()
	})
}

// produceNow appends n events to a partition's log that were received now.
func (w *world) produceNow(p Partition, n int) {
	for range n {
		w.mu.Lock()
		id := strconv.Itoa(len(w.log[p]))
		w.mu.Unlock()
		now := time.Now().UnixMilli()
		w.produce(p, anEvent(id, now, now))
	}
}

func (w *world) withhold(p Partition, a away) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away[p] = a
}

// lagNow is what metrics tell of the lag of a sink's only partition: how many records, -1 for none
// told, and how long ago the oldest was received.
func lagNow(t *testing.T, s *Sink) (records, seconds float64) {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(partitions{s})
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	records = -1
	for _, f := range families {
		switch f.GetName() {
		case "millrace_sink_lag_records":
			records = f.GetMetric()[0].GetGauge().GetValue()
		case "millrace_sink_lag_seconds":
			seconds = f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	return records, seconds
}

// wantLag compares the lag with what is wanted; since is how long ago the oldest record was received,
// which may be told as up to late more.
func wantLag(t *testing.T, s *Sink, what string, records float64, since, late time.Duration) {
	t.Helper()
	synctest.Wait()
	gotRecords, gotSeconds := lagNow(t, s)
	if got := time.Duration(gotSeconds * float64(time.Second)); gotRecords != records || got < since || got > since+late {
		t.Errorf("%s: %v records, the oldest from %s ago; want %v from %s ago, or up to %s more",
			what, gotRecords, got, records, since, late)
	}
}

// What nobody can fetch is behind all the same, from the beginning and after a while: by the records
// that the log has, or, where its end is not told either, by the time since nobody knows.
func TestAPartitionThatCannotBeFetchedIsBehind(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		away    away
		records float64
		// How long before the records are written, or the partition is taken over, the lag may begin.
		late time.Duration
	}{
		{"its records can be looked up", undelivered, 1000, 0},
		{"nothing of it can be read", unread, 1000, endsEvery},
		{"nobody tells where it ends", unlisted, -1, endsEvery},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(part)
				w.withhold(part, tc.away)
				s, end := sinkOver(t, testConfig(), w)
				w.produceNow(part, 1000)
				sleep := func(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // fake time
				sleep(90 * time.Second)
				wantLag(t, s, "never fetched", tc.records, 90*time.Second, 0)
				w.withhold(part, 0)
				sleep(time.Minute)
				wantLag(t, s, "fetched again", 0, 0, 0)
				w.withhold(part, tc.away)
				w.produceNow(part, 1000)
				sleep(3 * time.Minute)
				wantLag(t, s, "not fetched any more", tc.records, 3*time.Minute, tc.late)
				end()
			})
		})
	}
}

// Of a partition to which nothing comes there is no lag, and what comes after minutes does not look
// as if it had waited for as long.
func TestAnIdlePartitionIsNotBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(part)
		w.produceNow(part, 10)
		s, end := sinkOver(t, testConfig(), w)
		for range 24 {
			time.Sleep(10 * time.Second) //nolint:forbidigo // fake time
			wantLag(t, s, "nothing comes", 0, 0, 0)
		}
		w.withhold(part, undelivered)
		w.produceNow(part, 1)
		s.lookSoon()
		wantLag(t, s, "one came", 1, 0, endsEvery)
		end()
	})
}

// Nothing is in hand of a partition that is halted, also where the next sink finds it so. Its records
// wait for as long as nobody has done something about it.
func TestAHaltedPartitionIsBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(part)
		w.produceNow(part, 1000)
		w.panics = "5"
		cfg := testConfig()
		for restarts := range 2 {
			s, end := sinkOver(t, cfg, w)
			time.Sleep(2 * time.Minute) //nolint:forbidigo // fake time
			wantLag(t, s, strconv.Itoa(restarts)+" restarts", 1000, time.Duration(restarts+1)*2*time.Minute, 0)
			if diff := cmp.Diff(map[int32]HaltReason{0: HaltPanic}, s.haltedNow()); diff != "" {
				t.Errorf("halted (-want +got):\n%s", diff)
			}
			end()
		}
		// Nobody knows what of the log of another topic would come next.
		w.committed[part], w.metadata[part] = 5000, "written by somebody else"
		s, end := sinkOver(t, cfg, w)
		time.Sleep(2 * time.Minute) //nolint:forbidigo // fake time
		wantLag(t, s, "behind the end of the log", -1, 2*time.Minute, 0)
		end()
	})
}
