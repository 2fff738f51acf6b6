package analyticstest

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"
)

// taken is an event that is one of a funnel's steps, or several.
type taken struct {
	at    int64 // Unix milliseconds
	steps uint16
}

// ways returns, for each step of a visitor who took it, the milliseconds from the
// latest time of the step before to the event by which it was first taken. It tries
// every way.
func ways(events []taken, steps int, window int64) []int64 {
	var waits []int64
	var before []map[int64]bool // by event, when ways to the step before began
	for k := range steps {
		now := make([]map[int64]bool, len(events))
		wait := int64(-1)
		for i, e := range events {
			if e.steps&(1<<k) == 0 {
				continue
			}
			now[i] = map[int64]bool{}
			if k == 0 {
				now[i][e.at], wait = true, 0
				continue
			}
			latest := int64(0)
			for j := range i {
				for start := range before[j] {
					if e.at-start <= window {
						now[i][start] = true
					}
				}
				if len(before[j]) > 0 {
					latest = events[j].at
				}
			}
			if len(now[i]) > 0 && wait < 0 {
				wait = e.at - latest
			}
		}
		if wait < 0 {
			return waits
		}
		waits, before = append(waits, wait), now
	}
	return waits
}

func funnel(events []Event, q *Question) []Row {
	who := personOf
	if q.Options.PerSession {
		who = sessionOf
	}
	_, groups := group(events, who)
	delete(groups, "")
	anybody := false
	reached, waits := make([]int, len(q.Options.Steps)), make([][]float64, len(q.Options.Steps))
	for _, of := range slices.Collect(maps.Values(groups)) {
		var all []taken
		for i := range of {
			t := taken{at: of[i].Time.UnixMilli()}
			for k, s := range q.Options.Steps {
				if s.Keep(&of[i]) {
					t.steps |= 1 << k
				}
			}
			if t.steps > 0 {
				all = append(all, t)
			}
		}
		anybody = anybody || len(all) > 0
		slices.SortFunc(all, func(a, b taken) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.steps, b.steps)) })
		for k, wait := range ways(all, len(q.Options.Steps), cmp.Or(q.Options.Window, 24*time.Hour).Milliseconds()) {
			reached[k]++
			waits[k] = append(waits[k], float64(wait))
		}
	}
	if !anybody && len(q.GroupBy) > 0 { // not a group
		return nil
	}
	rate := func(part, whole int) float64 {
		if whole == 0 {
			return 0
		}
		return share(part, whole)
	}
	var rows []Row
	for k, s := range q.Options.Steps {
		rows = append(rows, Row{
			"step": float64(k + 1), "name": s.Label, "visitors": float64(reached[k]),
			"conversion_rate":      rate(reached[k], reached[0]),
			"step_conversion_rate": rate(reached[k], reached[max(k-1, 0)]),
			"median_seconds":       math.RoundToEven(median(waits[k])) / 1000,
		})
	}
	return rows
}
