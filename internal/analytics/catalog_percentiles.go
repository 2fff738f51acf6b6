package analytics

import "strings"

// propertyNumber is what an event has under the key that the option property names, if
// that is a number or a text that is one.
var propertyNumber = numberOf(strings.ReplaceAll(propertyText, "{key}", "{option_property:String}"))

// perPercentile makes a row for each percentile that is asked for. All numbers are kept
// in order, for a percentile is exact: between the two numbers next to its place it is
// as far as that is between them.
var perPercentile = &Source{SQL: `(
    SELECT
        {by}percentile, length(numbers) AS amount, numbers[1] AS least, numbers[-1] AS most, arrayAvg(numbers) AS average,
        percentile / 100 * (length(numbers) - 1) AS place,
        numbers[toUInt64(floor(place)) + 1] AS low,
        numbers[toUInt64(ceil(place)) + 1] AS high,
        low + (high - low) * (place - floor(place)) AS found
    FROM (
        SELECT
            {each}arraySort(groupArray(assumeNotNull(` + propertyNumber + `))) AS numbers
        {events}
        GROUP BY {by}''
    )
    ARRAY JOIN arrayDistinct({option_percentiles:Array(Float64)}) AS percentile
)`}

var percentileTypes = []Type{
	{
		Name: "percentiles", Subjects: Website | Organization,
		Title: "Percentiles of a property", Category: "Custom events", Tags: []string{"events", "properties", "distribution"},
		Visualization: "table",
		Description: "Distribution of the numbers in a property of events. Strings that contain numbers count; all other " +
			"values do not.",
		Columns: []Column{
			{
				Name: "percentile", Type: Number, Label: "Percentile", Unit: percent,
				Description: "Percentile, from 0 to 100.", Example: "95", Expr: "percentile",
			},
			{
				Name: "value", Type: Number, Label: "Value", Description: "Value of the percentile, to four decimal places.",
				Example: "249.9", Expr: "round(any(found), 4)",
			},
			{
				Name: "count", Type: Number, Label: "Numbers", Description: "Number of values.", Example: "128",
				Expr: "any(amount)",
			},
			{Name: "min", Type: Number, Label: "Least", Description: "Minimum.", Example: "9.9", Expr: "any(least)"},
			{Name: "max", Type: Number, Label: "Most", Description: "Maximum.", Example: "499", Expr: "any(most)"},
			{
				Name: "avg", Type: Number, Label: "Average", Description: "Mean, to four decimal places.",
				Example: "61.3", Expr: "round(any(average), 4)",
			},
		},
		Filters: eventFilters, Sorts: []string{"percentile", "value", "count"}, DefaultLimit: DefaultLimit, Public: true,
		Options: []Option{
			{
				Name: "property", Kind: OptionText, Required: true, Min: 1, Max: MaxFilterKeyLen, Doc: "Key of the property.",
				Example: `"price"`,
			},
			{
				Name: "percentiles", Kind: OptionNumbers, Default: "50,75,90,95,99", Min: 1, Max: 20, Most: 100,
				Doc: "Percentiles to compute, each from 0 to 100.",
			},
		},
		From: perPercentile, Where: propertyNumber + " IS NOT NULL",
		GroupBy: "percentile", OrderBy: "percentile", Tie: "percentile",
		Groups: groupsOf(tableEvents),
	},
}
