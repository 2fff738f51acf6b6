package erasure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/platform/lease"
	"github.com/millrace/millrace/internal/privacy/tombstone"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/website"
)

// world is a store and tables in memory: enough to see what a Job does when.
type world struct {
	mu       sync.Mutex
	begin    time.Time
	erasures map[string]*Erasure
	rows     map[tombstone.Tombstone]int64
	links    [][]byte
	fail     string        // the call that fails
	stubborn int           // deletions that leave the rows
	slow     time.Duration // what a deletion takes
	gone     []*website.Website
	orgs     []string // deleted ones
	prunes   int      // how often salts were to be destroyed
	calls    []string
	stones   map[string]time.Time // when the tombstones of an erasure were written
	life     time.Duration        // of records
	lifeErr  error
}

func newWorld() *world {
	return &world{
		begin: time.Now(), erasures: map[string]*Erasure{}, rows: map[tombstone.Tombstone]int64{},
		stones: map[string]time.Time{},
	}
}

var errAway = errors.New("connection refused")

// call notes a call and when it came, to the second.
func (w *world) call(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fail == name {
		return errAway
	}
	w.calls = append(w.calls, time.Since(w.begin).Truncate(time.Second).String()+" "+name)
	return nil
}

func (*world) Lease(context.Context, string) (lease.State, error) { return lease.State{}, nil }
func (*world) TakeLease(context.Context, string, string, lease.State) (bool, error) {
	return true, nil
}

func (w *world) PruneSalts(context.Context, time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.prunes++
	if w.fail == "prune" {
		return errAway
	}
	return nil
}

func (w *world) OpenErasures(_ context.Context, s Selection) (open []*Erasure, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(w.erasures)) {
		e := w.erasures[id]
		if slices.Contains(s.In, e.State) && !slices.Contains(s.Without, id) && len(open) < s.Limit {
			open = append(open, clone(e))
		}
	}
	return open, nil
}

func (w *world) CountErasures(context.Context) (is Standing, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	is.Open = map[State]int{}
	for _, e := range w.erasures {
		is.Open[e.State]++
		if is.Oldest.IsZero() || e.RequestedAt.Before(is.Oldest) {
			is.Oldest = e.RequestedAt
		}
	}
	return is, nil
}

func clone(e *Erasure) *Erasure {
	is := *e
	is.Stones, is.Deleted = slices.Clone(e.Stones), maps.Clone(e.Deleted)
	return &is
}

func (w *world) SaveErasure(_ context.Context, e *Erasure, _ time.Time) error {
	if w.fail == "save "+string(e.State) {
		return errAway
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.erasures[e.ID] = clone(e)
	return nil
}

func (w *world) CreateErasure(_ context.Context, _ audit.By, e *Erasure) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.erasures[e.ID] = clone(e)
	w.gone = nil
	return nil
}

func (w *world) DeletedOrganizations(context.Context, time.Time, int) (ids []string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ids, w.orgs = w.orgs, nil
	return ids, nil
}

func (w *world) DeletedWebsites(_ context.Context, by time.Time, _ int) (all []*website.Website, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.gone {
		if !s.DeletedAt.After(by) {
			all = append(all, s)
		}
	}
	return all, nil
}

func (w *world) Bury(_ context.Context, erasureID string, stones []tombstone.Tombstone) error {
	w.mu.Lock()
	w.stones[erasureID] = time.Now()
	w.mu.Unlock()
	return w.call(fmt.Sprint("bury ", len(stones)))
}

func (w *world) Buried(_ context.Context, by time.Time) (ids []string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, at := range w.stones {
		if !at.After(by) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (w *world) DoneErasures(_ context.Context, ids []string, by time.Time) (done []string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		if e := w.erasures[id]; e != nil && e.State == Done && !e.DoneAt.After(by) {
			done = append(done, id)
		}
	}
	return done, nil
}

func (w *world) Lift(_ context.Context, ids []string, by time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		if !w.stones[id].After(by) {
			delete(w.stones, id)
		}
	}
	return nil
}

func (w *world) topics(context.Context) (time.Duration, error) { return w.life, w.lifeErr }

func (w *world) Links(context.Context, string, tombstone.ID) ([][]byte, int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fail == "links" {
		return nil, 0, errAway
	}
	return w.links, 1, nil
}

func (w *world) Count(_ context.Context, stones []tombstone.Tombstone) (map[string]int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fail == "count "+stones[0].Owner {
		return nil, errAway
	}
	n := map[string]int64{}
	for _, s := range stones {
		if w.rows[s] > 0 {
			n["events"] += w.rows[s]
		}
	}
	return n, nil
}

func (w *world) Left(ctx context.Context, stones []tombstone.Tombstone) (map[string]int64, error) {
	return w.Count(ctx, stones)
}

func (w *world) Delete(ctx context.Context, stones []tombstone.Tombstone) error {
	if err := w.call("delete"); err != nil {
		return err
	}
	if w.slow > 0 {
		select {
		case <-time.After(w.slow):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stubborn--; w.stubborn >= 0 {
		return nil
	}
	for _, s := range stones {
		delete(w.rows, s)
	}
	return nil
}

// anna adds an erasure with rows of the profile and of a visitor id.
func (w *world) anna() *Erasure {
	e := newErasure(tombstone.Profile, "org_1", "web_1", w.begin, w.begin, audit.Actor{})
	e.add(tombstone.Profile, []byte("anna"))
	w.erasures[e.ID] = e
	for _, s := range e.Tombstones() {
		w.rows[s] = 3
	}
	linked := clone(e)
	linked.add(tombstone.Visitor, []byte("v1"))
	w.rows[linked.Tombstones()[1]] = 2
	w.links = [][]byte{[]byte("v1")}
	return e
}

func (w *world) job() *Job {
	return NewJob(Config{Settle: 30 * time.Second, RestoreFor: time.Hour}, Deps{
		Store: w, Tables: w, Topics: w.topics, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
}

// runFor runs a Job of its own, as a process that starts does.
func (w *world) runFor(t *testing.T, long time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	if err := w.job().Run(ctx); err != nil {
		t.Fatal(err)
	}
}

func (w *world) is(t *testing.T, id string, state State, deleted int64, calls ...string) {
	t.Helper()
	e := w.erasures[id]
	if e.State != state || e.Deleted["events"] != deleted {
		t.Errorf("the erasure is %s with %v deleted; want %s with %d", e.State, e.Deleted, state, deleted)
	}
	if diff := cmp.Diff(calls, w.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestRowsAreDeletedOnceEveryInsertBeforeHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		e := w.anna()
		w.runFor(t, 2*time.Minute)
		w.is(t, e.ID, Done, 5, "0s bury 1", "0s bury 2", "30s delete")
		if w.erasures[e.ID].Shared != 1 || len(w.rows) != 0 {
			t.Errorf("%d ids are shared, %d rows are left", w.erasures[e.ID].Shared, len(w.rows))
		}
	})
}

// Between two processes, nobody knows how long a tombstone has been there.
func TestAProcessThatTakesOverWaitsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		e := w.anna()
		w.runFor(t, 20*time.Second)
		w.is(t, e.ID, Tombstoned, 0, "0s bury 1", "0s bury 2")
		w.runFor(t, 2*time.Minute)
		w.is(t, e.ID, Done, 5, "0s bury 1", "0s bury 2", "50s delete")
	})
}

func TestWhatIsLinkedMeanwhileIsBuriedBeforeItIsDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		e := w.anna()
		links := w.links
		w.links = nil
		time.AfterFunc(10*time.Second, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.links = links
		})
		w.runFor(t, 2*time.Minute)
		w.is(t, e.ID, Done, 5, "0s bury 1", "30s bury 2", "1m0s delete")
	})
}

func TestAnErasureIsNotDoneWhileARowIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		e := w.anna()
		w.stubborn = 2
		w.runFor(t, 31*time.Second)
		w.is(t, e.ID, Deleting, 5, "0s bury 1", "0s bury 2", "30s delete")
		w.runFor(t, 10*time.Minute)
		if got := w.erasures[e.ID]; got.State != Done || got.Failures != 0 || len(w.rows) != 0 {
			t.Errorf("in the end it is %+v, and %d rows are left", got, len(w.rows))
		}
	})
}

func TestWhateverFailsIsDoneAgain(t *testing.T) {
	t.Parallel()
	for _, fails := range []string{
		"bury 1", "links", "bury 2", "count web_1", "delete", "save tombstoned", "save deleting", "save done",
	} {
		t.Run(fails, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				e := w.anna()
				w.fail = fails
				w.runFor(t, 2*time.Minute)
				if got := w.erasures[e.ID]; got.State == Done {
					t.Error("it is done although something failed")
				}
				w.fail = ""
				w.runFor(t, 5*time.Minute)
				if got := w.erasures[e.ID]; got.State != Done || len(w.rows) != 0 {
					t.Errorf("in the end it is %+v, and %d rows are left", got, len(w.rows))
				}
			})
		})
	}
}

// What a request names is stored no longer, also while nobody can say what belongs to it.
func TestWhatARequestNamesIsBuriedWhereItsLinksCannotBeFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		e := w.anna()
		w.fail = "links"
		w.runFor(t, time.Minute)
		w.is(t, e.ID, Requested, 0, "0s bury 1")
		if w.erasures[e.ID].Failures == 0 {
			t.Error("no failure is noted")
		}
	})
}

func TestAnErasureWhoseRowsCannotBeCountedWaitsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		e := w.anna()
		other := newErasure(tombstone.Website, "org_1", "web_2", w.begin, w.begin, audit.Actor{})
		w.erasures[other.ID] = other
		w.fail = "count web_2"
		w.runFor(t, 2*time.Minute)
		if got := w.erasures[e.ID]; got.State != Done {
			t.Errorf("the erasure that can be done is %s", got.State)
		}
		if got := w.erasures[other.ID]; got.State != Deleting || got.Failures == 0 {
			t.Errorf("the other one is %s after %d failures", got.State, got.Failures)
		}
	})
}

// Of a hundred and more that are not gone on with yet, or cannot be, nobody is kept waiting.
func TestErasuresThatWaitHoldBackNoOthers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, fail string
		asked      time.Duration // when the last one is
	}{
		{"they settle", "", 20 * time.Second},
		{"their links cannot be found", "links", 5 * time.Minute},
		{"their rows cannot be counted", "count web_1", 5 * time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.fail = tc.fail
				for i := range 3 * atOnce {
					e := newErasure(tombstone.Profile, "org_1", "web_1", w.begin, w.begin, audit.Actor{})
					e.add(tombstone.Profile, []byte(strconv.Itoa(i)))
					w.erasures[e.ID] = e
				}
				var last *Erasure
				time.AfterFunc(tc.asked, func() {
					last = newErasure(tombstone.Website, "org_1", "web_2", time.Now(), time.Now(), audit.Actor{})
					_ = w.CreateErasure(t.Context(), audit.By{}, last)
				})
				w.runFor(t, tc.asked+time.Minute)
				got := w.erasures[last.ID]
				if got.State != Done {
					t.Fatalf("it is %s a minute after it was asked for", got.State)
				}
				const soon = 5 * lookEvery // while others are tried again
				buried, done := got.TombstonedAt.Sub(last.RequestedAt), got.DoneAt.Sub(got.TombstonedAt)
				if settle := w.job().cfg.Settle; buried > soon || done > settle+soon {
					t.Errorf("its tombstone is there after %s, and it is done %s later; want up to %s, and %s",
						buried, done, soon, settle+soon)
				}
			})
		})
	}
}

// Who looks at the metrics sees all of them.
func TestErasuresAreCountedBeyondThoseOfARound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.fail = "links"
		for i := range 2 * atOnce {
			e := newErasure(tombstone.Profile, "org_1", "web_1", w.begin, w.begin, audit.Actor{})
			e.add(tombstone.Profile, []byte(strconv.Itoa(i)))
			w.erasures[e.ID] = e
		}
		j := w.job()
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = j.Run(ctx) }()
		time.Sleep(10 * time.Second) //nolint:forbidigo // fake time
		open := testutil.ToFloat64(j.metrics.open.WithLabelValues(string(Requested)))
		if oldest := testutil.ToFloat64(j.metrics.oldest); open != 2*atOnce || oldest < 8 || oldest > 10 {
			t.Errorf("%v are open, the oldest for %v seconds; want %d, and up to 10", open, oldest, 2*atOnce)
		}
		cancel()
		synctest.Wait()
	})
}

func TestTombstonesAreWrittenWhileRowsAreBeingDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		first := w.anna()
		w.slow = time.Hour
		second := newErasure(tombstone.Website, "org_1", "web_2", w.begin, w.begin, audit.Actor{})
		time.AfterFunc(10*time.Minute, func() { _ = w.CreateErasure(t.Context(), audit.By{}, second) })
		w.runFor(t, 12*time.Minute)
		if got := w.erasures[first.ID].State; got != Deleting {
			t.Errorf("the first is %s", got)
		}
		if got := w.erasures[second.ID].State; got != Deleting {
			t.Errorf("the second is %s", got)
		}
		if at := w.erasures[second.ID].TombstonedAt.Sub(w.begin); at > 10*time.Minute+2*lookEvery {
			t.Errorf("its tombstone is there after %s", at)
		}
	})
}

func TestAWebsiteIsErasedAfterItsRestorePeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.gone = []*website.Website{{Record: managed.Record{ID: "web_1", OrganizationID: "org_1", DeletedAt: w.begin}}}
		w.runFor(t, time.Hour)
		if len(w.erasures) != 0 {
			t.Fatal("it is erased within its restore period")
		}
		w.runFor(t, time.Hour)
		for _, e := range w.erasures {
			if e.Kind != tombstone.Website || e.OwnerID != "web_1" || e.State != Done || e.By != audit.BySystem().Actor ||
				!e.Before.Equal(tombstone.Forever) {
				t.Errorf("the erasure is %+v", e)
			}
		}
		if len(w.erasures) != 1 {
			t.Errorf("%d erasures", len(w.erasures))
		}
	})
}

func TestAnOrganizationIsErasedAfterItsWebsites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.orgs = []string{"org_1"}
		w.runFor(t, time.Hour)
		if len(w.erasures) != 1 {
			t.Errorf("%d erasures, want one", len(w.erasures))
		}
		for _, e := range w.erasures {
			if e.Kind != tombstone.Website || e.OwnerID != "org_1" || e.OrganizationID != "org_1" || e.State != Done {
				t.Errorf("the erasure is %+v", e)
			}
		}
	})
}

// Something reads their table, which may take hours, and each try keeps others waiting.
func TestSaltsThatCannotBeDestroyedHoldNothingElseBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.orgs, w.fail = []string{"org_1"}, "prune"
		w.runFor(t, 2*time.Minute-time.Second)
		if len(w.erasures) != 1 || w.prunes != 4 {
			t.Errorf("%d erasures, and %d tries to destroy salts; want 1 and one each half a minute", len(w.erasures), w.prunes)
		}
		w.fail, w.prunes = "", 0
		w.runFor(t, time.Hour-time.Second)
		if w.prunes != 6 {
			t.Errorf("salts are looked for %d times in an hour, want 6", w.prunes)
		}
	})
}

// runAt runs a Job for a moment once it is a time.
func (w *world) runAt(t *testing.T, at time.Time) {
	t.Helper()
	time.Sleep(time.Until(at)) //nolint:forbidigo // the clock of the bubble
	w.runFor(t, time.Millisecond)
}

func TestJob_LiftsTombstonesOnceNothingCanComeBack(t *testing.T) {
	t.Parallel()
	const life = 37 * 24 * time.Hour
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.life = life
		e := w.anna()
		w.runFor(t, 2*time.Minute)
		if w.erasures[e.ID].State != Done {
			t.Fatalf("the erasure is %s", w.erasures[e.ID].State)
		}
		ends := w.erasures[e.ID].DoneAt.Add(life + liftSlack)
		w.stones["era_lost"] = w.begin // the metadata store knows nothing of it
		open := newErasure(tombstone.Profile, "org_1", "web_1", w.begin, w.begin, audit.Actor{})
		open.State = Deleting
		open.add(tombstone.Visitor, []byte("v2"))
		w.erasures[open.ID], w.stones[open.ID], w.fail = open, w.begin, "count web_1"

		w.runAt(t, ends.Add(-2*time.Millisecond))
		if len(w.stones) != 3 {
			t.Errorf("before the end, %v are there", w.stones)
		}
		w.life = 0 // records are kept forever
		w.runAt(t, ends)
		w.life, w.lifeErr = life, errAway
		w.runAt(t, ends.Add(time.Second))
		if len(w.stones) != 3 {
			t.Errorf("while nobody knows the end, %v are there", w.stones)
		}
		w.lifeErr = nil
		w.stones[e.ID] = time.Now() // written again, after a restored backup
		w.runAt(t, ends.Add(2*time.Second))
		if len(w.stones) != 3 {
			t.Errorf("of tombstones that were written again, %v are there", w.stones)
		}
		w.stones[e.ID] = w.begin
		w.runAt(t, ends.Add(3*time.Second))
		if _, there := w.stones[e.ID]; there || len(w.stones) != 2 {
			t.Errorf("after the end, %v are there", w.stones)
		}
	})
}

func TestJob_LiftsAtTheEndOfARecordsLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.life = time.Hour
		e := newErasure(tombstone.Profile, "org_1", "web_1", w.begin, w.begin, audit.Actor{})
		e.State, e.DoneAt = Done, w.begin
		w.erasures[e.ID], w.stones[e.ID] = e, w.begin
		w.runFor(t, sweepEvery)
		w.runAt(t, w.begin.Add(time.Hour+liftSlack-2*time.Millisecond))
		if len(w.stones) != 1 {
			t.Error("a tombstone is gone before its end")
		}
		w.runAt(t, w.begin.Add(time.Hour+liftSlack))
		if len(w.stones) != 0 {
			t.Error("a tombstone is there at its end")
		}
	})
}
