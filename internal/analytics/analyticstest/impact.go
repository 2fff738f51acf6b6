package analyticstest

import "slices"

var impactResults = map[string]result{
	"error_customer_impact":               {order: "errors", limit: 100, kind: "error", rows: customersWithErrors},
	"error_route_continuation_comparison": {order: "error_sessions", limit: 100, rows: goingOn},
}

func customersWithErrors(events []Event, q *Question) []Row {
	customer := func(e *Event) string { return q.users.of(e) }
	_, visits := group(q.ofKind(""), customer)
	var rows []Row
	ids, groups := group(events, customer)
	for _, id := range ids {
		if id == "" {
			continue
		}
		of := inOrder(groups[id])
		latest := slices.MaxFunc(of, func(a, b Event) int {
			if c := a.Time.Compare(b.Time); c != 0 {
				return c
			}
			return compare(a.Web["message"], b.Web["message"])
		})
		affected, all, share := distinct(of, sessionOf), distinct(visits[id], sessionOf), 0.0
		if all > 0 {
			share = min(100, round2(100*affected/all))
		}
		name := q.users.trait(&of[0], id, "display_name")
		if name == "" {
			name = q.users.trait(&of[0], id, "name")
		}
		rows = append(rows, Row{
			"profile_id": id, "display_name": name, "email": q.users.trait(&of[0], id, "email"),
			"errors": float64(len(of)), "error_types": distinct(of, nameOf), "pages": distinct(of, pathOf),
			"affected_sessions": affected, "total_sessions": all, "affected_rate": share,
			"last_error": latest.Web["message"], "first_seen": instant(of[0].Time), "last_seen": instant(latest.Time),
		})
	}
	return rows
}

// goingOn compares, page by page, the sessions that had an error there with those that
// had none.
func goingOn(events []Event, q *Question) []Row {
	_, viewed := group(only(q.ofKind(""), isView), sessionOf)
	_, failed := group(q.ofKind("error"), sessionOf)
	type visits struct{ sessions, continued, errors float64 }
	var rows []Row
	paths, groups := group(
		only(events, func(e *Event) bool { return isView(e) && e.Path != "" && e.SessionID != "" }), pathOf)
	for _, path := range paths {
		var with, without visits
		ids, in := group(groups[path], sessionOf)
		for _, id := range ids {
			of, since := &without, first(in[id]).Time
			errors := only(failed[id], func(e *Event) bool { return e.Path == path })
			if len(errors) > 0 {
				of, since = &with, errors[0].Time
			}
			of.sessions++
			of.errors += float64(len(errors))
			if slices.ContainsFunc(viewed[id], func(e Event) bool { return e.Path != path && e.Time.After(since) }) {
				of.continued++
			}
		}
		if with.sessions == 0 {
			continue
		}
		row := Row{
			"name": path, "errors": with.errors, "error_sessions": with.sessions, "error_continued": with.continued,
			"error_continuation_rate": round2(100 * with.continued / with.sessions),
			"clean_sessions":          without.sessions, "clean_continued": without.continued, "clean_continuation_rate": 0.,
			"difference": 0.,
		}
		if without.sessions > 0 {
			row["clean_continuation_rate"] = round2(100 * without.continued / without.sessions)
			row["difference"] = round2(100*with.continued/with.sessions - 100*without.continued/without.sessions)
		}
		rows = append(rows, row)
	}
	return rows
}
