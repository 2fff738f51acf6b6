package sink

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/pipeline/ledger"
)

// Set back into a range, the partition is read again from its beginning: whole, it has the
// token that it had. What the log does not hold whole is stored anew from there.
func TestOffsetsSetBackIntoARangeMeetTheNextOne(t *testing.T) {
	t.Parallel()
	first, next := ledger.Span{First: 0, Last: 29}, ledger.Span{First: 30, Last: 59}
	rest := ledger.Span{First: 20, Last: 29}
	for name, tc := range map[string]struct {
		to, logStart int64
		rows         int
		spans        []ledger.Span
	}{
		"its first offset":                   {30, 0, 60, []ledger.Span{first, next}},
		"its second offset":                  {31, 0, 60, []ledger.Span{first, next}},
		"the middle":                         {20, 0, 60, []ledger.Span{first, next}},
		"its last offset":                    {59, 0, 60, []ledger.Span{first, next}},
		"the middle of one that is gone":     {20, 1, 70, []ledger.Span{first, next, rest}},
		"the middle, and all before is gone": {20, 20, 70, []ledger.Span{first, next, rest}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(part)
				for range 2 {
					w.produceMany(part, 30)
					run(t, w, 2*time.Second)
				}
				w.committed[part], w.metadata[part], w.logStart[part] = tc.to, "", tc.logStart
				run(t, w, 5*time.Second)
				if diff := cmp.Diff(tc.spans, w.spans(part)); diff != "" {
					t.Errorf("spans (-want +got):\n%s", diff)
				}
				if len(w.rows) != tc.rows || w.committed[part] != 60 {
					t.Errorf("%d rows, want %d; committed %d", len(w.rows), tc.rows, w.committed[part])
				}
			})
		})
	}
}

// Ranges that overlap, where the rest of one was stored anew (goBack), lead past their ends.
func TestRangesThatOverlapAreLeftBehind(t *testing.T) {
	t.Parallel()
	for name, overlapping := range map[string][]ledger.Span{
		"the rest of one":     {{First: 0, Last: 29}, {First: 20, Last: 29}, {First: 30, Last: 59}},
		"one beyond its end":  {{First: 0, Last: 29}, {First: 20, Last: 39}, {First: 30, Last: 59}},
		"two with one begin":  {{First: 0, Last: 9}, {First: 0, Last: 29}, {First: 20, Last: 59}},
		"one within another":  {{First: 0, Last: 59}, {First: 20, Last: 39}},
		"a chain of overlaps": {{First: 0, Last: 19}, {First: 10, Last: 29}, {First: 20, Last: 59}},
	} {
		for from := range int64(60) {
			c, next := recuts{spans: overlapping}, from
			for steps := 0; next < 60; steps++ {
				if steps > 20 {
					t.Fatalf("%s: from %d it comes to no end", name, from)
				}
				s, ok := (&recuts{spans: c.spans}).from(next)
				switch {
				case !ok || s.First > next:
					t.Fatalf("%s: nothing is found at %d", name, next)
				case s.First < next:
					next = s.First
				default:
					next = s.Last + 1
				}
			}
		}
	}
}
