package analyticstest

import "strings"

// grouped asks the question of the events of each group, and puts the groups beside
// the rows.
func (a *result) grouped(events []Event, q *Question) []Row {
	if a.about != nil {
		events = only(events, a.about)
	}
	keys, groups := group(events, func(e *Event) string {
		var values []string
		for _, field := range q.GroupBy {
			values = append(values, textIn(e, field))
		}
		return strings.Join(values, "\x00")
	})
	var rows []Row
	whole := 0
	for _, k := range keys {
		if a.whole != nil {
			whole += a.whole(groups[k], q)
		} else {
			whole += len(groups[k])
		}
		for _, row := range a.rows(groups[k], q) {
			for i, value := range strings.Split(k, "\x00") {
				row[q.GroupBy[i]] = value
			}
			rows = append(rows, row)
		}
	}
	for _, row := range rows {
		if a.share != "" {
			row["percentage"] = share(int(row[a.share].(float64)), whole)
		}
	}
	return rows
}

// textIn is what an event has in a field of texts.
func textIn(e *Event, field string) string {
	if get := ownFields[field]; get != nil {
		return get(e)
	}
	return e.Web[textFields[field]]
}
