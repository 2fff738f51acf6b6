package analytics

import (
	"fmt"
	"maps"
	"slices"
)

// Totals and their series say the same of a range and of its buckets, and are made of
// the same rows of the rollups: one statement says both.

// ofVisits are the questions that such statements answer: of each range a series at
// least, in the order of time and with all of its buckets, and one of the whole.
func ofVisits(questions []asked) []asked {
	series, whole := map[string]*query{}, map[string]bool{}
	var all []asked
	for _, a := range questions {
		q := a.q
		if !q.plan.rollup || q.typ.Rollup.visits == nil || q.earlier != nil {
			continue
		}
		key := q.visitsKey()
		switch first := series[key]; {
		case q.typ.SingleRow():
			whole[key] = true
		case !q.allBuckets() || first != nil && !slices.Equal(first.buckets, q.buckets):
			continue
		case first == nil:
			series[key] = q
		}
		all = append(all, a)
	}
	return slices.DeleteFunc(all, func(a asked) bool {
		key := a.q.visitsKey()
		return series[key] == nil || !whole[key]
	})
}

// visitsKey tells the rows of the rollups that a question can be answered from: what is
// enough for a series is enough for a total too.
func (q *query) visitsKey() string {
	return fmt.Sprint(q.rng.Start.UnixMilli(), q.rng.End.UnixMilli(), q.plan.base)
}

// allBuckets reports whether a series is asked for whole and in the order of time, and
// leaves room for the row of the whole.
func (q *query) allBuckets() bool {
	r := q.request
	return r.SortBy == "" && r.SortOrder == "" && r.Offset == 0 && r.Page <= 1 && q.limit() >= len(q.buckets) &&
		len(q.buckets) < MaxLimit
}

// The sets of such a statement.
const (
	setBuckets = iota
	setWhole
)

// addVisits adds one statement for series and totals. Its first column says which.
func (p *Plan) addVisits(group []asked) {
	at := slices.IndexFunc(group, func(a asked) bool { return a.q.typ.Series })
	q := *group[at].q
	merged := *q.typ
	of := &visitsOf{map[string]string{}, map[string]string{}}
	columns := []Column{{Name: setColumn, Type: Number}, dateColumn}
	var outputs []int
	for _, a := range group {
		measures, set := a.q.typ.Columns, setWhole
		if a.q.typ.Series {
			measures, set = measures[1:], setBuckets
		}
		for _, c := range measures {
			if !slices.ContainsFunc(columns, func(known Column) bool { return known.Name == c.Name }) {
				columns = append(columns, c)
			}
		}
		maps.Copy(of.columns, a.q.typ.Rollup.visits.columns)
		maps.Copy(of.facts, a.q.typ.Rollup.visits.facts)
		outputs = append(outputs, a.output)
		series := a.q.typ.Series
		p.Outputs[a.output].part = rowsOf(a.q.typ, set, func(c Column) int {
			if series && c.Name == a.q.typ.Columns[0].Name {
				return 1
			}
			return slices.IndexFunc(columns, func(known Column) bool { return known.Name == c.Name })
		})
	}
	merged.Columns = columns
	q.typ = &merged
	s := q.statement() // for all but the text
	s.SQL = q.marked(visitsSQL(columns, of))
	p.add(s, outputs...)
}

// visitsSQL is the text of series and totals: the whole has a bucket of its own, 0.
func visitsSQL(columns []Column, of *visitsOf) string {
	const (
		which = setColumn + ", " + bucket
		cut   = "toUInt64(grouping(bucket)) AS " + setColumn + ",\n" + slotBucket + " AS bucket,\n"
		named = setColumn + ",\n" + bucket + ",\n"
	)
	measures := columns[2:]
	names := make([]Column, len(measures))
	for i, c := range measures {
		names[i] = Column{Name: c.Name, Expr: c.Name}
	}
	axis := fmt.Sprintf("SELECT toUInt64(%d) AS set, pair.1 AS bucket, pair.2 AS date\n"+
		"FROM (SELECT arrayJoin(arrayZip({buckets:%s}, {labels:%s})) AS pair)\n"+
		"UNION ALL\nSELECT toUInt64(%d), toUInt32(0), ''", setBuckets, typeSeconds, typeStrings, setWhole)
	measured := selectSQL(append([]Column{{Name: setColumn, Expr: setColumn}, {Name: bucket, Expr: bucket}}, names...)) +
		"\nFROM (\n" +
		indent(totalsSQL(cut, listed(measures, of.columns), "GROUPING SETS ((bucket), ())")) +
		"\n) AS totals\nLEFT JOIN (\n" +
		indent(factsSQL(cut, "GROUPING SETS ((bucket, e.session_key), (e.session_key))", named,
			listed(measures, of.facts), which)) +
		"\n) AS visits USING (" + which + ")"
	return selectSQL(append([]Column{{Name: setColumn, Expr: setColumn}, {Name: "date", Expr: "date"}}, names...)) +
		"\nFROM (\n" + indent(axis) + "\n) AS axis\nLEFT JOIN (\n" + indent(measured) + "\n) AS measured USING (" +
		which + ")\nORDER BY " + which
}
