package analytics

import (
	"slices"
	"strings"
)

// bucketOf is the start of the bucket of an event, as seconds. The buckets are
// made by package time, so ClickHouse needs to know nothing about zones.
const bucketOf = "roundDown(toUnixTimestamp(e.event_time), {buckets:" + typeSeconds + "})"

// bucket is the name of that column.
const bucket = "bucket"

// series joins what each bucket holds to the list of all buckets, so that empty
// ones have a row of zeros. Cut by groups too, it has the rows that there are.
func (q *query) series() string {
	t := q.typ
	names := make([]string, 0, len(t.Columns)+1)
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	if q.stepped {
		names = append(names, "indexOf({buckets:"+typeSeconds+"}, bucket) AS "+stepColumn)
	}
	if names[0] != "date" {
		names[0] = "date AS " + names[0]
	}
	join := "LEFT JOIN"
	if len(t.groups) > 0 {
		join = "INNER JOIN"
	}
	sql := "SELECT " + strings.Join(names, ", ") + "\nFROM (\n" +
		"    SELECT pair.1 AS bucket, pair.2 AS date\n" +
		"    FROM (SELECT arrayJoin(arrayZip({buckets:" + typeSeconds + "}, {labels:" + typeStrings + "})) AS pair)\n" +
		") AS axis\n" + join + " (\n" +
		indent(q.ofBuckets()) +
		"\n) AS measured USING (bucket)"
	if len(q.kept.having) > 0 {
		sql += "\nWHERE " + strings.Join(q.kept.having, " AND ")
	}
	return sql
}

// ofBuckets is what each bucket holds.
func (q *query) ofBuckets() string {
	if q.plan.rollup {
		return q.typ.Rollup.SQL(q)
	}
	measures := slices.Concat(q.cutColumns(q.cuts()), q.typ.Columns[1+len(q.typ.groups):])
	return selectSQL(measures) + "\n" + q.source() + "\nGROUP BY " + strings.TrimSuffix(q.by(), ", ")
}
