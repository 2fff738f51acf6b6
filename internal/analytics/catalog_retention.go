package analytics

import "strings"

// maxEventNameLen is how long names of events are at most, in code points.
const maxEventNameLen = 256

// isEvent is the predicate of an event of the name that an option says; every event is
// one where it says none.
func isEvent(option string) string {
	return "({option_" + option + ":String} = '' OR e.name = {option_" + option + ":String})"
}

// perCohort makes a row for each cohort and each period since. Who first did the
// activation event of the range in a period belongs to its cohort. Periods are counted
// from 1 within the source; package time has cut them.
var perCohort = &Source{Build: func(q *query) string {
	g, _ := parseGranularity(q.option("period"))
	buckets := q.rng.Buckets(g)
	q.params = append(q.params, secondsParam("periods", buckets), stringsParam("period_labels", labelsOf(buckets)))
	return strings.NewReplacer("{activated}", isEvent("activation_event"), "{returned}", isEvent("return_event"),
		"{at}",
		"indexOf({periods:Array(UInt32)}, roundDown(toUnixTimestamp(e.event_time), {periods:Array(UInt32)}))").Replace(`(
    SELECT {by}cohort AS cohort_at, since, size, if(since = 0, size, returned.2[indexOf(returned.1, cohort + since)]) AS still
    FROM (
        SELECT {by}cohort, count() AS size, sumMap(returns, arrayWithConstant(length(returns), 1)) AS returned
        FROM (
            SELECT
                {each}` + person + ` AS visitor,
                minIf({at}, {activated}) AS cohort,
                arrayFilter(i -> i > cohort, groupUniqArrayIf({at}, {returned})) AS returns
            {events}
              AND ({activated} OR {returned})
            GROUP BY {by}visitor
            HAVING cohort > 0
        )
        GROUP BY {by}cohort
    )
    ARRAY JOIN range(length({periods:Array(UInt32)}) - cohort + 1) AS since
)`)
}}

// perActivated makes a row for each user who did the activation event in the range, and
// tells whether the time that counts was over when observation ended, and whether the
// user came back within it. What is read reaches to the end of observation.
var perActivated = &Source{Build: func(q *query) string {
	q.params = append(q.params, instantParam("activation_end", q.rng.End))
	if until, ok := parseEnd(q.option("observation_end"), q.rng.Zone); ok {
		q.readUntil(until)
	}
	return strings.NewReplacer(
		"{activated}", "e.name = {option_activation_event:String}", "{returned}", "e.name = {option_return_event:String}",
	).Replace(`(
    SELECT
        {by}profile, activated_at,
        activated_at + {option_horizon_days:UInt64} * 86400000 AS due,
        due <= toUnixTimestamp64Milli({end:DateTime64(3, 'UTC')}) AS eligible,
        eligible AND arrayExists(t -> t > activated_at AND t <= due, returns) AS retained
    FROM (
        SELECT
            {each}e.profile_id AS profile,
            minIf(toUnixTimestamp64Milli(e.event_time), {activated} AND e.event_time < {activation_end:DateTime64(3, 'UTC')}) AS activated_at,
            groupArrayIf(toUnixTimestamp64Milli(e.event_time), {returned}) AS returns
        {events}
          AND ({activated} OR {returned})
        GROUP BY {by}profile
        HAVING activated_at > 0
    )
)`)
}}

var retentionTypes = []Type{
	{
		Name: "retention", Subjects: Website | Organization,
		Title: "Retention", Category: "Retention", Tags: []string{"visitors", "cohorts"}, Visualization: "heatmap",
		Description: "Visitors by cohort, the period of their first event, and the number of them who returned in each " +
			"later period. A visitor is an anonymous id or, for events without an anonymous id, a profile id.",
		Columns: []Column{
			{
				Name:        "cohort",
				Type:        String,
				Label:       "Cohort",
				Description: "First day of the cohort's period, in the request's time zone.",
				Example:     "2026-03-01",
				Expr:        "{period_labels:Array(String)}[cohort_at]",
			},
			{
				Name: "period", Type: Number, Label: "Period", Description: "Number of periods since the cohort's own; 0 is the " +
					"cohort's own.",
				Example: "1", Expr: "since",
			},
			{
				Name: "cohort_size", Type: Number, Label: "Cohort size", Description: "Visitors of the cohort.", Example: "120",
				Expr: "size",
			},
			{
				Name: "visitors", Type: Number, Label: "Visitors",
				Description: "Visitors of the cohort with the return event in the period; for " +
					"period 0, all of them.", Example: "48", Expr: "still",
			},
			{
				Name: "percentage", Type: Number, Label: "Share", Unit: percent, Description: "Share of the cohort.", Example: "40",
				Expr: "round(100 * still / size, 2)",
			},
		},
		Filters: eventFilters, Sorts: []string{"cohort", "period", "visitors"}, DefaultLimit: MaxLimit,
		Options: []Option{
			{Name: "activation_event", Kind: OptionText, Max: maxEventNameLen, Doc: "Name of the event that assigns a visitor " +
				"to a cohort, by its first occurrence in the range; any event if absent."},
			{
				Name: "return_event",
				Kind: OptionText,
				Max:  maxEventNameLen,
				Doc:  "Name of the event that counts as a return; any event if absent.",
			},
			{
				Name: "period", Kind: OptionText, Default: "week", OneOf: []string{"day", "week", "month"},
				Doc: "Length of the periods. Weeks start on Sunday; the first period starts with the range.",
			},
		},
		From: perCohort, Where: "(e.anonymous_id != '' OR e.profile_id != '')",
		GroupBy: "cohort_at, since, size, still", OrderBy: "cohort", Tie: "cohort_at, since",
		Groups: visitorGroups,
	},
	{
		Name: "identified_profile_retention", Subjects: Website | Organization,
		Title: "Retention of users", Category: "Retention", Tags: []string{"profiles", "cohorts"}, Visualization: "metric",
		Description: "Users, by profile id, with the activation event in the range, and the number of them with the return " +
			"event within some days.",
		Columns: []Column{
			{
				Name: "activated_profiles", Type: Number, Label: "Activated",
				Description: "Profile ids with the activation event in the range.", Example: "120", Expr: "count()",
			},
			{
				Name: "eligible_profiles", Type: Number, Label: "Eligible",
				Description: "Of these profiles, those whose days ended before the end " +
					"of observation.", Example: "96", Expr: "countIf(eligible)",
			},
			{
				Name:  "retained_profiles",
				Type:  Number,
				Label: "Retained",
				Description: "Of the eligible profiles, those with the return event after the first activation and within the " +
					"days.",
				Example: "60",
				Expr:    "countIf(retained)",
			},
			{
				Name: "retention_rate", Type: Number, Label: "Retention", Unit: percent, Description: "Share of the eligible " +
					"profiles that were retained.",
				Example: "62.5", Expr: "if(countIf(eligible) = 0, 0, round(100 * countIf(retained) / countIf(eligible), 2))",
			},
		},
		Filters: eventFilters, DefaultLimit: 1,
		Options: []Option{
			{
				Name: "activation_event", Kind: OptionText, Filter: true, Required: true, Min: 1, Max: maxEventNameLen,
				Doc: "Name of the event that activates a user.", Example: `"signup"`,
			},
			{
				Name: "return_event", Kind: OptionText, Filter: true, Required: true, Min: 1, Max: maxEventNameLen,
				Doc: "Name of the event that counts as a return.", Example: `"purchase"`,
			},
			{
				Name: "horizon_days", Kind: OptionInteger, Filter: true, Required: true,
				OneOf: []string{"7", "30"}, Min: 7, Max: 30,
				Doc: "Number of days, of 24 hours each, within which the return event counts.", Example: `7`,
			},
			{
				Name: "observation_end",
				Kind: OptionMoment, Filter: true,
				Doc: "Day, included, or time, excluded, until which events count; the end of the range if absent.",
			},
		},
		From: perActivated, Where: "e.profile_id != ''",
		Groups: visitorGroups,
	},
}
