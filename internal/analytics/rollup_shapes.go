package analytics

import "fmt"

// The sketches that distinct values are counted by: exact as long as there are few,
// below 4096 and 512, then within 1 % and 2.5 % in 99 of 100 cases; the smaller one is
// off by up to 4 % where there are about 40,000, since ClickHouse corrects the bias of
// HyperLogLog there for the larger alone. The figures are those of its standard error,
// 1.04/√2^17 and 1.04/√2^14, 2.58 times and rounded up.
const (
	wide   = "uniqCombined64Merge(17)"
	narrow = "uniqCombined64Merge(14)"
	// older is that of the rollups of errors.
	older = "uniqMerge"

	wideState   = "uniqCombined64StateIf(17)"
	narrowState = "uniqCombined64StateIf(14)"
	olderState  = "uniqStateIf"
)

// distinctOf is a measure that counts the distinct values of a column, without the
// empty one.
func distinctOf(name, state, column string) counted {
	return counted{name: name, expr: state + "(" + column + ", " + column + " != '')"}
}

// traffic is how much there was.
var traffic = &shape{
	name: "traffic", table: "traffic_15m", slot: true, measures: trafficMeasures,
	twin: &shape{table: "traffic_1d", measures: trafficMeasures},
}

var trafficMeasures = []counted{
	{name: "events", expr: "count()"},
	{name: "views", expr: "countIf(" + pageView + ")"},
	{name: "session_views", expr: "countIf(" + pageView + " AND e.session_id != '')"},
	distinctOf("visitors", wideState, "e.anonymous_id"), distinctOf("sessions", wideState, "e.session_id"),
}

// sampledAbove is the number of sessions above which their durations and bounces
// are those of a sample: of sessions whose hash begins with zero bits, so many that
// at least half of this number are looked at. Counts are of all of them. How many
// there are is told by one in 256 of them, which is cheaper than their sketches by
// far: of 65536 it is off by 6 %. A share of the sample is within 0.8 percentage points
// of that of all in 99 of 100 cases: 2.58 times its standard error, 0.5/√31000.
const sampledAbove = 1 << 16

// sample is the largest hash of a session that is looked at.
var sample = fmt.Sprintf("bitShiftRight(toUInt64(18446744073709551615), (SELECT toUInt8(ceil(log2(greatest(1, "+
	"uniqExact(e.session_key) / %d)))) "+
	"FROM sessions_15m AS e WHERE {owned} AND e.event_date BETWEEN {from:Date} AND {to:Date} AND e.session_key < %d))",
	sampledAbove>>8, uint64(1)<<(64-8))

// visits are sessions, a row for each quarter of an hour of one.
var visits = &shape{
	name: "visits", table: "sessions_15m", slot: true, where: "e.session_key <= " + sample,
	events: "e.session_id != '' AND sipHash64(e.session_id) <= " + sample,
	keys:   []counted{{name: "session_key", expr: "sipHash64(e.session_id)"}},
	measures: []counted{
		{name: "views", expr: "countIf(" + pageView + ")"},
		{name: "others", expr: "countIf(e.name NOT IN ('" + ScreenView + "', '" + PageExit + "'))"},
		{name: "exits", expr: "countIf(ifNull(" + timeOnPage + ", -1) >= 0)"},
		{name: "exit_time", expr: "sumIf(ifNull(" + timeOnPage + ", 0), ifNull(" + timeOnPage + ", -1) >= 0)"},
		{name: "first", expr: "min(e.event_time)", cast: castTime},
		{name: "last", expr: "max(e.event_time)", cast: castTime},
	},
}

// custom are custom events by name.
var custom = &shape{
	name: "custom", table: "custom_15m", slot: true, events: customEvent, keys: []counted{{name: "name", expr: "e.name"}},
	measures: []counted{
		{name: "events", expr: "count()"},
		{name: "with_properties", expr: "countIf(e.properties NOT IN ('', '{}'))"},
		{name: "users", expr: narrowState + "(" + person + ", e.anonymous_id != '' OR e.profile_id != '')"},
		distinctOf("sessions", narrowState, "e.session_id"), distinctOf("pages", narrowState, "e.path"),
		{name: "first", expr: "min(e.event_time)", cast: castTime},
		{name: "last", expr: "max(e.event_time)", cast: castTime},
	},
}

// failures are errors by type.
var failures = &shape{
	name: "failures", table: "errors_15m", of: tableErrors, slot: true, keys: []counted{{name: "name", expr: "e.name"}},
	measures: []counted{
		{name: "events", expr: "count()"},
		distinctOf("visitors", olderState, "e.anonymous_id"),
		distinctOf("sessions", olderState, "e.session_id"),
	},
}

// dimensionShape is page views by the values of a dimension of views_1d.
func dimensionShape(dimension, value, detail string) *shape {
	s := &shape{
		name: "views", table: "views_1d", where: "e.dimension = '" + dimension + "'", events: pageView,
		keys: []counted{{name: "value", expr: "toString(" + value + ")"}, {name: "detail", expr: "toString(" + detail + ")"}},
		measures: []counted{
			{name: "views", expr: "count()"}, distinctOf("visitors", narrowState, "e.anonymous_id"),
		},
	}
	if dimension != dimensionReferrer {
		s.events += " AND " + value + " != ''"
		return s
	}
	s.events += notInternal
	s.measures = append(s.measures, counted{name: "referrer", expr: "min(e.referrer)", cast: castText},
		counted{name: "utm_source", expr: "min(CAST(e.utm_source, 'String'))", cast: castText},
		counted{name: "referrer_host", expr: "min(e.referrer_host)", cast: castText})
	return s
}

// dimensionsShape is page views by the values of several dimensions of views_1d, of
// days that it can answer for.
func dimensionsShape(names []string) *shape {
	s := dimensionShape(names[0], "''", "''")
	s.where = "e.dimension IN " + dimensionList("(", names, ")")
	s.keys = append([]counted{{name: "dimension"}}, s.keys...)
	return s
}

// dimensionReferrer is the one of what led to pages: its values are names of sites,
// its details their kinds.
const dimensionReferrer = "referrer"

const (
	castText = "'String'"
	castTime = "'DateTime64(3, \\'UTC\\')'"
)
