package analyticstest

import (
	"cmp"
	"slices"
)

// journeyResults are about what visitors do one after the other.
var journeyResults = map[string]result{
	"session_flow":                 {rows: sessionFlow, order: "transitions", limit: 100},
	"paths":                        {rows: pathSteps, order: "sessions", limit: 100, share: "sessions", whole: pathsOf},
	"retention":                    {rows: retention, order: "cohort", ascending: true, limit: 10_000},
	"funnel":                       {rows: funnel, order: "step", ascending: true, limit: 100},
	"percentiles":                  {rows: percentiles, order: "percentile", ascending: true, limit: 100},
	"identified_profile_retention": {rows: profileRetention, single: true, beyond: true},
}

// pagesOf are the paths of the page views of a session in their order, a page that is
// viewed again at once being one.
func pagesOf(session []Event) []string {
	views := only(session, func(e *Event) bool { return isView(e) && e.Path != "" })
	slices.SortFunc(views, func(a, b Event) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Path, b.Path)) })
	var paths []string
	for i := range views {
		paths = append(paths, views[i].Path)
	}
	return slices.Compact(paths)
}

func sessionFlow(events []Event, _ *Question) []Row {
	type step struct{ from, to string }
	transitions, sessions := map[step]float64{}, map[step]map[string]bool{}
	ids, groups := group(events, sessionOf)
	for _, id := range ids {
		if id == "" {
			continue
		}
		pages := pagesOf(groups[id])
		for i := 1; i < len(pages); i++ {
			s := step{pages[i-1], pages[i]}
			if sessions[s] == nil {
				sessions[s] = map[string]bool{}
			}
			transitions[s]++
			sessions[s][id] = true
		}
	}
	var rows []Row
	for s, n := range transitions {
		rows = append(rows, Row{
			"from_path": s.from, "to_path": s.to, "name": s.from + " → " + s.to, "transitions": n,
			"sessions": float64(len(sessions[s])),
		})
	}
	sortRows(rows, "from_path", "to_path")
	return rows
}

// sortRows puts rows into the order in which equal ones of any other order are.
func sortRows(rows []Row, by ...string) {
	slices.SortFunc(rows, func(x, y Row) int {
		for _, name := range by {
			if c := compare(x[name], y[name]); c != 0 {
				return c
			}
		}
		return 0
	})
}

// thing is what an event puts on a path of pages, events or both; empty for nothing.
func thing(e *Event, of string) string {
	switch {
	case isView(e) && of != "events":
		return e.Path
	case isCustom(e) && of != "pages":
		return e.Name
	}
	return ""
}

// walks are the paths of all sessions that have one.
func walks(events []Event, q *Question) [][]string {
	of := cmp.Or(q.Options.Of, "pages")
	var all [][]string
	ids, groups := group(only(events, func(e *Event) bool { return e.SessionID != "" && thing(e, of) != "" }), sessionOf)
	for _, id := range ids {
		session := groups[id]
		slices.SortFunc(session, func(a, b Event) int {
			return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(thing(&a, of), thing(&b, of)))
		})
		var things []string
		for i := range session {
			things = append(things, thing(&session[i], of))
		}
		things = slices.Compact(things)
		if q.Options.Start != "" {
			at := slices.Index(things, q.Options.Start)
			if at < 0 {
				continue
			}
			things = things[at:]
		}
		all = append(all, things)
	}
	return all
}

func pathsOf(events []Event, q *Question) int { return len(walks(events, q)) }

func pathSteps(events []Event, q *Question) []Row {
	type key struct {
		step     int
		from, to string
	}
	counts, all := map[key]int{}, walks(events, q)
	for _, things := range all {
		for i := 0; i < cmp.Or(q.Options.Depth, 3) && i < len(things); i++ {
			k := key{step: i + 1, from: things[i]}
			if i+1 < len(things) {
				k.to = things[i+1]
			}
			counts[k]++
		}
	}
	var rows []Row
	for k, n := range counts {
		rows = append(rows, Row{
			"step": float64(k.step), "from_name": k.from, "to_name": k.to, "sessions": float64(n),
			"percentage": share(n, len(all)),
		})
	}
	sortRows(rows, "step", "from_name", "to_name")
	return rows
}
