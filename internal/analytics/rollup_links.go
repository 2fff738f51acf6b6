package analytics

// sumOfClicks is how many clicks there are, over rows of each of the shapes.
const sumOfClicks = "sum(e.clicks)"

// ofPersons is the condition of their clicks.
const ofPersons = "e.is_bot = 0"

// allClicks is how many there were.
var allClicks = &shape{
	name: "clicks", table: "clicks_15m", of: tableClicks, slot: true, where: "e.dimension = 'total'", measures: justClicks,
	twin: &shape{table: "clicks_1d", of: tableClicks, where: "e.dimension = 'target'", measures: justClicks},
}

var justClicks = []counted{{name: "clicks", expr: "countIf(" + ofPersons + ")"}}

// clicksBy is clicks by the values of a dimension. The detail of one that has none is an
// empty text.
func clicksBy(dimension, value, detail string) *shape {
	s := shape{
		name: "clicks", of: tableClicks, where: "e.dimension = '" + dimension + "'", events: ofPersons,
		keys: []counted{
			{name: "value", expr: "toString(" + value + ")"}, {name: "detail", expr: "toString(" + detail + ")"},
		},
		measures: []counted{{name: "clicks", expr: "count()"}},
	}
	if dimension != dimensionReferrer {
		s.events += " AND " + value + " != ''"
	}
	quarters, days := s, s
	days.table = "clicks_1d"
	quarters.table, quarters.slot, quarters.twin = "clicks_15m", true, &days
	return &quarters
}

// targets are clicks by the rule and the variant that chose where they led.
func targets(and, events string) *shape {
	const known = ofPersons + " AND e.visitor != ''"
	return &shape{
		name: "clicks", table: "clicks_1d", of: tableClicks, where: "e.dimension = 'target'" + and, events: events,
		keys: []counted{{name: "value", expr: "e.rule_id"}, {name: "detail", expr: "e.variant_id"}},
		measures: []counted{
			{name: "clicks", expr: "countIf(" + ofPersons + ")"},
			{name: "bots", expr: "countIf(e.is_bot != 0)"},
			{name: "visitors", expr: wideState + "(e.visitor, " + known + ")"},
			{name: "visits", expr: wideState + "(e.visitor, toStartOfHour(toDateTime(e.event_time, 'UTC')), " + known + ")"},
			{name: "last", expr: "maxIf(e.event_time, " + ofPersons + ")", cast: castTime},
		},
	}
}

// summed are a shape's rows without what they are counted by, which takes half of the
// time where events are counted anew.
func (s *shape) summed() *shape {
	all := *s
	all.keys = nil
	return &all
}

var (
	// summedTargets are those of all clicks, chosenTargets those that persons were led to.
	summedTargets = targets("", "").summed()
	chosenTargets = targets(" AND e.clicks > 0", ofPersons)
)

// valuesPerStep answers a series of how many values of a shape have clicks.
func valuesPerStep(s *shape) *Rollup {
	return &Rollup{Shapes: []*shape{s}, subtracts: true, SQL: func(*query) string {
		return "SELECT\n    bucket,\n    count() AS value\nFROM (\n" +
			"    SELECT " + slotBucket + " AS bucket\n    FROM {" + s.name + "}\n    WHERE e.value != ''\n" +
			"    GROUP BY bucket, e.value\n    HAVING sum(e.clicks) > 0\n)\nGROUP BY bucket"
	}}
}
