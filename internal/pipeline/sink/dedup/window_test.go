package dedup

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/internal/contract/record"
)

// add notes an observation and moves the window on.
func (w *Window) add(h record.Hash, receivedAt int64, now time.Time) {
	w.Observe(h, receivedAt)
	w.MoveOn(now)
}

// has reports whether an event received at the time would be a duplicate.
func (w *Window) has(h record.Hash, receivedAt int64) bool {
	before, known := w.shards[h[15]%windowShards].find(h)
	return known && bucketOf(receivedAt)-before <= w.horizon
}

// The first record of a bucket, so that a test can be exact about its end.
var bucketStart = time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC).UnixMilli()

// farAhead is a clock that no record is ahead of.
var farAhead = time.UnixMilli(bucketStart).Add(1000 * time.Hour)

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
		w.add(hashOf(1), bucketStart, farAhead)
		if got := w.has(hashOf(1), after(tc.later)); got != tc.want {
			t.Errorf("%s later: has() = %v, want %v", tc.later, got, tc.want)
		}
		if w.has(hashOf(2), after(tc.later)) {
			t.Errorf("%s later: another event is taken for the first", tc.later)
		}
	}
}

// A record may be a little older than those before it. Its duplicate must be
// found although newer records have moved the window on.
func TestALateRecordIsJudgedByItsOwnTime(t *testing.T) {
	t.Parallel()
	w := NewWindow(time.Hour, 1000)
	w.add(hashOf(1), bucketStart, farAhead)
	w.add(hashOf(2), after(70*time.Minute), farAhead)
	if !w.has(hashOf(1), after(60*time.Minute)) {
		t.Error("forgotten within the slack")
	}
	if w.has(hashOf(1), after(70*time.Minute)) {
		t.Error("remembered beyond the horizon")
	}
}

func TestTheWindowForgetsWhatIsBeyondTheHorizon(t *testing.T) {
	t.Parallel()
	w := NewWindow(time.Hour, 1_000_000)
	for n := range 10 * 1000 {
		w.add(hashOf(n), after(time.Duration(n)*time.Second), farAhead) // 2 h 46 min
	}
	if limit := 76 * 60; w.Len() > limit { // horizon, the bucket begun, and the slack
		t.Errorf("%d keys remembered, want at most %d", w.Len(), limit)
	}
	if got := w.Coverage(); got != time.Hour {
		t.Errorf("Coverage() = %s", got)
	}
	if per := w.Bytes() / w.Len(); per > 80 { // what is forgotten is reclaimed
		t.Errorf("%d bytes a key", per)
	}
}

func TestAWindowThatHasSeenNothingLacksNothing(t *testing.T) {
	t.Parallel()
	if got := NewWindow(time.Hour, 100).Coverage(); got != time.Hour {
		t.Errorf("Coverage() = %s, want the horizon: an alert would go off", got)
	}
}

func TestTheWindowKeepsToItsKeys(t *testing.T) {
	t.Parallel()
	w := NewWindow(time.Hour, 100)
	for n := range 300 {
		w.add(hashOf(n), after(time.Duration(n)*6*time.Second), farAhead) // 50 a bucket
	}
	if w.Len() > 100 {
		t.Errorf("%d keys, want at most 100", w.Len())
	}
	if got := w.Coverage(); got != 5*time.Minute {
		t.Errorf("Coverage() = %s, want 5m: the metric must show the loss", got)
	}
	if !w.has(hashOf(299), after(30*time.Minute)) || w.has(hashOf(0), after(30*time.Minute)) {
		t.Error("the oldest keys should go first")
	}
}

func TestAddingAKeyAgainMovesItOn(t *testing.T) {
	t.Parallel()
	w := NewWindow(time.Hour, 100)
	w.add(hashOf(1), bucketStart, farAhead)
	w.add(hashOf(1), after(50*time.Minute), farAhead)
	if w.Len() != 1 {
		t.Errorf("Len() = %d, want 1", w.Len())
	}
	if !w.has(hashOf(1), after(100*time.Minute)) {
		t.Error("judged by the first time, not by the last")
	}
}

// An edge whose clock is hours ahead must not make the window forget what the
// others have seen.
func TestARecordFromTheFutureDoesNotMoveTheWindow(t *testing.T) {
	t.Parallel()
	w, now := NewWindow(time.Hour, 1000), time.UnixMilli(bucketStart)
	w.add(hashOf(1), bucketStart, now)
	w.add(hashOf(2), after(3*time.Hour), now)
	if !w.has(hashOf(1), after(30*time.Minute)) || !w.has(hashOf(2), after(3*time.Hour)) {
		t.Error("a key was forgotten")
	}
	if w.clamped != 1 || w.Coverage() != time.Hour {
		t.Errorf("clamped %d, coverage %s", w.clamped, w.Coverage())
	}
}

// While a sink catches up its own clock is no bound: the others' records are.
func TestAnEdgeThatIsAheadDoesNotMoveTheWindowWhileCatchingUp(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		ahead   int // of 100 records of each range
		know    bool
		clamped int64
	}{
		"none": {0, true, 0}, "one": {1, true, 3}, "the most that it bears": {89, true, 3},
		"all but one in a hundred": {99, false, 0}, "all": {100, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, now := NewWindow(time.Hour, 100_000), time.UnixMilli(bucketStart).Add(4*time.Hour)
			for n := range 300 {
				at := after(time.Duration(n) * time.Second)
				if n%100 < tc.ahead {
					at += (2 * time.Hour).Milliseconds()
				}
				w.Observe(hashOf(n), at)
				if n%100 == 99 {
					w.MoveOn(now)
				}
			}
			w.Observe(hashOf(1000), bucketStart) // known only to a window that has not moved on
			if got := w.has(hashOf(1000), after(5*time.Minute)); got != tc.know {
				t.Errorf("a resend is found: %v, want %v", got, tc.know)
			}
			if w.clamped != tc.clamped || w.Coverage() != time.Hour {
				t.Errorf("clamped %d, coverage %s; want %d and an hour", w.clamped, w.Coverage(), tc.clamped)
			}
		})
	}
}

// A range of a quiet website may be hours long when it is caught up on.
func TestALongRangeMovesTheWindowOn(t *testing.T) {
	t.Parallel()
	w := NewWindow(time.Hour, 100_000)
	for range 2 {
		for n := range 100 {
			w.Observe(hashOf(n), after(time.Duration(n)*6*time.Minute)) // ten hours
		}
		w.MoveOn(farAhead)
	}
	if w.clamped != 0 {
		t.Errorf("clamped %d times, though no clock is wrong", w.clamped)
	}
	if from, to := bucketOf(bucketStart), bucketOf(after(time.Hour)); w.newest < from || w.newest > to {
		t.Errorf("followed to bucket %d, want the first tenth, %d to %d", w.newest, from, to)
	}
}

func TestTheFirstReceiptsAreNoFurtherThanNow(t *testing.T) {
	t.Parallel()
	w, now, slack := NewWindow(time.Hour, 1000), time.UnixMilli(bucketStart), int32(12+slackBuckets)
	for name, tc := range map[string]struct {
		first []int64
		want  int32
	}{
		"none":    {nil, bucketOf(bucketStart)},
		"earlier": {[]int64{after(-3 * time.Hour)}, bucketOf(after(-3 * time.Hour))},
		"ahead":   {[]int64{after(2 * time.Hour)}, bucketOf(bucketStart)},
		"one ahead of others": {
			[]int64{after(2 * time.Hour), after(-time.Hour), after(2 * time.Hour)}, bucketOf(after(-time.Hour)),
		},
	} {
		if got := w.LowWatermarkFor(tc.first, now); got != tc.want-slack {
			t.Errorf("%s: %d, want %d", name, got, tc.want-slack)
		}
	}
}

// With its low watermark, a window is a function of the log: one that is read again knows
// what the first one knew, also where keys had to go early.
func TestARestoredWindowKnowsWhatTheFirstOneKnew(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.IntRange(5, 200).Draw(t, "max keys")
		first, at, now := NewWindow(time.Hour, keys), bucketStart, time.UnixMilli(bucketStart)
		type observation struct {
			h  record.Hash
			at int64
		}
		var log []observation
		ahead := rapid.Int64Range(0, 12*3_600_000).Draw(t, "ahead")
		for range rapid.IntRange(1, 300).Draw(t, "records") {
			at += rapid.Int64Range(0, 4*60_000).Draw(t, "pause")
			now = now.Add(time.Duration(rapid.Int64Range(0, 4*60_000).Draw(t, "clock")) * time.Millisecond)
			s := observation{
				hashOf(rapid.IntRange(0, 80).Draw(t, "id")), at - rapid.Int64Range(-7_200_000, 3_600_000).Draw(t, "skew"),
			}
			if rapid.IntRange(0, 3).Draw(t, "clock is ahead") == 0 {
				s.at += ahead
			}
			log = append(log, s)
			first.Shown(int64(len(log)))
			first.add(s.h, s.at, now)
		}
		if n := len(first.Ceilings()); n > 10 {
			t.Fatalf("%d ceilings", n)
		}
		again := NewWindow(time.Hour, keys)
		again.SetLowWatermark(first.LowWatermark())
		from := slices.IndexFunc(log, func(s observation) bool { return s.at >= LowWatermarkMillis(first.LowWatermark()) })
		if from < 0 {
			from = len(log)
		}
		observer, ceilings := again.Rebuild(), first.Ceilings()
		for n := from; ; n++ {
			for len(ceilings) > 0 && ceilings[0].From <= int64(n) {
				observer.SetCeiling(ceilings[0])
				ceilings = ceilings[1:]
			}
			if n == len(log) {
				break
			}
			observer.Observe(log[n].h, log[n].at)
		}
		observer.Done()
		seen := func(w *Window, n int) (int32, bool) {
			h := hashOf(n)
			return w.shards[h[15]%windowShards].find(h)
		}
		for n := range 81 {
			b1, ok1 := seen(first, n)
			b2, ok2 := seen(again, n)
			if b1 != b2 || ok1 != ok2 {
				t.Fatalf("event %d: %d, %v at first; %d, %v when read again", n, b1, ok1, b2, ok2)
			}
		}
		if first.Len() != again.Len() {
			t.Fatalf("%d keys at first, %d when read again", first.Len(), again.Len())
		}
	})
}

// sharing returns windows that share so many keys' memory.
func sharing(keys, windows int) (*Memory, []*Window) {
	share := NewMemory(int64(keys) * keyBytes)
	all := make([]*Window, windows)
	for i := range all {
		all[i] = share.Window(time.Hour, 1_000_000)
	}
	return share, all
}

// Windows share one bound: what one takes, the others give up.
func TestWindowsShareTheirMemory(t *testing.T) {
	t.Parallel()
	share, all := sharing(30_000, 2)
	a, b := all[0], all[1]
	fill := func(w *Window, first int) {
		for n := range 27_000 {
			w.Observe(hashOf(first+n), after(time.Duration(n)*133*time.Millisecond)) // an hour
			if n%1000 == 999 {
				w.MoveOn(farAhead)
				a.KeepWithin() // as a partition does that gets nothing
			}
			if w == b && n == 1000 && (b.Coverage() < b.newestAge() || a.Len() < 22_000) {
				t.Errorf("b has forgotten, or a too much: %d and %d keys", a.Len(), b.Len())
			}
		}
	}
	fill(a, 0)
	if a.Len() != 27_000 {
		t.Fatalf("%d keys, want all while there is room", a.Len())
	}
	fill(b, 1_000_000)
	for _, w := range all {
		if n := int64(w.Bytes()); n > share.part() || n < share.part()/2 {
			t.Errorf("a window takes %d bytes, want up to its part, %d", n, share.part())
		}
	}
	if share.room() < 0 {
		t.Errorf("%d bytes too many", -share.room())
	}
	a.Close()
	b.Close()
	if share.bytes.Load() != 0 || share.windows.Load() != 0 {
		t.Errorf("%d bytes of %d windows are counted that are closed", share.bytes.Load(), share.windows.Load())
	}
}

// newestAge is how long ago the first bucket of the test was.
func (w *Window) newestAge() time.Duration {
	return time.Duration(w.newest-bucketOf(bucketStart)) * bucketMillis * time.Millisecond
}

func TestAFullWindowLeavesSmallOnesAlone(t *testing.T) {
	t.Parallel()
	share, all := sharing(10_000, 2)
	hog, small := all[0], all[1]
	for n := range 120 {
		small.add(hashOf(1_000_000+n), after(time.Duration(n)*30*time.Second), farAhead)
	}
	for n := range 20_000 { // all in one bucket, the newest, which stays
		hog.Observe(hashOf(n), after(time.Hour))
	}
	hog.MoveOn(farAhead)
	small.add(hashOf(2_000_000), after(time.Hour), farAhead)
	if share.room() >= 0 {
		t.Fatal("there is room")
	}
	if small.Len() != 121 || small.Coverage() != time.Hour {
		t.Errorf("%d of 121 keys, coverage %s", small.Len(), small.Coverage())
	}
}

func TestAPinnedWindowForgetsNothing(t *testing.T) {
	t.Parallel()
	share, all := sharing(1_000, 2)
	w := all[0]
	lowest := w.LowWatermarkFor([]int64{after(time.Hour)}, farAhead)
	w.SetLowWatermark(lowest)
	w.Pin()
	r := w.Rebuild()
	for n := range 5_000 {
		r.Observe(hashOf(n), after(time.Duration(n)*700*time.Millisecond)) // an hour
	}
	r.Done()
	w.KeepWithin()
	if w.Len() != 5_000 || w.LowWatermark() != lowest || !share.Full() {
		t.Errorf("%d keys from bucket %d on, full %v", w.Len(), w.LowWatermark(), share.Full())
	}
	w.Unpin()
	w.KeepWithin()
	if share.Full() || w.LowWatermark() == lowest {
		t.Errorf("%d keys from bucket %d on after that", w.Len(), w.LowWatermark())
	}
}

func TestMemoryOfWhatIsForgottenIsGivenBack(t *testing.T) {
	t.Parallel()
	share, all := sharing(1_000_000, 1)
	w := all[0]
	for n := range 100_000 {
		w.Observe(hashOf(n), bucketStart)
	}
	w.MoveOn(farAhead)
	for i := range 25 { // hours of little traffic
		w.add(hashOf(10_000_000+i), after(time.Duration(i)*time.Hour), farAhead)
	}
	if w.Bytes() > 100<<10 || share.bytes.Load() != int64(w.Bytes()) {
		t.Errorf("%d keys take %d bytes; %d are counted", w.Len(), w.Bytes(), share.bytes.Load())
	}
}

// A window that is read again is within its bounds at each moment.
func TestAWindowThatIsRestoredKeepsToItsMemory(t *testing.T) {
	t.Parallel()
	share, all := sharing(20_000, 1)
	w := all[0]
	w.SetLowWatermark(w.LowWatermarkFor([]int64{after(time.Hour)}, farAhead))
	r := w.Rebuild()
	for n := range 120_000 {
		r.Observe(hashOf(n), after(time.Duration(n)*30*time.Millisecond)) // an hour
		if most := share.limit + 3*lookEvery*keyBytes; int64(w.Bytes()) > most {
			t.Fatalf("after %d observations, %d bytes, want %d at most", n, w.Bytes(), most)
		}
	}
	r.Done()
	if share.room() < 0 || w.Len() < 8_000 || !w.has(hashOf(119_999), after(time.Hour)) {
		t.Errorf("%d keys, %d bytes too many", w.Len(), -share.room())
	}
	if w.early == 0 || w.Coverage() >= time.Hour || w.Coverage() < 5*time.Minute {
		t.Errorf("coverage %s after %d buckets went early", w.Coverage(), w.early)
	}
}

func TestTheZeroHashIsNeverADuplicate(t *testing.T) {
	t.Parallel()
	w := NewWindow(time.Hour, 100)
	w.add(record.Hash{}, bucketStart, farAhead)
	if w.Len() != 0 || w.has(record.Hash{}, bucketStart) {
		t.Error("the empty slot is taken for an event")
	}
}

func TestAnObservationOfAKnownEventAllocatesNothing(t *testing.T) { //nolint:paralleltest // counts allocations
	w := NewWindow(time.Hour, 100_000)
	for n := range 10_000 {
		w.add(hashOf(n), bucketStart, farAhead)
	}
	h := hashOf(5)
	if n := testing.AllocsPerRun(100, func() { w.Observe(h, bucketStart) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkWindow(b *testing.B) {
	const keys = 4_000_000
	w := NewWindow(time.Hour, keys)
	hashes := make([]record.Hash, keys)
	for n := range hashes {
		hashes[n] = hashOf(n)
		w.add(hashes[n], bucketStart+int64(n)*3600_000/keys, farAhead)
	}
	b.ReportMetric(float64(w.Bytes())/keys, "B/key")
	b.Run("known", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			w.has(hashes[i*7919%keys], bucketStart)
		}
	})
	b.Run("new", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			h := hashes[i*7919%keys]
			h[0] ^= 0xff
			w.has(h, bucketStart)
		}
	})
	b.Run("add", func(b *testing.B) {
		b.ReportAllocs()
		w := NewWindow(time.Hour, keys)
		for i := 0; b.Loop(); i++ {
			w.add(hashes[i%keys], bucketStart+int64(i%keys)*3600_000/keys, farAhead)
		}
		b.ReportMetric(float64(w.Bytes())/float64(max(1, w.Len())), "B/key")
	})
}

func TestAWindowOfNoTimeRemembersNothing(t *testing.T) {
	t.Parallel()
	w := NewWindow(0, 1000)
	for range 2 {
		if _, known := w.Observe(record.HashOf([]byte("web_1"), []byte("a")), bucketStart); known {
			t.Error("an event is known")
		}
	}
	if w.Len() != 0 {
		t.Errorf("%d events are remembered", w.Len())
	}
	if w = NewWindow(time.Millisecond, 1000); w.horizon != 1 {
		t.Errorf("a millisecond is %d buckets, want 1", w.horizon)
	}
}
