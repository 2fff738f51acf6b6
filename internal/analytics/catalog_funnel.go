package analytics

import (
	"fmt"
	"strconv"
	"strings"
)

// perFunnelStep makes a row for each step of a funnel. Who took the events is found
// step by step, over all of a visitor's events that are one of the steps, in the order
// of their times, those of one millisecond in that of the steps. At each event it is
// known when a way that got so far began, at the latest: that is all that matters to
// whether a next step is still in time. An event is one step of a way, never two.
var perFunnelStep = &Source{Build: func(q *query) string {
	who, is := person, "(e.anonymous_id != '' OR e.profile_id != '')"
	if q.option("per") == "session" {
		who, is = "e.session_id", "e.session_id != ''"
	}
	var masks, medians []string
	steps := q.options.steps
	for i := range steps {
		masks = append(masks, fmt.Sprintf("bitShiftLeft(toUInt16(ifNull(%s, 0)), %d)",
			strings.Join(steps[i].where, " AND "), i))
		medians = append(medians, fmt.Sprintf("quantileExactInclusiveIf(0.5)(waits[%d], waits[%[1]d] >= 0)", i+1))
	}
	sql := strings.NewReplacer("{who}", who, "{is}", is, "{mask}", strings.Join(masks, " + ")).Replace(`SELECT
    {each}{who} AS visitor,
    arraySort(groupArray((toUnixTimestamp64Milli(e.event_time), {mask}))) AS taken,
    taken.1 AS times,
    taken.2 AS masks,
    arrayFill(t -> t > 0, arrayMap((t, mask) -> if(bitTest(mask, 0), t, 0), times, masks)) AS began1,
    began1 AS latest1,
    [if(began1[-1] > 0, 0, -1)] AS waits1
{events}
  AND {is}
  AND {mask} > 0
GROUP BY {by}visitor`)
	for i := 2; i <= len(steps); i++ {
		sql = funnelStep(i, sql)
	}
	by := ""
	if names := q.groupNames(); len(names) > 0 {
		by = "\nGROUP BY " + strings.Join(names, ", ")
	}
	sql = "SELECT {by}sumForEach(arrayMap(w -> w >= 0, waits)) AS reached, [" +
		strings.Join(medians, ", ") + "] AS medians\n" +
		"FROM (\n" + indent(fmt.Sprintf("SELECT {by}waits%d AS waits\nFROM (\n%s\n)", len(steps), indent(sql))) + "\n)" + by
	return "(\n" + indent("SELECT {by}step, reached[step] AS here, reached[1] AS first, reached[greatest(step - 1, 1)] "+
		"AS before, medians[step] AS wait\nFROM (\n"+
		indent(sql)+"\n)\nARRAY JOIN range(1, "+strconv.Itoa(len(steps)+1)+") AS step") + "\n)"
}}

// funnelStep is the SQL of one step more than that before it. waits are the
// milliseconds since the step before, at the event by which a step was first
// taken; negative where it never was.
func funnelStep(i int, before string) string {
	return strings.NewReplacer("{now}", strconv.Itoa(i), "{bit}", strconv.Itoa(i-1), "{last}", strconv.Itoa(i-1),
		"{before}", indent(before)).Replace(`SELECT
    {by}visitor, times, masks,
    arrayPushFront(arrayPopBack(began{last}), 0) AS way,
    arrayMap((t, mask, start) -> bitTest(mask, {bit}) AND start > 0 AND t - start <= {option_window:UInt64} * 1000, times, masks, way) AS taken,
    arrayFill(t -> t > 0, arrayMap((is, start) -> if(is, start, 0), taken, way)) AS began{now},
    arrayFill(t -> t > 0, arrayMap((is, t) -> if(is, t, 0), taken, times)) AS latest{now},
    indexOf(taken, 1) AS first,
    arrayPushBack(waits{last}, if(first = 0, -1, times[first] - latest{last}[first - 1])) AS waits{now}
FROM (
{before}
)`)
}

var funnelTypes = []Type{
	{
		Name: "funnel", Subjects: Website | Organization,
		Title: "Funnel", Category: "Funnels", Tags: []string{"events", "conversion"}, Visualization: "funnel",
		Description: "Visitors who complete the steps of a funnel in order and in time. A visitor is an anonymous id or, " +
			"for events without an anonymous id, a profile id.",
		Columns: []Column{
			{Name: "step", Type: Number, Label: "Step", Description: "Number of the step, from 1.", Example: "2", Expr: "step"},
			{
				Name: "name", Type: String, Label: "Name", Description: "Name of the step, otherwise its event or path.",
				Example: "signup", Expr: "{option_steps:Array(String)}[step]",
			},
			{
				Name:        "visitors",
				Type:        Number,
				Label:       "Visitors",
				Description: "Visitors, or sessions if the funnel is per session, that reached the step.",
				Example:     "48",
				Expr:        "any(here)",
			},
			{
				Name: "conversion_rate", Type: Number, Label: "Conversion", Unit: percent,
				Description: "Share of the visitors who reached the first step.", Example: "40",
				Expr: "if(any(first) = 0, 0, round(100 * any(here) / any(first), 2))",
			},
			{
				Name: "step_conversion_rate", Type: Number, Label: "Step conversion", Unit: percent,
				Description: "Share of the visitors who reached the previous step; for the first step, of all " +
					"who reached it.", Example: "53.33",
				Expr: "if(any(before) = 0, 0, round(100 * any(here) / any(before), 2))",
			},
			{
				Name: "median_seconds", Type: Number, Label: "Median time", Unit: seconds, Description: "Time " +
					"from the previous step to the first time that this step was reached; 0 for the first step.", Example: "84.5",
				Expr: "ifNotFinite(round(any(wait)) / 1000, 0)",
			},
		},
		Filters: eventFilters, Sorts: []string{"step", "visitors"}, DefaultLimit: DefaultLimit,
		Options: []Option{
			{
				Name: "steps", Kind: OptionSteps, Required: true, Min: 2, Max: 10,
				Doc:     "Steps in order, each {event, path, filters, name}. An event must match all given conditions.",
				Example: `[{"path":"/pricing"},{"event":"signup"}]`,
			},
			{
				Name: "window", Kind: OptionInteger, Default: "86400", Min: 1, Max: 90 * 24 * 3600,
				Doc: "Seconds after the first step within which the other steps count.",
			},
			{
				Name: "per", Kind: OptionText, Default: "visitor", OneOf: []string{"visitor", "session"},
				Doc: "Whose events form a funnel: all events of a visitor, or those of a single session.",
			},
		},
		From: perFunnelStep, GroupBy: "step", OrderBy: "step", Tie: "step",
		Groups: visitorGroups,
	},
}
