package analyticstest

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Compared computes what the service should say of a question whose rows are
// compared with those of another range. Rows are the same by the values of keys, or
// by their place in a series.
func Compared(events []Event, q Question, start, end time.Time, keys ...string) []Row {
	shown := Result(events, q)
	all := q
	all.SortBy, all.Limit, all.Page = "", 10_000, 0
	before := all
	before.Start, before.End = start, end
	earlier := Result(events, before)
	place := map[string]int{} // of a label in the series
	for i, row := range Result(events, all) {
		if date, ok := row["date"].(string); ok {
			place[date] = i
		}
	}
	for i, row := range shown {
		was := Row{}
		date, isSeries := row["date"].(string)
		at := slices.IndexFunc(earlier, func(r Row) bool { return sameKeys(r, row, keys) })
		if isSeries {
			at = place[date]
		}
		if at >= 0 && at < len(earlier) {
			was = earlier[at]
		}
		shown[i] = withChange(row, was)
	}
	return shown
}

func sameKeys(a, b Row, keys []string) bool {
	key := func(r Row) string {
		var parts []string
		for _, k := range keys {
			text, _ := r[k].(string)
			parts = append(parts, text)
		}
		return strings.Join(parts, "\x00")
	}
	return key(a) == key(b)
}

// withChange adds to a row what it was.
func withChange(row, was Row) Row {
	previous, change := map[string]any{}, map[string]any{}
	for name, v := range row {
		now, ok := v.(float64)
		if !ok {
			continue
		}
		then, _ := was[name].(float64)
		previous[name], change[name] = then, nil
		if then != 0 {
			change[name] = round2(100 * (now - then) / max(then, -then))
		}
	}
	row = maps.Clone(row)
	row["previous"], row["change"] = previous, change
	return row
}
