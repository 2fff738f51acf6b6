package analytics

import "strings"

// exposed is whom an exposure is of. A user and a visitor are two, however they are called.
const exposed = "if(e.profile_id != '', concat('\\0', e.profile_id), e.anonymous_id)"

// What exposures may be filtered by.
var exposureFilters = []string{fieldFlag, "environment", "variant"}

// fieldFlag is the field without which counts of exposures mean nothing.
const fieldFlag = "flag_key"

// perExposed makes a row for each visitor, with how many exposures they stand for, and how
// many visitors: of a sample of 25 percent each stands for four. Samples lie within each
// other, so that who was told of under several was drawn by the largest.
func perExposed(more, by string) *Source {
	return &Source{SQL: `(
    SELECT {each}` + more + exposed + ` AS visitor, sum(100 / e.sample_percent) AS told, 100 / max(e.sample_percent) AS weight
    {events}
    GROUP BY {by}` + by + `visitor
)`}
}

// perConverted makes a row for each visitor, with what they were given first, or that they
// were given several variants, and whether they did the event after they were first given
// one. Events count for whom they name by either id; an exposure by an e-mail address is that
// of the user who is called so.
var perConverted = &Source{Tables: []string{tableEvents}, SQL: strings.NewReplacer("{exposed}", exposed).Replace(`(
    SELECT if(length(x.variants) > 1, '', x.variants[1]) AS variant, CAST(length(x.variants) > 1, 'Bool') AS mixed, x.weight AS weight, v.last > x.first AS converted
    FROM (
        SELECT {exposed} AS visitor, groupUniqArray(toString(e.variant)) AS variants, toUnixTimestamp64Milli(min(e.event_time)) AS first, 100 / max(e.sample_percent) AS weight
        {events}
        GROUP BY visitor
    ) AS x
    LEFT JOIN (
        SELECT who AS visitor, max(at) AS last
        FROM (
            SELECT
                toUnixTimestamp64Milli(e.event_time) AS at,
                arrayJoin(arrayFilter(w -> w NOT IN ('', '\0'), [
                    e.anonymous_id, concat('\0', e.profile_id),
                    if(position(e.profile_id, '@') > 0, concat('\0email:', lower(hex(SHA256(concat(toString(e.owner_id), char(0), lower(e.profile_id)))))), '')
                ])) AS who
            FROM events AS e FINAL
            WHERE {range}
              AND e.name = {option_event_name:String}
        )
        GROUP BY visitor
    ) AS v ON v.visitor = x.visitor
)`)}

// Counts over perConverted. Few visitors say little, however many they stand for: the
// interval is that of as many equal ones as say as much (Kish).
const (
	convertedShare = "(sum(weight * converted) / sum(weight))"
	equalVisitors  = "(pow(sum(weight), 2) / sum(weight * weight))"
)

// wilson is a bound of the interval in which the true rate lies with 95 percent probability
// (E. B. Wilson, 1927), in percent; sign tells which.
func wilson(sign string) string {
	const z, zz = "1.959964", "3.841459"
	return "round(100 * greatest(0, least(1, (" + convertedShare + " + " + zz + " / (2 * " + equalVisitors + ") " + sign + " " + z + " * sqrt(" + convertedShare + " * (1 - " +
		convertedShare + ") / " + equalVisitors + " + " + zz + " / (4 * pow(" + equalVisitors + ", 2)))) / (1 + " + zz + " / " + equalVisitors + "))), 2)"
}

// The columns that types of exposures share.
var (
	exposureVariant  = Column{Name: "variant", Type: String, Label: "Variant", Description: "Key of the variant.", Example: "one-page", Expr: "variant"}
	exposureCount    = Column{Name: "exposures", Type: Number, Label: "Exposures", Description: "Visitors, each once a UTC day and environment, scaled by the sample.", Example: "1240", Expr: "toUInt64(round(sum(told)))"}
	exposureVisitors = Column{Name: "visitors", Type: Number, Label: "Visitors", Description: "Distinct visitors, scaled by the sample.", Example: "860", Expr: "toUInt64(round(sum(weight)))"}
)

// ofExposures is a type about the exposures to a flag.
func ofExposures(name, title, description string, from *Source, columns ...Column) Type {
	return Type{
		Name: name, Subjects: Website, Table: tableExposures, Title: title, Description: description,
		Category: "Feature flags", Tags: []string{"flags"}, Visualization: "table",
		Columns: columns, Filters: exposureFilters, Requires: []string{fieldFlag}, DefaultLimit: DefaultLimit, From: from,
	}
}

var exposureTypes = []Type{
	flagExposures(), flagExposuresByDate(), flagConversions(),
}

func flagExposures() Type {
	t := ofExposures("flag_exposures", "Exposures", "How many visitors were given each variant of a flag. Users are told apart by their own ids, other visitors by anonymous ids, which are new every UTC day where the website hashes them.",
		perExposed("toString(e.variant) AS variant, ", "variant, "), exposureVariant, exposureCount, exposureVisitors)
	t.GroupBy, t.OrderBy, t.Desc, t.Tie = "variant", "visitors", true, "variant"
	t.Sorts = []string{"visitors", "exposures", "variant"}
	return t
}

func flagExposuresByDate() Type {
	t := ofExposures("flag_exposures_by_date", "Exposures over time", "How many visitors were given a variant of a flag on each day; by variant with groupBy. An exposure has the time of the first one of its UTC day.",
		perExposed("", ""), dateColumn, exposureCount, exposureVisitors)
	t.Tags, t.Visualization, t.DefaultLimit = []string{"flags", "series"}, "line", MaxLimit
	t.Series, t.OrderBy, t.Sorts, t.Groups = true, "date", []string{"date", "exposures", "visitors"}, []string{"variant", "environment"}
	return t
}

func flagConversions() Type {
	t := ofExposures("flag_conversions", "Conversions by variant", "Of the visitors who were given a variant of a flag in the range, how many did something after they were first given it. Those who were given several variants stand in a row of their own.",
		perConverted, exposureVariant,
		Column{Name: "mixed", Type: Boolean, Label: "Mixed", Description: "Whether the row is that of visitors who were given several variants; its variant is empty.", Example: "false", Expr: "mixed"},
		exposureVisitors,
		Column{Name: "conversions", Type: Number, Label: "Conversions", Description: "Those of them with the event after their first exposure, scaled by the sample.", Example: "129", Expr: "toUInt64(round(sum(weight * converted)))"},
		Column{Name: "conversion_rate", Type: Number, Label: "Rate", Unit: percent, Description: "Their share.", Example: "15", Expr: "round(100 * " + convertedShare + ", 2)"},
		Column{Name: "rate_low", Type: Number, Label: "From", Unit: percent, Description: "Lower bound of the 95 % interval of the rate (Wilson), by as many visitors as were counted.", Example: "12.77", Expr: wilson("-")},
		Column{Name: "rate_high", Type: Number, Label: "To", Unit: percent, Description: "Its upper bound.", Example: "17.54", Expr: wilson("+")},
	)
	t.Tags, t.Filters = []string{"flags", "conversion"}, []string{fieldFlag, "environment"}
	t.Options = []Option{{Name: "event_name", Kind: OptionText, Required: true, Min: 1, Max: maxEventNameLen, Doc: "Name of the event that counts.", Example: `"purchase"`}}
	t.GroupBy, t.OrderBy, t.Desc, t.Tie = "variant, mixed", "visitors", true, "variant, mixed"
	t.Sorts = []string{"visitors", "conversions", "conversion_rate", "variant"}
	return t
}
