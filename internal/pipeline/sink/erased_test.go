package sink

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
	"github.com/millrace/millrace/internal/privacy/tombstone"
)

// cemetery is a Tombstones that a test writes to.
type cemetery struct {
	mu  sync.Mutex
	set *tombstone.Set
	err error
}

func (c *cemetery) Current(context.Context) (*tombstone.Set, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.set, c.err
}

func (c *cemetery) erase(profiles ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []tombstone.Tombstone
	for _, p := range profiles {
		all = append(all, tombstone.Tombstone{
			Owner: "web_1", Kind: tombstone.Profile, ID: tombstone.IDOf(tombstone.Profile, []byte("web_1"), []byte(p)),
			Before: time.UnixMilli(noon),
		})
	}
	c.set = tombstone.NewSet(all)
}

// profiled returns the record of an event of a profile.
func profiled(id, profile string, at, received int64) buffer.Record {
	e := record.Event{
		Version: 1, ID: []byte(id), Organization: []byte("org_1"), Website: []byte("web_1"), Owner: []byte("web_1"),
		Type: []byte(record.TypeCustom), Name: []byte("n"), TimeMillis: at, ReceivedAt: received, ProfileID: []byte(profile),
	}
	return buffer.Record{ReceivedAt: received, Hash: record.HashOf(e.Owner, e.ID), Value: record.AppendEvent(nil, &e)}
}

// runErasing is run with tombstones.
func runErasing(t *testing.T, w *world, c *cemetery, long time.Duration) {
	t.Helper()
	s := newSink(t, testConfig(), w)
	s.deps.Tombstones = c
	stop := start(t, s)
	time.Sleep(long) //nolint:forbidigo // fake time
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

func (w *world) stored() (ids []string) {
	for _, r := range w.rows {
		ids = append(ids, r.id)
	}
	slices.Sort(ids)
	return ids
}

func TestWhatWasErasedIsLeftOutAndCountedApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, c := newWorld(part), &cemetery{}
		c.erase("anna")
		w.produce(part,
			profiled("a", "anna", noon, noon), profiled("b", "ben", noon, noon), profiled("c", "anna", noon, noon),
			profiled("a", "anna", noon, noon),   // a duplicate, as it always was
			profiled("d", "anna", noon, noon+1), // received after the erasure
			profiled("e", "anna", 5, noon),      // would be a dead letter, and be kept as one
			profiled("f", "ben", noon, noon), anEvent("g", noon, noon),
		)
		runErasing(t, w, c, time.Minute)
		if diff := cmp.Diff([]string{"b", "d", "f", "g"}, w.stored()); diff != "" {
			t.Errorf("stored (-want +got):\n%s", diff)
		}
		if len(w.letters) != 0 {
			t.Errorf("%d dead letters", len(w.letters))
		}
		if e := w.ledger[part]; len(e) != 1 || e[0].Stored != 4 || e[0].Duplicates != 1 || e[0].Erased != 3 ||
			e[0].DeadLetters+e[0].Skipped != 0 {
			t.Errorf("ledger %+v", e)
		}
	})
}

// A plan that was inserted before the erasure is inserted again after it. Where
// rows are rejected, the tokens are named by them.
func TestARangeIsCutAsBeforeWhenARejectedRowWasErased(t *testing.T) {
	t.Parallel()
	insertTokens := map[bool]map[string]bool{}
	for _, erased := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w, c := newWorld(part), &cemetery{}
			for n := range 10 {
				w.produce(part, profiled(fmt.Sprint("e", n), fmt.Sprint("p", n), noon, noon))
			}
			state := ledger.NewState([16]byte{}, 1)
			state.Plan, state.Rejected = &[2]int64{0, 9}, []int64{4}
			w.commitState(part, 0, state)
			if erased {
				c.erase("p4", "p7")
			}
			runErasing(t, w, c, time.Minute)
			insertTokens[erased] = maps.Clone(w.insertTokens)
			if want := map[bool]int{false: 9, true: 8}[erased]; len(w.rows) != want {
				t.Errorf("%d rows, want %d", len(w.rows), want)
			}
			if want := map[bool]int{false: 1, true: 0}[erased]; len(w.letters) != want {
				t.Errorf("%d dead letters, want %d", len(w.letters), want)
			}
		})
	}
	if diff := cmp.Diff(insertTokens[false], insertTokens[true]); diff != "" || len(insertTokens[true]) < 2 {
		t.Errorf("tokens with the erasure (-without +with):\n%s", diff)
	}
}

func TestARangeThatCouldNotBeInsertedIsBuiltAgainAfterAnErasure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, c := newWorld(part), &cemetery{}
		w.produce(part, profiled("a", "anna", noon, noon), profiled("b", "ben", noon, noon))
		begin := time.Now()
		w.insertFails = func(string) error {
			if time.Since(begin) < time.Minute {
				return &InsertError{Class: ClassNetwork, Err: errors.New("connection refused")}
			}
			return nil
		}
		time.AfterFunc(30*time.Second, func() { c.erase("anna") })
		runErasing(t, w, c, 10*time.Minute)
		if diff := cmp.Diff([]string{"b"}, w.stored()); diff != "" {
			t.Errorf("stored (-want +got):\n%s", diff)
		}
		if e := w.ledger[part]; len(e) != 1 || e[0].Stored != 1 || e[0].Erased != 1 ||
			e[0].Span != (ledger.Span{First: 0, Last: 1}) {
			t.Errorf("ledger %+v", e)
		}
	})
}

func TestNothingIsStoredWhileNobodyKnowsWhatWasErased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, c := newWorld(part), &cemetery{err: errors.New("connection refused")}
		w.produce(part, profiled("a", "anna", noon, noon))
		time.AfterFunc(10*time.Minute, func() {
			if len(w.stored()) > 0 {
				t.Error("a record was stored")
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			c.err = nil
		})
		runErasing(t, w, c, 20*time.Minute)
		if diff := cmp.Diff([]string{"a"}, w.stored()); diff != "" {
			t.Errorf("stored in the end (-want +got):\n%s", diff)
		}
	})
}

// While a block waits to be inserted, and what was erased meanwhile is looked up, the range's
// dead letters are counted. The race detector sees whether the two are in each other's way.
func TestTombstonesAreReplacedWhileDeadLettersAreCounted(t *testing.T) {
	t.Parallel()
	c := &cemetery{}
	s := newSink(t, testConfig(), newWorld(part))
	s.deps.Tombstones = c
	a := attempt{settler: &newWorker(s.common, Assignment{Partition: part, Committed: -1}).settler}
	r := &job{Range: &buffer.Range{Records: []buffer.Held{{ReceivedAt: noon}}}}
	const times = int64(100)
	var both sync.WaitGroup
	both.Go(func() {
		for n := range times {
			c.erase(fmt.Sprint("profile-", n))
			if err := a.upToDate(t.Context(), r); err != nil {
				t.Error(err)
			}
		}
	})
	both.Go(func() {
		for range times {
			r.addLetters([]DeadLetter{{Original: buffer.Original{Key: []byte("web_1")}}})
		}
	})
	both.Wait()
	var got int64
	for _, x := range r.shares.list() {
		got += x.DeadLetters
	}
	if got != times {
		t.Errorf("%d dead letters are counted, want %d", got, times)
	}
}
