package analytics

import (
	"maps"
	"slices"
	"strings"
)

// overShape answers a type by expressions over the rows of a shape, one for each
// column but the date of a series. Other shapes may be read inside them.
func overShape(s *shape, groupBy string, columns map[string]string, others ...*shape) *Rollup {
	return &Rollup{Tie: groupBy, Shapes: append([]*shape{s}, others...), SQL: func(q *query) string {
		var all []Column
		by := groupBy
		if q.typ.Series {
			all, by = append(all, Column{Name: bucket, Expr: slotBucket}), bucket
		}
		for _, c := range q.typ.Columns {
			if expr, ok := columns[c.Name]; ok {
				all = append(all, Column{Name: c.Name, Expr: expr})
			}
		}
		sql := selectSQL(all) + "\nFROM {" + s.name + "}"
		if by != "" {
			sql += "\nGROUP BY " + by
		}
		return sql
	}}
}

// The facts of one session, over rows of visits: see perSession.
const sessionFacts = `sum(e.views) AS page_views,
sum(e.others) AS more,
if(sum(e.exits) > 0, sum(e.exit_time), (toUnixTimestamp64Milli(max(e.last)) - toUnixTimestamp64Milli(min(e.first))) / 1000) AS duration,
page_views = 1 AND more = 0 AND duration < 10 AS bounced`

// The measures of sessions over such facts.
const (
	factsBounceRate = "if(count() = 0, 0, round(100 * countIf(bounced) / count(), 2))"
	factsMedian     = "ifNotFinite(round(quantileExactInclusive(0.5)(duration), 2), 0)"
)

// visitsOf are the columns of a type that says how much there was, and those that the
// facts of its sessions say, by their names.
type visitsOf struct{ columns, facts map[string]string }

// overTraffic answers a type by expressions over traffic, and others over the facts
// of its sessions.
func overTraffic(columns, facts map[string]string) *Rollup {
	of := &visitsOf{columns, facts}
	return &Rollup{visits: of, Shapes: []*shape{traffic, visits}, SQL: func(q *query) string {
		cut, cutOf, by, join, using := "", "", "", "CROSS JOIN", ""
		if q.typ.Series {
			cut, cutOf, by, join, using = bucket+",\n", slotBucket+" AS bucket,\n", bucket, "LEFT JOIN", " USING (bucket)"
		}
		return "SELECT\n    " + strings.Join(q.measured(), ",\n    ") + "\nFROM (\n" +
			indent(totalsSQL(cutOf, listed(q.typ.Columns, columns), by)) + "\n) AS totals\n" + join + " (\n" +
			indent(factsSQL(cutOf, joined(by, "e.session_key"), cut, listed(q.typ.Columns, facts), by)) + "\n) AS visits" + using
	}}
}

// listed are the expressions of those columns that have one.
func listed(columns []Column, of map[string]string) string {
	var lines []string
	for _, c := range columns {
		if expr, ok := of[c.Name]; ok {
			lines = append(lines, expr+" AS "+c.Name)
		}
	}
	return strings.Join(lines, ",\n")
}

// totalsSQL are measures of traffic, cut by something.
func totalsSQL(cut, measures, by string) string {
	return "SELECT\n" + indent(cut+measures) + "\nFROM {traffic}" + grouping(by)
}

// factsSQL are measures over the facts of sessions, each of which is cut by something;
// what they are cut by has a name then.
func factsSQL(cut, each, named, measures, by string) string {
	inner := "SELECT\n" + indent(cut+sessionFacts) + "\nFROM {visits}" + grouping(each)
	return "SELECT\n" + indent(named+measures) + "\nFROM (\n" + indent(inner) + "\n)" + grouping(by)
}

// measured are the names of what a rollup makes.
func (q *query) measured() []string {
	var names []string
	for _, c := range q.typ.Columns {
		names = append(names, c.Name)
	}
	if q.typ.Series {
		names[0] = bucket
	}
	return names
}

func grouping(by string) string {
	if by == "" {
		return ""
	}
	return "\nGROUP BY " + by
}

// overViews answers a breakdown of page views by the values of a dimension. Distinct
// visitors are merged of the rows that are shown alone, where the order does not
// depend on them. whole is what shares are of.
func overViews(s *shape, by, whole string, columns map[string]string) *Rollup {
	limited := func(q *query) bool { return q.request.SortBy == "" || q.request.SortBy == "pageviews" }
	shapes := []*shape{s}
	if whole == ofAllViews {
		shapes = append(shapes, traffic)
	}
	return &Rollup{Shapes: shapes, Limited: limited, SQL: func(q *query) string {
		names := map[string]string{
			"pageviews": "sum(e.views)", "visitors": narrow + "(e.visitors)",
			"percentage": "round(100 * sum(e.views) / " + whole + ", 2)",
		}
		var all []Column
		for _, c := range q.typ.Columns {
			expr, ok := columns[c.Name]
			if !ok {
				expr = names[c.Name]
			}
			all = append(all, Column{Name: c.Name, Expr: expr})
		}
		sql := selectSQL(all) + "\nFROM {views}"
		direction := "DESC"
		if q.request.SortOrder == "asc" {
			direction = "ASC"
		}
		if q.limited() {
			sql += "\nWHERE (" + by + ") IN (\n" +
				indent("SELECT "+by+"\nFROM {views}\nGROUP BY "+by+"\nORDER BY sum(e.views) "+direction+", "+by+
					"\nLIMIT {limit:UInt64} OFFSET {offset:UInt64}") + "\n)"
		}
		return sql + "\nGROUP BY " + by
	}}
}

// The wholes of shares: all page views, and those that came from elsewhere.
const (
	ofAllViews = "ifNull((SELECT sum(e.views) FROM {traffic}), 0)"
	ofViews    = "ifNull((SELECT sum(e.views) FROM {views}), 0)"
)

// viewsRollup is the rollup of a breakdown by a column of events, with the country
// that its values are of, or none.
func viewsRollup(dimension, column, country string, more map[string]string) *Rollup {
	if !slices.Contains(dimensions, dimension) {
		return nil
	}
	by, detail := "e.value", "''"
	if country != "" {
		by, detail = "e.value, e.detail", country
	}
	columns := map[string]string{"name": "e.value"}
	maps.Copy(columns, more)
	r := overViews(dimensionShape(dimension, column, detail), by, ofAllViews, columns)
	r.Tie, r.breakdown = by, &breakdownOf{dimension, columns}
	return r
}

// dimensions are those of views_1d.
var dimensions = []string{
	"path", "browser", "os", "device", "country", "region", "city", "language", "timezone", "screen",
	"utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content",
}

// The columns of types that are counted by traffic and by failures alone.
var (
	trafficColumns = map[string]string{
		"pageviews": "sum(e.views)", "visitors": wide + "(e.visitors)", "sessions": wide + "(e.sessions)",
	}
	failureColumns = map[string]string{
		"errors": "sum(e.events)", "count": "sum(e.events)", "totalErrors": "sum(e.events)",
		"users": older + "(e.visitors)", "affectedUsers": older + "(e.visitors)",
		"sessions": older + "(e.sessions)", "affectedSessions": older + "(e.sessions)",
		"name": "e.name", "uniqueErrorTypes": "uniqExact(e.name)",
		"errorRate": "least(100, ifNull(round(100 * " + older + "(e.sessions) / nullIf((SELECT " + wide +
			"(e.sessions) FROM {traffic}), 0), 2), 0))",
	}
)
