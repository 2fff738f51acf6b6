package analyticstest

import (
	"cmp"
	"slices"
)

// numberTold is what engagement tells under a name.
func numberTold(e *Event, name string) (n float64, ok bool) {
	if e.Name != "engagement" {
		return 0, false
	}
	n, ok = properties(e.Properties)[name].(float64)
	return n, ok
}

// exitTold is a number of a page exit.
func exitTold(e *Event, column string) (n float64, ok bool) {
	if e.Name != "page_exit" || e.Web == nil {
		return 0, false
	}
	n, ok = e.Numbers[column]
	return n, ok
}

// pageVisit is a page in a session; nil is what nothing told.
type pageVisit struct {
	session, path                       string
	visitors                            map[string]bool
	views                               float64
	depth, interactions, active, open   *float64
	rage, dead, errors, fields, submits float64
}

// add adds to what may not have been told.
func add(to **float64, n float64, ok bool) {
	if !ok {
		return
	}
	if *to == nil {
		*to = new(float64)
	}
	**to += n
}

func largest(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

func visitsOf(events []Event) []*pageVisit {
	var all []*pageVisit
	keys, groups := group(only(events, inSession), func(e *Event) string { return e.SessionID + "\x00" + e.Path })
	for _, k := range keys {
		of := groups[k]
		v := &pageVisit{session: of[0].SessionID, path: of[0].Path, visitors: map[string]bool{}, views: count(of, isView)}
		var exits, told *float64
		for i := range of {
			e := &of[i]
			if e.AnonymousID != "" {
				v.visitors[e.AnonymousID] = true
			}
			for _, d := range []func() (float64, bool){
				func() (float64, bool) { return exitTold(e, "scroll_depth") },
				func() (float64, bool) { return numberTold(e, "maxScrollDepth") },
			} {
				if n, ok := d(); ok {
					v.depth = largest(v.depth, &n)
				}
			}
			n, ok := exitTold(e, "interactions")
			add(&exits, n, ok)
			n, ok = numberTold(e, "interactionCount")
			add(&told, n, ok)
			n, ok = numberTold(e, "activeTime")
			add(&v.active, n, ok)
			n, ok = numberTold(e, "timeOnPage")
			add(&v.open, n, ok)
			for name, to := range map[string]*float64{
				"rageClickCount": &v.rage, "deadClickCount": &v.dead, "errorCount": &v.errors, "formFieldCount": &v.fields,
				"formSubmitCount": &v.submits,
			} {
				n, _ := numberTold(e, name)
				*to += n
			}
		}
		v.interactions = largest(exits, told)
		all = append(all, v)
	}
	return all
}

func which(visits []*pageVisit, is func(*pageVisit) bool) []*pageVisit {
	return slices.DeleteFunc(slices.Clone(visits), func(v *pageVisit) bool { return !is(v) })
}

func sessionsIn(visits []*pageVisit) float64 {
	seen := map[string]bool{}
	for _, v := range visits {
		seen[v.session] = true
	}
	return float64(len(seen))
}

func visitorsIn(visits []*pageVisit) float64 {
	seen := map[string]bool{}
	for _, v := range visits {
		for id := range v.visitors {
			seen[id] = true
		}
	}
	return float64(len(seen))
}

// mean is that of what was told.
func mean(visits []*pageVisit, get func(*pageVisit) *float64) float64 {
	sum, n := 0.0, 0.0
	for _, v := range visits {
		if x := get(v); x != nil {
			sum, n = sum+*x, n+1
		}
	}
	if n == 0 {
		return 0
	}
	return round2(sum / n)
}

func percentOf(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return round2(100 * part / whole)
}

func depthOf(v *pageVisit) *float64 { return v.depth }

func named(names ...string) func(*Event) bool {
	return func(e *Event) bool { return slices.Contains(names, e.Name) }
}

func scrollSummary(events []Event, _ *Question) []Row {
	visits := deepVisits(events)
	return []Row{
		{"avg_scroll_depth": mean(visits, depthOf), "total_sessions": sessionsIn(visits), "visitors": visitorsIn(visits)},
	}
}

// tellsOfPages reports whether an event may tell how a page was used in a session.
func tellsOfPages(e *Event) bool { return inSession(e) && named("page_exit", "engagement")(e) }

// deepVisits are those of which something told how far the page was scrolled.
func deepVisits(events []Event) []*pageVisit {
	return which(visitsOf(only(events, tellsOfPages)), func(v *pageVisit) bool { return v.depth != nil })
}

func depthsTold(events []Event, _ *Question) int { return len(deepVisits(events)) }

func scrollDistribution(events []Event, _ *Question) []Row {
	all := deepVisits(events)
	var rows []Row
	for i, name := range []string{"0-25%", "25-50%", "50-75%", "75-100%"} {
		in := which(all, func(v *pageVisit) bool { return min(int(*v.depth/25), 3) == i })
		if len(in) > 0 {
			rows = append(rows, Row{
				"depth_range": name, "visitors": visitorsIn(in), "sessions": sessionsIn(in), "percentage": share(len(in), len(all)),
				partOf: float64(len(in)),
			})
		}
	}
	return rows
}

// byPage makes rows of the visits of each path.
func byPage(visits []*pageVisit, row func([]*pageVisit) Row) []Row {
	var paths []string
	for _, v := range visits {
		if v.path != "" && !slices.Contains(paths, v.path) {
			paths = append(paths, v.path)
		}
	}
	slices.Sort(paths)
	var rows []Row
	for _, p := range paths {
		if r := row(which(visits, func(v *pageVisit) bool { return v.path == p })); r != nil {
			r["name"] = p
			rows = append(rows, r)
		}
	}
	return rows
}

func scrollByPage(events []Event, _ *Question) []Row {
	return byPage(visitsOf(only(events, named("screen_view", "page_exit", "engagement"))), func(all []*pageVisit) Row {
		deep := which(all, func(v *pageVisit) bool { return v.depth != nil })
		if len(deep) == 0 {
			return nil
		}
		views := 0.0
		for _, v := range all {
			views += v.views
		}
		return Row{
			"avg_scroll_depth": mean(deep, depthOf),
			"visitors":         visitorsIn(deep),
			"sessions":         sessionsIn(deep),
			"pageviews":        views,
		}
	})
}

func interactions(events []Event, _ *Question) []Row {
	all := which(visitsOf(only(events, named("page_exit", "engagement"))),
		func(v *pageVisit) bool { return v.interactions != nil })
	active := which(all, func(v *pageVisit) bool { return *v.interactions > 0 })
	sum := 0.0
	for _, v := range all {
		sum += *v.interactions
	}
	row := Row{
		"avg_interactions": 0.0, "interactive_sessions": sessionsIn(active), "total_sessions": sessionsIn(all),
		"interaction_rate": percentOf(sessionsIn(active), sessionsIn(all)),
	}
	if n := sessionsIn(all); n > 0 {
		row["avg_interactions"] = round2(sum / n)
	}
	return []Row{row}
}

// engagedPages are the visits that engagement tells of.
func engagedPages(events []Event) []*pageVisit { return visitsOf(only(events, named("engagement"))) }

func frustration(events []Event, _ *Question) []Row {
	return byPage(engagedPages(events), func(all []*pageVisit) Row {
		bad := which(all, func(v *pageVisit) bool { return v.rage+v.dead > 0 })
		if len(bad) == 0 {
			return nil
		}
		row := Row{
			"sessions": sessionsIn(all), "frustrated_sessions": sessionsIn(bad),
			"frustration_rate": percentOf(sessionsIn(bad), sessionsIn(all)),
			"rage_clicks":      0.0, "dead_clicks": 0.0, "errors": 0.0,
		}
		for _, v := range all {
			row["rage_clicks"] = row["rage_clicks"].(float64) + v.rage
			row["dead_clicks"] = row["dead_clicks"].(float64) + v.dead
			row["errors"] = row["errors"].(float64) + v.errors
		}
		return row
	})
}

func abandonment(events []Event, _ *Question) []Row {
	return byPage(engagedPages(events), func(all []*pageVisit) Row {
		started := which(all, func(v *pageVisit) bool { return v.fields > 0 })
		if len(started) == 0 {
			return nil
		}
		begun, done := sessionsIn(started), sessionsIn(which(started, func(v *pageVisit) bool { return v.submits > 0 }))
		return Row{
			"sessions": sessionsIn(all), "started_sessions": begun, "submitted_sessions": done,
			"abandoned_sessions": begun - done,
			"abandonment_rate":   percentOf(begun-done, begun),
		}
	})
}

func quality(events []Event, _ *Question) []Row {
	zero := 0.0
	value := func(p *float64) float64 { return *cmp.Or(p, &zero) }
	return byPage(engagedPages(events), func(all []*pageVisit) Row {
		engaged := sessionsIn(which(all, func(v *pageVisit) bool {
			return value(v.active) >= 10 || value(v.depth) >= 50 && value(v.interactions) > 0
		}))
		return Row{
			"sessions": sessionsIn(all), "visitors": visitorsIn(all), "engaged_sessions": engaged,
			"engagement_rate":  percentOf(engaged, sessionsIn(all)),
			"avg_active_time":  mean(all, func(v *pageVisit) *float64 { return v.active }),
			"avg_time_on_page": mean(all, func(v *pageVisit) *float64 { return v.open }),
			"avg_scroll_depth": mean(all, depthOf),
			"avg_interactions": mean(all, func(v *pageVisit) *float64 { return v.interactions }),
		}
	})
}
