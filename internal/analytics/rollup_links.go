package analytics

// sumOfClicks is how many clicks there are, over rows of each of the shapes.
const sumOfClicks = "sum(e.clicks)"

// distinctValues are how many values have any.
var distinctValues = map[string]string{"value": "uniqExactIf(e.value, e.value != '')"}

// ofPersons is the condition of their clicks.
const ofPersons = "e.is_bot = 0"

// allClicks is how many there were.
var allClicks = &shape{
	name: "clicks", table: "clicks_15m", of: tableClicks, slot: true, where: "e.dimension = 'total'",
	measures: []counted{{name: "clicks", expr: "countIf(" + ofPersons + ")"}},
}

// clicksBy is clicks by the values of a dimension of clicks_15m. The detail of one that
// has none is an empty text.
func clicksBy(dimension, value, detail string) *shape {
	s := &shape{
		name: "clicks", table: "clicks_15m", of: tableClicks, slot: true, where: "e.dimension = '" + dimension + "'", events: ofPersons,
		keys:     []counted{{name: "value", expr: "toString(" + value + ")"}, {name: "detail", expr: "toString(" + detail + ")"}},
		measures: []counted{{name: "clicks", expr: "count()"}},
	}
	if dimension != dimensionReferrer {
		s.events += " AND " + value + " != ''"
	}
	return s
}

// targets are clicks by the rule and the variant that chose where they led.
func targets(where, events string) *shape {
	const known = ofPersons + " AND e.visitor != ''"
	return &shape{
		name: "clicks", table: "clicks_1d", of: tableClicks, where: where, events: events,
		keys: []counted{{name: "rule_id", expr: "e.rule_id"}, {name: "variant_id", expr: "e.variant_id"}},
		measures: []counted{
			{name: "clicks", expr: "countIf(" + ofPersons + ")"}, {name: "bots", expr: "countIf(e.is_bot != 0)"},
			{name: "visitors", expr: wideState + "(e.visitor, " + known + ")"},
			{name: "visits", expr: wideState + "(e.visitor, toStartOfHour(toDateTime(e.event_time, 'UTC')), " + known + ")"},
			{name: "last", expr: "maxIf(e.event_time, " + ofPersons + ")", cast: castTime},
		},
	}
}

var (
	// summedTargets are those of all clicks, chosenTargets those that persons were led to.
	summedTargets = targets("", "")
	chosenTargets = targets("e.clicks > 0", ofPersons)
)
