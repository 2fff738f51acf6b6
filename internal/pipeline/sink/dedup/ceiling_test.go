package dedup

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// An edge whose clock is hours ahead takes no more than there is, and what the others have sent
// stays known.
func TestAnEdgeThatIsAheadTakesNoKeysFromTheOthers(t *testing.T) {
	t.Parallel()
	w, ahead := NewWindow(time.Hour, 1000), (6 * time.Hour).Milliseconds()
	for minute := range 60 {
		for n := range 5 {
			at := after(time.Duration(minute)*time.Minute + time.Duration(n)*time.Second)
			w.Observe(hashOf(minute*5+n), at)
			for m := range 10 {
				w.Observe(hashOf(10_000+minute*50+n*10+m), at+ahead)
			}
		}
		w.Shown(int64(minute+1) * 55)
		w.MoveOn(time.UnixMilli(after(time.Duration(minute+1) * time.Minute)))
		if w.Len() > 1000 {
			t.Fatalf("%d keys after %d minutes", w.Len(), minute+1)
		}
	}
	if n := w.Len(); n > 1000 || w.Coverage() != time.Hour {
		t.Errorf("%d keys, coverage %s", n, w.Coverage())
	}
	for n := range 300 {
		if !w.has(hashOf(n), after(time.Hour)) {
			t.Fatalf("honest event %d of 300 is forgotten", n)
		}
	}
	if c := w.Ceilings(); len(c) == 0 || len(c) > 10 || w.early == 0 {
		t.Errorf("ceilings %v, %d buckets went early", c, w.early)
	}
}

// A bucket that others will come to is not ahead.
func TestOnlyWhatIsAheadIsUnderACeiling(t *testing.T) {
	t.Parallel()
	w, now := NewWindow(time.Hour, 1_000_000), time.UnixMilli(bucketStart)
	w.add(hashOf(0), bucketStart, now)
	lowest := w.ahead()
	if ahead := lowest - w.newest; ahead <= slackBuckets || ahead > slackBuckets+2 {
		t.Errorf("the ceiling is %d buckets ahead", ahead)
	}
	w.Observe(hashOf(1), LowWatermarkMillis(lowest)-1)
	if w.forgetAhead() {
		t.Error("something is forgotten that is not ahead")
	}
	w.Observe(hashOf(2), LowWatermarkMillis(lowest))
	w.Shown(7)
	if !w.forgetAhead() || w.forgetAhead() {
		t.Error("what is ahead is forgotten once")
	}
	for n, want := range []bool{true, true, false} {
		if _, known := w.shards[hashOf(n)[15]%windowShards].find(hashOf(n)); known != want {
			t.Errorf("event %d: known %v, want %v", n, known, want)
		}
	}
	if diff := cmp.Diff([]Ceiling{{lowest, 7}}, w.Ceilings()); diff != "" || w.Len() != 2 {
		t.Errorf("%d keys, ceilings (-want +got):\n%s", w.Len(), diff)
	}
}

func TestACeilingFollowsTheWindowAndEnds(t *testing.T) {
	t.Parallel()
	for _, horizon := range []time.Duration{5 * time.Minute, time.Hour, 100 * time.Minute, 24 * time.Hour} {
		w, most := NewWindow(horizon, 1_000_000), 0
		ahead := 2 * horizon
		end := 6 * horizon
		for at := time.Duration(0); at < end; at += 5 * time.Minute {
			w.Shown(int64(at))
			if at < end/2 {
				w.Observe(hashOf(1), after(at+ahead+time.Hour))
			}
			w.add(hashOf(2), after(at), time.UnixMilli(after(at)))
			if at == 0 {
				w.forgetAhead()
			}
			if at < end/2 && len(w.Ceilings()) == 0 {
				t.Fatalf("horizon %s: no ceiling after %s", horizon, at)
			}
			for i, c := range w.Ceilings()[1:] {
				if b := w.Ceilings()[i]; c.Bucket <= b.Bucket || c.From <= b.From {
					t.Fatalf("horizon %s: %v do not ascend", horizon, w.Ceilings())
				}
			}
			most = max(most, len(w.Ceilings()))
			if w.Len() > 1 {
				t.Fatalf("horizon %s: what is ahead is noted after %s", horizon, at)
			}
		}
		if most > 14 {
			t.Errorf("horizon %s: %d ceilings at a time", horizon, most)
		}
	}
	w := NewWindow(time.Hour, 1_000_000)
	w.Observe(hashOf(1), after(6*time.Hour))
	w.add(hashOf(2), bucketStart, time.UnixMilli(bucketStart))
	w.forgetAhead()
	for at := time.Duration(0); at < 8*time.Hour; at += 5 * time.Minute {
		w.add(hashOf(2), after(at), time.UnixMilli(after(at)))
		if want := at < 7*time.Hour+15*time.Minute; len(w.Ceilings()) > 0 != want {
			t.Fatalf("after %s: ceilings %v", at, w.Ceilings())
		}
	}
}

func TestWhatWasHandedOutDoesNotChange(t *testing.T) {
	t.Parallel()
	w := NewWindow(time.Hour, 1_000_000)
	w.SetCeiling(Ceiling{10, 100})
	w.SetCeiling(Ceiling{20, 200})
	w.SetCeiling(Ceiling{30, 300})
	had := w.Ceilings()[:2]
	w.SetLowWatermark(20)
	w.SetCeiling(Ceiling{40, 400})
	if diff := cmp.Diff([]Ceiling{{10, 100}, {20, 200}}, had); diff != "" {
		t.Errorf("what was handed out before (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Ceiling{{20, 100}, {30, 300}, {40, 400}}, w.Ceilings()); diff != "" {
		t.Errorf("ceilings (-want +got):\n%s", diff)
	}
}
