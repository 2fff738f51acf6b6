package verify

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/ledger"
	"github.com/millrace/millrace/internal/sink"
)

// looked is a base that shows one pair, differently at each look; what is not
// here is not asked for.
type looked struct {
	Base

	counts []ledger.Counts
	differ []bool
	look   int
}

var pair = sink.Touched{Owner: "web_1", Day: 20_000}

func (l *looked) Count(_ context.Context, _ string, pairs []sink.Touched) ([]ledger.Counts, error) {
	l.look++
	return slices.Repeat([]ledger.Counts{l.counts[min(l.look, len(l.counts))-1]}, len(pairs)), nil
}

func (l *looked) Differing(_ context.Context, pairs []sink.Touched) ([]sink.Touched, error) {
	if l.differ[min(l.look, len(l.differ))-1] {
		return pairs, nil
	}
	return nil, nil
}

func TestADayIsLookedAtTwiceWhileSinksRun(t *testing.T) {
	t.Parallel()
	whole, half := ledger.Counts{Base: 5, Quarters: 5, Days: 5}, ledger.Counts{Base: 5, Quarters: 4, Days: 5}
	more, still := ledger.Counts{Base: 6, Quarters: 5, Days: 6}, ledger.Counts{Base: 7, Quarters: 6, Days: 7}
	for name, tt := range map[string]struct {
		base     looked
		stopped  bool
		want     Day
		duration time.Duration
	}{
		"an insert was under way":       {looked{counts: []ledger.Counts{half, whole}, differ: []bool{true, false}}, false, Day{}, time.Minute},
		"a rollup lacks an event":       {looked{counts: []ledger.Counts{half, half}, differ: []bool{true, true}}, false, Day{Rollups: 1}, time.Minute},
		"only a cell differs":           {looked{counts: []ledger.Counts{whole, whole}, differ: []bool{true, true}}, false, Day{Rollups: 1}, time.Minute},
		"events keep coming":            {looked{counts: []ledger.Counts{half, more, still, {Base: 8, Quarters: 7, Days: 8}}, differ: []bool{true}}, false, Day{Changing: 1}, 3 * time.Minute},
		"nobody inserts, so it differs": {looked{counts: []ledger.Counts{half}, differ: []bool{true}}, true, Day{Rollups: 1}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := Options{Settle: time.Minute}
				v := verifier{base: &tt.base, o: o, report: newReport(o), running: !tt.stopped}
				begin := time.Now()
				if err := v.differing(t.Context(), []sink.Touched{pair}); err != nil {
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
