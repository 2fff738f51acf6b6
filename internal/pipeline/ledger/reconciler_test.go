package ledger

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/platform/config"
)

// memory is a Store without a database.
type memory struct {
	growing bool                    // every count is larger than the one before
	looks   map[Touched][]time.Time // then: when a pair was counted
	entries []Entry
	marks   map[Partition]Cursor
	counts  map[Touched]Counts
	cells   map[Touched]bool // pairs whose cells differ
	listed  map[Touched]Reason
	asked   int // pairs that were counted
	failing atomic.Bool
}

func newMemory() *memory {
	return &memory{
		marks: map[Partition]Cursor{}, counts: map[Touched]Counts{},
		cells: map[Touched]bool{}, listed: map[Touched]Reason{}, looks: map[Touched][]time.Time{},
	}
}

func (m *memory) fail() error {
	if m.failing.Load() {
		return context.DeadlineExceeded
	}
	return nil
}

func (m *memory) Entries(_ context.Context, _ Partition, from Cursor, limit int) ([]Entry, error) {
	m.entries = distinct(m.entries)
	return after(m.entries, from, limit), m.fail()
}

func (m *memory) Mark(_ context.Context, p Partition) (Cursor, bool, error) {
	c, ok := m.marks[p]
	return c, ok, m.fail()
}

func (m *memory) SetMarks(_ context.Context, marks []Mark) error {
	for _, each := range marks {
		m.marks[each.Partition] = each.Cursor
	}
	return m.fail()
}

func (m *memory) Count(_ context.Context, _ string, pairs []Touched) ([]Counts, error) {
	all := make([]Counts, len(pairs))
	for i, p := range pairs {
		all[i] = m.counts[p]
		if n := uint64(m.asked); m.growing {
			all[i] = Counts{n, n, n}
			m.looks[p] = append(m.looks[p], time.Now())
		}
	}
	m.asked += len(pairs)
	return all, m.fail()
}

func (m *memory) Differing(_ context.Context, pairs []Touched) ([]Touched, error) {
	return slices.DeleteFunc(slices.Clone(pairs), func(t Touched) bool { return !m.cells[t] }), m.fail()
}

func (m *memory) List(_ context.Context, days []Listed) error {
	for _, d := range days {
		m.listed[d.Touched] = d.Reason
	}
	return m.fail()
}

func (m *memory) Clear(_ context.Context, days []Touched) error {
	for _, d := range days {
		delete(m.listed, d)
	}
	return m.fail()
}

func (m *memory) Dirty(context.Context) (int, error) { return len(m.listed), m.fail() }

func (m *memory) Found(context.Context, int) ([]Touched, error) {
	var found []Touched
	for t, reason := range m.listed {
		if reason != ReasonReplay {
			found = append(found, t)
		}
	}
	return found, m.fail()
}

func (m *memory) InsertRate(context.Context) (float64, error) { return 50, m.fail() }

const settleTime = time.Minute

// pass lets time pass in a bubble.
func pass(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // takes no time within synctest

// watch is a Reconciler with all around it.
type watch struct {
	*Reconciler

	store *memory
	at    []Settled
	log   *strings.Builder
}

func newWatch(t *testing.T, store *memory) *watch {
	t.Helper()
	w := &watch{store: store, log: &strings.Builder{}}
	var err error
	w.Reconciler, err = New(
		Config{Interval: time.Minute, Settle: settleTime, Pairs: 100},
		Deps{
			Log: slog.New(slog.NewTextHandler(w.log, nil)), Metrics: prometheus.NewRegistry(), Store: store,
			Settled:    func() []Settled { return w.at },
			Remembered: func(context.Context) (InsertTokenMemory, error) { return InsertTokenMemory{Inserts: 300_000}, nil },
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *watch) round(t *testing.T, next int64) {
	t.Helper()
	w.at = []Settled{{Topic: "events.v1", Partition: 3, Epoch: 1, Next: next}}
	if err := w.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
}

var here = Partition{Topic: "events.v1", Index: 3}

func TestTheMarkFollowsTheCommittedOffset(t *testing.T) {
	t.Parallel()
	store := newMemory()
	store.entries = []Entry{settled(1, 100, 109), settled(1, 110, 119)}
	w := newWatch(t, store)
	w.round(t, 110)
	if diff := gocmp.Diff(Cursor{1, 110}, store.marks[here]); diff != "" {
		t.Errorf("the mark, with a range that is not committed (-want +got):\n%s", diff)
	}
	w.round(t, 120)
	if diff := gocmp.Diff(Cursor{1, 120}, store.marks[here]); diff != "" {
		t.Errorf("the mark (-want +got):\n%s", diff)
	}
	if got := testutil.ToFloat64(w.metrics.gaps); got != 0 {
		t.Errorf("%v gaps", got)
	}
	if got := testutil.ToFloat64(w.metrics.horizon); got != 6000 {
		t.Errorf("the token horizon is %v s, want 300000/50", got)
	}
}

func TestAGapIsToldEachRoundUntilItIsCovered(t *testing.T) {
	t.Parallel()
	store := newMemory()
	store.entries = []Entry{settled(1, 0, 9), settled(1, 20, 29)}
	w := newWatch(t, store)
	for i := range 2 {
		w.log.Reset()
		w.round(t, 30)
		if got := w.log.String(); !strings.Contains(got, "level=ERROR") ||
			!strings.Contains(got, "topic=events.v1 partition=3 first=10 last=19") {
			t.Errorf("round %d logs\n%s", i, got)
		}
		if gaps, offsets := testutil.ToFloat64(w.metrics.gaps), testutil.ToFloat64(w.metrics.gapOffsets); gaps != 1 ||
			offsets != 10 {
			t.Errorf("round %d: %v gaps with %v offsets, want 1 with 10", i, gaps, offsets)
		}
		if got := store.marks[here]; got != (Cursor{1, 10}) {
			t.Errorf("round %d: the mark is %v, want it before the gap", i, got)
		}
	}
	again := newWatch(t, store)
	again.round(t, 30)
	if got := testutil.ToFloat64(again.metrics.gapOffsets); got != 10 {
		t.Errorf("after a restart, gaps have %v offsets, want 10", got)
	}
	store.entries = append(store.entries, settled(1, 10, 14))
	w.round(t, 30)
	if got := testutil.ToFloat64(w.metrics.gapOffsets); got != 5 {
		t.Errorf("a gap of which half is covered has %v offsets, want 5", got)
	}
	store.entries = append(store.entries, settled(1, 15, 19))
	w.log.Reset()
	w.round(t, 30)
	if got := testutil.ToFloat64(w.metrics.gapOffsets); got != 0 || strings.Contains(w.log.String(), "level=ERROR") {
		t.Errorf("a covered gap has %v offsets, and the log says\n%s", got, w.log)
	}
	if got := store.marks[here]; got != (Cursor{1, 30}) {
		t.Errorf("the mark is %v, want the end", got)
	}
}

// busy returns an entry for each offset, each of a pair of its own.
func busy(from, to int64) (entries []Entry) {
	for i := from; i < to; i++ {
		entries = append(entries, settled(1, i, i, Touched{Owner: fmt.Sprint("web_", i), Day: 20_000}))
	}
	return entries
}

func TestMorePairsThanMayWaitHideNoGap(t *testing.T) {
	t.Parallel()
	store := newMemory()
	w := newWatch(t, store)
	w.maxWaiting = 10
	store.entries = busy(0, 20)
	w.round(t, 20)
	store.entries = append(store.entries, settled(1, 30, 39), settled(1, 35, 44))
	store.entries[len(store.entries)-1].Stored--
	w.round(t, 45)
	if gap, twice, wrong := testutil.ToFloat64(w.metrics.gapOffsets), testutil.ToFloat64(w.metrics.overlaps),
		testutil.ToFloat64(w.metrics.miscounts); gap != 10 || twice != 1 || wrong != 1 {
		t.Errorf("gaps of %v offsets, %v overlaps and %v miscounts, want 10, 1 and 1", gap, twice, wrong)
	}
	if got := testutil.ToFloat64(w.metrics.behind); got != 0 {
		t.Errorf("the checks are %v offsets behind", got)
	}
}

func TestPairsWithoutRoomAreNotedWhenOthersWereLookedAt(t *testing.T) {
	t.Parallel()
	for _, pairs := range []int64{10, 11, 25} {
		synctest.Test(t, func(t *testing.T) {
			store := newMemory()
			store.entries = busy(0, pairs)
			for i := range store.entries {
				pair := store.entries[i].Touched[0]
				store.counts[pair], store.cells[pair] = Counts{10, 11, 11}, true
			}
			w := newWatch(t, store)
			w.maxWaiting = 10
			w.round(t, pairs)
			if got := testutil.ToFloat64(w.metrics.waiting); got != 10 {
				t.Errorf("%v pairs of %d wait, want 10", got, pairs)
			}
			for range 12 {
				pass(settleTime)
				w.round(t, pairs)
			}
			if got := int64(len(store.listed)); got != pairs {
				t.Errorf("%d days are listed, want %d", got, pairs)
			}
			if got := store.marks[here]; got != (Cursor{1, pairs}) {
				t.Errorf("the mark is %v, want the end", got)
			}
		})
	}
}

// The first pairs are looked at, the mark passes them, and those without room are not passed.
func TestTheMarkWaitsForPairsWithoutRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		store.entries = busy(0, 25)
		w := newWatch(t, store)
		w.maxWaiting = 10
		for i, want := range []Cursor{{1, 0}, {1, 0}, {1, 10}, {1, 10}, {1, 10}, {1, 20}} {
			w.round(t, 25)
			if got := store.marks[here]; got != want {
				t.Errorf("after round %d the mark is %v, want %v", i, got, want)
			}
			pass(settleTime)
		}
	})
}

func TestAGapThatIsCoveredWithoutRoomIsNotForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		store.entries = append([]Entry{settled(1, 10, 10)}, busy(20, 30)...)
		store.marks[here] = Cursor{1, 0}
		w := newWatch(t, store)
		w.maxWaiting = 10
		w.round(t, 30)
		store.entries = append(store.entries, settled(1, 0, 9), settled(1, 11, 19, day))
		store.counts[day], store.cells[day] = Counts{10, 11, 11}, true
		w.round(t, 30)
		if got := store.marks[here]; got != (Cursor{1, 11}) {
			t.Errorf("the mark is %v, want it before the pair without room", got)
		}
		for range 6 {
			pass(settleTime)
			w.round(t, 30)
		}
		if store.listed[day] != ReasonOver {
			t.Error("the day is not listed")
		}
	})
}

func TestOwnersThatComeAndGoFindNoGaps(t *testing.T) {
	t.Parallel()
	store := newMemory()
	store.entries = []Entry{settled(1, 0, 9)}
	first, second := newWatch(t, store), newWatch(t, store)
	first.round(t, 10)
	store.entries = append(store.entries, settled(1, 10, 19), settled(1, 20, 29))
	second.round(t, 30)
	first.round(t, 20) // does not know yet that it has lost the partition
	if got := store.marks[here]; got.Compare(Cursor{1, 20}) < 0 {
		t.Errorf("the mark is %v", got)
	}
	store.entries = append(store.entries, settled(1, 30, 39))
	for _, w := range []*watch{first, second, newWatch(t, store)} {
		w.round(t, 40)
		if got := testutil.ToFloat64(w.metrics.gaps) + testutil.ToFloat64(w.metrics.overlaps); got != 0 {
			t.Errorf("%v findings where there are none", got)
		}
	}
	if got := store.marks[here]; got != (Cursor{1, 40}) {
		t.Errorf("the mark is %v, want the end", got)
	}
}

func TestAPartitionWithoutEntriesBeginsAtItsOffset(t *testing.T) {
	t.Parallel()
	store := newMemory()
	w := newWatch(t, store)
	w.round(t, 50)
	w.round(t, 60)
	if got := testutil.ToFloat64(w.metrics.gapOffsets); got != 10 {
		t.Errorf("gaps have %v offsets, want those committed since the first round", got)
	}
}

var day = Touched{Owner: "web_1", Day: 20_000}

func TestADayThatDiffersIsListedOnceItIsQuiet(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		counts Counts
		want   map[Touched]Reason
	}{
		"equal":    {Counts{10, 10, 10}, nil},
		"too many": {Counts{10, 11, 10}, map[Touched]Reason{day: ReasonOver}},
		"too few":  {Counts{10, 10, 9}, map[Touched]Reason{day: ReasonUnder}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newMemory()
				store.entries = []Entry{settled(1, 0, 9, day)}
				store.counts[day] = tt.counts
				store.cells[day] = true
				w := newWatch(t, store)
				w.round(t, 10)
				if store.asked != 0 || testutil.ToFloat64(w.metrics.waiting) != 1 {
					t.Errorf("a pair that was touched just now was counted")
				}
				if got := store.marks[here]; got != (Cursor{1, 0}) {
					t.Errorf("the mark %v passed a pair that waits", got)
				}
				pass(settleTime)
				w.round(t, 10)
				if len(store.listed) > 0 {
					t.Error("a day was listed after one look")
				}
				pass(settleTime)
				w.round(t, 10)
				if diff := gocmp.Diff(tt.want, store.listed, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("listed (-want +got):\n%s", diff)
				}
				if waiting := testutil.ToFloat64(w.metrics.waiting); waiting != 0 {
					t.Errorf("%v pairs wait at the end", waiting)
				}
				if got := testutil.ToFloat64(w.metrics.dirty); int(got) != len(tt.want) {
					t.Errorf("%v dirty days", got)
				}
				pass(settleTime)
				w.round(t, 10)
				if got := store.marks[here]; got != (Cursor{1, 10}) {
					t.Errorf("the mark is %v, want the end", got)
				}
			})
		})
	}
}

func TestAPairThatIsTouchedAgainIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		store.entries = []Entry{settled(1, 0, 9, day)}
		store.counts[day] = Counts{10, 10, 10}
		w := newWatch(t, store)
		for range 3 {
			w.round(t, 10)
			pass(settleTime)
		}
		store.entries = append(store.entries, settled(1, 10, 19, day)) // a duplicate beyond the window
		store.counts[day], store.cells[day] = Counts{10, 20, 20}, true
		for range 3 {
			w.round(t, 20)
			pass(settleTime)
		}
		if store.listed[day] != ReasonOver {
			t.Errorf("listed are %v, want the day", store.listed)
		}
	})
}

// A website of 12,000 events an hour has a surplus of 5,000 from the beginning, or from
// later on.
func TestASurplusOnADayThatIsNeverQuietIsFound(t *testing.T) {
	t.Parallel()
	const pause, each = settleTime / 2, 100 // between two rounds, and what comes in it
	for name, tt := range map[string]struct{ begins, within time.Duration }{
		"from the beginning": {0, busyFirst + settleTime + 2*pause},
		"later":              {3 * time.Hour, busyEvery + settleTime + 2*pause},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newMemory()
				store.cells[day] = true
				w, began := newWatch(t, store), time.Now()
				for i := int64(0); len(store.listed) == 0; i++ {
					base, surplus := uint64(i)*each, uint64(0)
					if time.Since(began) >= tt.begins {
						surplus = 5000
					}
					store.entries = []Entry{settled(1, i, i, day)}
					store.counts[day] = Counts{base, base + surplus, base + surplus}
					w.round(t, i+1)
					if took := time.Since(began) - tt.begins; took > tt.within {
						t.Fatalf("after %s the day is not listed", took)
					}
					pass(pause)
				}
				if store.listed[day] != ReasonOver || time.Since(began) < tt.begins {
					t.Errorf("after %s, listed are %v", time.Since(began), store.listed)
				}
			})
		})
	}
}

func TestADayThatIsNeverQuietIsLookedAtNowAndThen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		w, began := newWatch(t, store), time.Now()
		for i := int64(0); time.Since(began) < busyFirst+5*busyEvery; i++ {
			store.entries = []Entry{settled(1, i, i, day)}
			store.counts[day] = Counts{uint64(i), uint64(i), uint64(i)}
			w.round(t, i+1)
			pass(settleTime / 2)
		}
		if store.asked < 8 || store.asked > 10 {
			t.Errorf("the pair was counted %d times in five hours, want twice an hour", store.asked)
		}
	})
}

// 100,000 websites that are never quiet take 200,000 looks an hour; a tenth of them with a
// tenth of the budget do here.
func TestTheBudgetOfLooksReachesAHundredThousandWebsites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const websites = 10_000
		touched := make([]Touched, websites)
		for i := range touched {
			touched[i] = Touched{Owner: fmt.Sprint("web_", i), Day: 20_000}
		}
		store := newMemory()
		w := newWatch(t, store)
		w.cfg.Pairs, store.growing = config.Default().Sink.ReconcilePairs/10, true
		began, caughtUp := time.Now(), false
		for i := int64(0); time.Since(began) < 3*busyEvery; i++ {
			store.entries = []Entry{settled(1, i, i, touched...)}
			w.round(t, i+1)
			caughtUp = caughtUp || time.Since(began) > 2*busyEvery && testutil.ToFloat64(w.metrics.overdue) == 0
			pass(settleTime)
		}
		if !caughtUp {
			t.Error("in the last of three hours there was no round after which nobody waited")
		}
		if least := 2 * websites * 2; store.asked < least {
			t.Errorf("%d looks in three hours, want %d", store.asked, least)
		}
		for _, at := range store.looks {
			for i := 0; i+1 < len(at); i += 2 {
				if apart := at[i+1].Sub(at[i]); apart > 2*settleTime {
					t.Fatalf("two looks at a website are %s apart, and what came between them hides a surplus", apart)
				}
			}
		}
	})
}

func TestWaitingPairsOutliveARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		store.entries = []Entry{settled(1, 0, 9), settled(1, 10, 19, day), settled(1, 20, 29)}
		store.counts[day], store.cells[day] = Counts{10, 11, 11}, true
		newWatch(t, store).round(t, 30)
		if got := store.marks[here]; got != (Cursor{1, 10}) {
			t.Errorf("the mark is %v, want it before the entry whose pair waits", got)
		}
		w := newWatch(t, store)
		for range 3 {
			w.round(t, 30)
			pass(settleTime)
		}
		if store.listed[day] != ReasonOver {
			t.Error("the day is not listed")
		}
	})
}

func TestARoundLooksAtNoMorePairsThanItMay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		var touched []Touched
		for i := range int32(250) {
			touched = append(touched, Touched{Owner: "web_1", Day: i})
		}
		store.entries = []Entry{settled(1, 0, 9, touched...)}
		w := newWatch(t, store)
		w.round(t, 10)
		for i, want := range []int{100, 200, 250 + 50} {
			pass(settleTime)
			w.round(t, 10)
			if store.asked != want {
				t.Errorf("after round %d, %d pairs were counted, want %d", i, store.asked, want)
			}
		}
	})
}

func TestAListedDayIsClearedWhenItsCellsAreEqualTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		replayed := Touched{Owner: "web_2", Day: 1}
		different := Touched{Owner: "web_3", Day: 1}
		store.listed = map[Touched]Reason{day: ReasonUnder, replayed: ReasonReplay, different: ReasonOver}
		store.cells[different] = true
		w := newWatch(t, store)
		w.round(t, 0)
		if len(store.listed) != 3 {
			t.Errorf("after one look, %v are listed", store.listed)
		}
		pass(settleTime)
		w.round(t, 0)
		want := map[Touched]Reason{replayed: ReasonReplay, different: ReasonOver}
		if diff := gocmp.Diff(want, store.listed); diff != "" {
			t.Errorf("listed (-want +got):\n%s", diff)
		}
	})
}

func TestAFailedRoundIsMadeUpFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		store.entries = []Entry{settled(1, 0, 9, day)}
		store.counts[day], store.cells[day] = Counts{10, 11, 11}, true
		w, began := newWatch(t, store), time.Now()
		w.at = []Settled{{Topic: "events.v1", Partition: 3, Epoch: 1, Next: 10}}
		store.failing.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.Run(ctx) }()
		pass(3*time.Minute + time.Second)
		if at := testutil.ToFloat64(w.metrics.success); at != float64(began.Unix()) {
			t.Errorf("before any round was one, the last success was at %.0f, want the start at %d", at, began.Unix())
		}
		store.failing.Store(false)
		pass(4 * time.Minute)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if store.listed[day] != ReasonOver {
			t.Error("the day is not listed")
		}
		failed, good := testutil.ToFloat64(w.metrics.rounds.WithLabelValues("failed")),
			testutil.ToFloat64(w.metrics.rounds.WithLabelValues("done"))
		if failed != 3 || good != 4 {
			t.Errorf("%v rounds failed and %v did not, want 3 and 4", failed, good)
		}
	})
}

func TestWhatCannotWorkIsRejected(t *testing.T) {
	t.Parallel()
	good := Config{Interval: time.Minute, Settle: time.Minute, Pairs: 1}
	for _, breakIt := range []func(*Config){
		func(c *Config) { c.Interval = 0 }, func(c *Config) { c.Settle = 0 },
		func(c *Config) { c.Pairs = 0 },
	} {
		cfg := good
		breakIt(&cfg)
		if _, err := New(cfg, Deps{Metrics: prometheus.NewRegistry()}); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}
