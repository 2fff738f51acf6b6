package fault

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var errNoProgress = errors.New("nothing more is committed")

// outcomes collects what came out, for the report.
var outcomes collection

type collection struct {
	mu   sync.Mutex
	rows map[[3]string]*outcome // by fault, point and brokers
}

// outcome sums up the runs of one row.
type outcome struct {
	fault, point, brokers string
	runs, failed          int
	inexact               int // of those that failed, runs that lost, doubled or miscounted something, or were not counted
	partly                bool
	sum                   verdict
	took, longest         time.Duration
}

func (c *collection) add(tr *trial, brokers string, s *stage, failed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rows == nil {
		c.rows = map[[3]string]*outcome{}
	}
	at := [3]string{tr.fault, tr.point, brokers}
	o := c.rows[at]
	if o == nil {
		o = &outcome{fault: tr.fault, point: tr.point, brokers: brokers}
		c.rows[at] = o
	}
	o.runs++
	if failed {
		o.failed++
	}
	if s == nil {
		o.inexact++
		return // it could not begin
	}
	v := &s.verdict
	if failed && !v.exact() {
		o.inexact++
	}
	o.partly = o.partly || v.partly
	o.sum.Acked += v.Acked
	o.sum.Base += v.Base
	o.sum.Final += v.Final
	o.sum.Rollup += v.Rollup
	o.sum.RollupD += v.RollupD
	o.sum.Gaps += v.Gaps + v.Overlaps + v.Odd
	o.sum.Doubled += v.Doubled
	o.sum.Missing += v.Missing
	o.sum.WrongRollups += v.WrongRollups
	o.took += time.Since(s.began)
	o.longest = max(o.longest, s.took)
}

// page renders the report.
func (c *collection) page(took time.Duration) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	rows := slices.SortedFunc(maps.Values(c.rows), func(a, b *outcome) int {
		return cmp.Or(cmp.Compare(number(a.fault), number(b.fault)), cmp.Compare(a.fault, b.fault),
			cmp.Compare(a.point, b.point), cmp.Compare(a.brokers, b.brokers))
	})
	var b bytes.Buffer
	fmt.Fprintf(&b, "<!-- Written by `make fault`; changes here are lost. -->\n# Faults\n\n")
	fmt.Fprintf(&b, "What `make fault SEEDS=%d` counted, in %s on %d cores (%s/%s, %s): ",
		*seedsFlag, took.Round(time.Second), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	fmt.Fprintf(&b, "%s.\n\n%s", conclusion(rows), intro)
	fmt.Fprint(&b, "| Fault | Where | Brokers | Runs | Failed | Acked | Base without FINAL | FINAL | Rollup 15 min | "+
		"Rollup day | Ledger | Doubled | Missing | Mean | Worst recovery |\n")
	fmt.Fprint(&b, "|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, o := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %d |", o.fault, o.point, o.brokers, o.runs, o.failed)
		for _, n := range []int{
			o.sum.Acked, o.sum.Base, o.sum.Final, o.sum.Rollup, o.sum.RollupD, o.sum.Gaps, o.sum.Doubled, o.sum.Missing,
		} {
			if n == 0 && o.partly {
				fmt.Fprint(&b, " – |")
			} else {
				fmt.Fprintf(&b, " %d |", n)
			}
		}
		fmt.Fprintf(&b, " %.1f s |", (o.took / time.Duration(o.runs)).Seconds())
		if o.longest > 0 {
			fmt.Fprintf(&b, " %.1f s", o.longest.Seconds())
		}
		fmt.Fprint(&b, " |\n")
	}
	return b.Bytes()
}

// conclusion says what all rows together tell.
func conclusion(rows []*outcome) string {
	runs, failed, inexact := 0, 0, 0
	for _, o := range rows {
		runs, failed, inexact = runs+o.runs, failed+o.failed, inexact+o.inexact
	}
	switch {
	case inexact > 0:
		return fmt.Sprintf("**%d of %d runs were not exact**", inexact, runs)
	case failed > 0:
		return fmt.Sprintf("all %d runs were exact, and %d of them missed a bound of time, rate or memory", runs, failed)
	default:
		return fmt.Sprintf("all %d runs were exact", runs)
	}
}

// number is that of a fault, such as 4 of "F4 sink killed".
func number(fault string) (n int) {
	fmt.Sscanf(fault, "F%d", &n)
	return n
}

const intro = `A run makes its schedule from its seed: how many events, which of them are sent
twice, where and how often the fault strikes. Afterwards everything is counted.
Crashes (F4) take all the seeds, stopped sinks (F5) a fifth and other faults a tenth
of them: they have less to choose from. *Acked* is the different events that brokers acknowledged; base table, FINAL and
both rollups must be equal to it, run by run, and each owner and day of the
rollups too, its visitors and sessions included. *Ledger* is gaps, overlaps and
entries that do not add up. *Worst recovery* is the longest time from the restart
to the first insert, until everything was stored after an outage (F7, F8), the
longest refusal (F2), the worst lag of the websites beside the hot one (F16), or the bound
below which every wait of an insert for the group was, where six sinks restart (F20). A
dash stands where a fault is judged by something else: each case by its own table of
outcomes (F14), the partition that stands still and its gap in the ledger (F23), the
rows that one lock alone leaves (F26).

Without the comparison of memberships, without plans, and without each of the four
locks the same schedules do fail; tests of their own say so at every run of the
tests (` + "`TestWithout…`, `TestEachLockAlone…`" + `).

`

// What was lost is told apart from what took too long.
func TestTheReportTellsInexactRunsFromMissedBounds(t *testing.T) {
	t.Parallel()
	whole := verdict{Acked: 2, Base: 2, Final: 2, Rollup: 2, RollupD: 2, Stored: 2}
	lost, judged := whole, verdict{Acked: 2, partly: true}
	lost.Base, lost.Missing = 1, 1
	for _, tc := range []struct {
		name   string
		failed []*stage
		want   string
	}{
		{"nothing failed", nil, "all 1 runs were exact"},
		{
			"a bound",
			[]*stage{{verdict: whole}, {verdict: judged}},
			"all 3 runs were exact, and 2 of them missed a bound of time, rate or memory",
		},
		{"a loss", []*stage{{verdict: whole}, {verdict: lost}}, "**1 of 3 runs were not exact**"},
		{"ended before it was counted", []*stage{{}}, "**1 of 2 runs were not exact**"},
		{"never begun", []*stage{nil}, "**1 of 2 runs were not exact**"},
	} {
		var c collection
		c.add(&trial{fault: "F1"}, "kfake", &stage{verdict: whole}, false)
		for _, s := range tc.failed {
			c.add(&trial{fault: "F2"}, "kfake", s, true)
		}
		if page := string(c.page(0)); !strings.Contains(page, ": "+tc.want+".\n") {
			t.Errorf("%s: the page begins %q, want %q", tc.name, page[:200], tc.want)
		}
	}
}
