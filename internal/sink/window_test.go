package sink

import (
	"testing"
	"time"

	"github.com/millrace/millrace/internal/record"
)

// The first record of a bucket, so that a test can be exact about its end.
var bucketStart = time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC).UnixMilli()

func after(d time.Duration) int64 { return bucketStart + d.Milliseconds() }

func TestTheWindowRemembersForItsHorizonInRecordTime(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		later time.Duration
		want  bool
	}{
		{0, true},
		{-4 * time.Minute, true}, // another edge's clock
		{59 * time.Minute, true},
		{time.Hour, true},
		{65*time.Minute - time.Millisecond, true}, // rounded up to buckets of 5 minutes
		{65 * time.Minute, false},
		{25 * time.Hour, false},
	} {
		w := NewWindow(time.Hour, 1000)
		w.Add(hashOf(1), bucketStart)
		if got := w.Has(hashOf(1), after(tc.later)); got != tc.want {
			t.Errorf("%s later: Has() = %v, want %v", tc.later, got, tc.want)
		}
		if w.Has(hashOf(2), after(tc.later)) {
			t.Errorf("%s later: another event is taken for the first", tc.later)
		}
	}
}

// A record may be a little older than those before it. Its duplicate must be
// found although newer records have moved the window on.
func TestALateRecordIsJudgedByItsOwnTime(t *testing.T) {
	t.Parallel()
	w := NewWindow(time.Hour, 1000)
	w.Add(hashOf(1), bucketStart)
	w.Add(hashOf(2), after(70*time.Minute))
	if !w.Has(hashOf(1), after(60*time.Minute)) {
		t.Error("forgotten within the slack")
	}
	if w.Has(hashOf(1), after(70*time.Minute)) {
		t.Error("remembered beyond the horizon")
	}
}

func TestTheWindowForgetsWhatIsBeyondTheHorizon(t *testing.T) {
	t.Parallel()
	w := NewWindow(time.Hour, 1_000_000)
	for n := range 10 * 1000 {
		w.Add(hashOf(n), after(time.Duration(n)*time.Second)) // 2 h 46 min
	}
	if limit := 76 * 60; w.Len() > limit { // horizon, the bucket begun, and the slack
		t.Errorf("%d keys remembered, want at most %d", w.Len(), limit)
	}
	if got := w.Coverage(); got < time.Hour || got > 80*time.Minute {
		t.Errorf("Coverage() = %s", got)
	}
	if per := w.Bytes() / w.Len(); per > 80 { // what is forgotten is reclaimed
		t.Errorf("%d bytes a key", per)
	}
}

func TestTheWindowKeepsToItsKeys(t *testing.T) {
	t.Parallel()
	w := NewWindow(time.Hour, 100)
	for n := range 300 {
		w.Add(hashOf(n), after(time.Duration(n)*6*time.Second)) // 50 a bucket
	}
	if w.Len() > 100 {
		t.Errorf("%d keys, want at most 100", w.Len())
	}
	if got := w.Coverage(); got != 10*time.Minute {
		t.Errorf("Coverage() = %s, want 10m: the metric must show the loss", got)
	}
	if !w.Has(hashOf(299), after(30*time.Minute)) || w.Has(hashOf(0), after(30*time.Minute)) {
		t.Error("the oldest keys should go first")
	}
}

func TestAddingAKeyAgainMovesItOn(t *testing.T) {
	t.Parallel()
	w := NewWindow(time.Hour, 100)
	w.Add(hashOf(1), bucketStart)
	w.Add(hashOf(1), after(50*time.Minute))
	if w.Len() != 1 {
		t.Errorf("Len() = %d, want 1", w.Len())
	}
	if !w.Has(hashOf(1), after(100*time.Minute)) {
		t.Error("judged by the first time, not by the last")
	}
}

func TestTheZeroHashIsNeverADuplicate(t *testing.T) {
	t.Parallel()
	w := NewWindow(time.Hour, 100)
	w.Add(record.Hash{}, bucketStart)
	if w.Len() != 0 || w.Has(record.Hash{}, bucketStart) {
		t.Error("the empty slot is taken for an event")
	}
}

func TestALookupAllocatesNothing(t *testing.T) { //nolint:paralleltest // counts allocations
	w := NewWindow(time.Hour, 100_000)
	for n := range 10_000 {
		w.Add(hashOf(n), bucketStart)
	}
	h := hashOf(5)
	if n := testing.AllocsPerRun(100, func() { w.Has(h, bucketStart) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkWindowHas(b *testing.B) {
	const keys = 4_000_000
	w := NewWindow(time.Hour, keys)
	hashes := make([]record.Hash, keys)
	for n := range hashes {
		hashes[n] = hashOf(n)
		w.Add(hashes[n], bucketStart+int64(n)*3600_000/keys)
	}
	b.ReportMetric(float64(w.Bytes())/keys, "B/key")
	b.Run("known", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			w.Has(hashes[i*7919%keys], bucketStart)
		}
	})
	b.Run("new", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			h := hashes[i*7919%keys]
			h[0] ^= 0xff
			w.Has(h, bucketStart)
		}
	})
	b.Run("add", func(b *testing.B) {
		b.ReportAllocs()
		w := NewWindow(time.Hour, keys)
		for i := 0; b.Loop(); i++ {
			w.Add(hashes[i%keys], bucketStart+int64(i%keys)*3600_000/keys)
		}
		b.ReportMetric(float64(w.Bytes())/float64(max(1, w.Len())), "B/key")
	})
}
