package attempt

import (
	"strconv"
	"testing"
	"time"
)

func TestRecent_ForgetsANameAfterItsLife(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	r := NewRecent(time.Hour)
	r.Add("s", "a", start)
	for after, want := range map[time.Duration]bool{0: true, time.Hour - 1: true, time.Hour: false} {
		if got := r.Has("a", start.Add(after)); got != want {
			t.Errorf("after %v: Has() = %t", after, got)
		}
	}
	if r.Has("b", start) {
		t.Error("it has a name that nobody added")
	}
	r.Add("s", "a", start.Add(time.Minute))
	if !r.Has("a", start.Add(time.Hour)) {
		t.Error("adding a name again does not extend its life")
	}
}

func TestRecent_BoundsWhatItRemembers(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	r := NewRecent(time.Hour)
	for i := range 2 * maxRecent {
		r.Add(strconv.Itoa(i/maxRecentOf), strconv.Itoa(i), now)
	}
	if !r.Has("0", now) {
		t.Error("the first of as many as fit is forgotten")
	}
	r.Add("more", "one more", now)
	if r.Has("0", now) || len(r.young) != 1 || len(r.old) != maxRecent {
		t.Errorf("%d and %d are remembered", len(r.young), len(r.old))
	}
	if !r.Has(strconv.Itoa(maxRecent), now) {
		t.Error("one of the latest is forgotten")
	}
}

func TestRecent_BoundsTheNamesOfASubject(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	r := NewRecent(time.Hour)
	for i := range maxRecentOf + 1 {
		r.Add("mine", strconv.Itoa(i), now)
	}
	if last := strconv.Itoa(maxRecentOf); r.Has(last, now) || !r.Has(strconv.Itoa(maxRecentOf-1), now) {
		t.Errorf("%d names are remembered, want %d", len(r.young), maxRecentOf)
	}
	r.Add("other", "b", now)
	if !r.Has("b", now) {
		t.Error("a name of another subject is not remembered")
	}
}
