package verify

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/pipeline/ledger"
)

// looked is a base that shows one pair, as it is at one moment after the other; what is
// not here is not asked for.
type looked struct {
	Base

	moments []moment
	asked   int
}

type moment struct {
	ledger.Counts

	differs bool
}

var pair = ledger.Touched{Owner: "web_1", Day: 20_000}

// now returns the moment of a question: the last one stays.
func (l *looked) now() moment {
	l.asked++
	return l.moments[min(l.asked, len(l.moments))-1]
}

func (l *looked) Count(_ context.Context, _ string, pairs []ledger.Touched) ([]ledger.Counts, error) {
	return slices.Repeat([]ledger.Counts{l.now().Counts}, len(pairs)), nil
}

func (l *looked) Differing(_ context.Context, pairs []ledger.Touched) ([]ledger.Touched, error) {
	if l.now().differs {
		return pairs, nil
	}
	return nil, nil
}

func TestADayIsLookedAtTwiceWhileSinksRun(t *testing.T) {
	t.Parallel()
	at := func(base, quarters, days uint64, differs bool) moment {
		return moment{ledger.Counts{Base: base, Quarters: quarters, Days: days}, differs}
	}
	whole, half := at(5, 5, 5, false), at(5, 4, 5, true)
	more, still := at(6, 5, 6, true), at(7, 6, 7, true)
	for name, tt := range map[string]struct {
		moments  []moment
		stopped  bool
		want     Day
		duration time.Duration
	}{
		"an insert was under way":           {[]moment{half, whole}, false, Day{}, time.Minute},
		"an insert begins between the two":  {[]moment{whole, half, at(6, 6, 6, false)}, false, Day{}, 2 * time.Minute},
		"an insert begins in the last look": {[]moment{whole, whole, more}, false, Day{}, time.Minute},
		"a rollup lacks an event":           {[]moment{half}, false, Day{Rollups: 1}, time.Minute},
		"only a cell differs":               {[]moment{at(5, 5, 5, true)}, false, Day{Rollups: 1}, time.Minute},
		"events keep coming": {
			[]moment{half, half, more, more, still, still, at(8, 7, 8, true)}, false, Day{Changing: 1}, 3 * time.Minute,
		},
		"nobody inserts, so it differs": {[]moment{half}, true, Day{Rollups: 1}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := Options{Settle: time.Minute}
				v := verifier{base: &looked{moments: tt.moments}, o: o, report: newReport(o), running: !tt.stopped}
				begin := time.Now()
				if err := v.differing(t.Context(), []ledger.Touched{pair}); err != nil {
					t.Fatal(err)
				}
				v.report.finish()
				tt.want.Date = "total"
				if diff := cmp.Diff(tt.want, v.report.Total); diff != "" {
					t.Errorf("total (-want +got):\n%s", diff)
				}
				if took := time.Since(begin); took != tt.duration {
					t.Errorf("it took %s, want %s", took, tt.duration)
				}
			})
		})
	}
}
