package buffer

import (
	"slices"
	"testing"
	"time"
)

// fetched is a partition that is, or not.
type fetched struct {
	Level

	benched bool
}

func (f *fetched) Bench(wait bool) { f.benched = wait }

// reading implements Fetched for a fetched.
type reading struct{ *fetched }

func (r reading) Level() Level { return r.fetched.Level }

var begin = time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)

// stage is a focus on partitions with so many bytes each, of which two fit into memory, and
// a budget that is used up.
func stage(bytes ...int64) (*Focus[reading], []reading, *Budget) {
	f, memory := NewFocus[reading](300, 100, 1), NewBudget(300)
	all := make([]reading, len(bytes))
	for i, b := range bytes {
		all[i] = reading{&fetched{Level: Level{Bytes: b}}}
		memory.Take(b)
	}
	f.Begin()
	return &f, all, memory
}

// turns are the places of the partitions that are fetched.
func turns(all []reading) (on []int) {
	for i, r := range all {
		if !r.benched {
			on = append(on, i)
		}
	}
	return on
}

func TestTheFullestAreFetchedFirstAndThenTheOthers(t *testing.T) {
	t.Parallel()
	f, all, memory := stage(10, 40, 30, 20)
	for i, want := range [][]int{{1, 2}, {0, 3}, {1, 2}} {
		f.Rotate(begin, all, memory)
		if got := turns(all); !slices.Equal(got, want) {
			t.Errorf("turn %d is of %v, want %v", i, got, want)
		}
		for _, n := range want {
			all[n].Sealed++ // its range was whole
		}
	}
}

func TestWhereNothingIsFreeOneIsFetched(t *testing.T) {
	t.Parallel()
	for free, want := range map[int64]int{0: 1, 1: 2} {
		f, all, memory := stage(100, 100, 100-free)
		f.Rotate(begin, all, memory)
		if got := turns(all); len(got) != want {
			t.Errorf("with %d bytes free, %v are fetched, want %d", free, got, want)
		}
	}
}

func TestASpanThatHasToBeWholeComesFirst(t *testing.T) {
	t.Parallel()
	f, all, memory := stage(100, 10, 190)
	all[1].Exact = true
	f.Rotate(begin, all, memory)
	if got := turns(all); !slices.Equal(got, []int{1}) {
		t.Errorf("%v are fetched, want the span alone", got)
	}
}

// Nobody is fetched who has, or needs, no more; neither with room for two nor when the turn
// was had already.
func TestWhoTakesNoMoreHasNoTurn(t *testing.T) {
	t.Parallel()
	for name, level := range map[string]Level{
		"whole": {Whole: true}, "halted": {Halted: true}, "given back": {Ending: true}, "taken over": {Restoring: true},
	} {
		f, all, memory := stage(100, 50, 10)
		done := level
		done.Bytes = 100
		all[0].fetched.Level = done
		f.Rotate(begin, all, memory)
		if got := turns(all); !slices.Equal(got, []int{1, 2}) {
			t.Errorf("%s: %v are fetched, want the others", name, got)
		}
		done.Bytes = 50
		all[1].fetched.Level = done
		f.Rotate(begin, all, memory)
		if got := turns(all); !slices.Equal(got, []int{2}) {
			t.Errorf("%s in its turn: %v are fetched, want the last one", name, got)
		}
	}
}

// A turn goes on beyond its time only while something of the span comes.
func TestATurnEndsWhenNothingComes(t *testing.T) {
	t.Parallel()
	for _, exact := range []bool{false, true} {
		f, all, memory := stage(40, 30, 20)
		for i := range all {
			all[i].Exact = exact
		}
		all[0].Next, f.most = 10, 1
		f.Rotate(begin, all, memory)
		all[0].Next = 20
		at := begin.Add(turnTime + time.Millisecond)
		for _, now := range []time.Time{at, at.Add(turnTime)} {
			f.Rotate(now, all, memory)
			if got := turns(all); slices.Contains(got, 0) != exact {
				t.Errorf("exact %v: after a delivery %v are fetched at %s", exact, got, now)
			}
		}
		f.Rotate(at.Add(turnTime+time.Millisecond), all, memory)
		if got := turns(all); slices.Contains(got, 0) {
			t.Errorf("exact %v: without a delivery %v are fetched", exact, got)
		}
	}
}

func TestTheFocusIsOffOnceEverythingIsRead(t *testing.T) {
	t.Parallel()
	f, all, memory := stage(100, 100)
	f.Rotate(begin, all, memory)
	for _, r := range all {
		r.AtEnd = true
	}
	memory.Release(51) // less than half is used
	for range all {
		f.Rotate(begin, all, memory)
	}
	if got := turns(all); f.on || len(got) != len(all) {
		t.Errorf("on: %v, %v are fetched", f.on, got)
	}
	if !f.Begin() || f.Begin() {
		t.Error("it cannot be turned on again, or twice")
	}
}
