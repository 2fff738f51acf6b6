package analytics

import "strings"

// exposed is whom an exposure is of. A user and a visitor are two, however they are called.
const exposed = "if(e.profile_id != '', concat('\\0', e.profile_id), e.anonymous_id)"

// perExposed makes a row for each visitor, with how many exposures they stand for, and how
// many visitors: of a sample of 25 percent each stands for four. Samples lie within each
// other, so that who was told of under several was drawn by the largest.
func perExposed(more, by string) *Source {
	return &Source{SQL: `(
    SELECT
        {each}` + more + exposed + ` AS visitor,
        sum(100 / e.sample_percent) AS told, 100 / max(e.sample_percent) AS weight
    {events}
    GROUP BY {by}` + by + `visitor
)`}
}

// perConverted makes a row for each visitor, with what they were given, or that they were
// given several variants, and whether they did the event after they were first given one.
// Events count for whom they name by either id; an exposure by an e-mail address is that of
// the user who is called so.
var perConverted = &Source{Tables: []string{tableEvents}, SQL: strings.NewReplacer("{exposed}", exposed).Replace(`(
    SELECT
        if(length(x.variants) > 1, '', x.variants[1]) AS variant, CAST(length(x.variants) > 1, 'Bool') AS mixed,
        x.weight AS weight, v.last > x.first AS converted
    FROM (
        SELECT
            {exposed} AS visitor, groupUniqArray(toString(e.variant)) AS variants,
            toUnixTimestamp64Milli(min(e.event_time)) AS first, 100 / max(e.sample_percent) AS weight
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
                    if(position(e.profile_id, '@') = 0, '', concat(
                        '\0email:', lower(hex(SHA256(concat(toString(e.owner_id), char(0), lower(e.profile_id)))))
                    ))
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
	filled := strings.NewReplacer(
		"{p}", convertedShare, "{n}", equalVisitors, "{z}", "1.959964", "{zz}", "3.841459", "{±}", sign,
	)
	return filled.Replace(
		"round(100 * greatest(0, least(1, ({p} + {zz} / (2 * {n}) {±} {z} * sqrt({p} * (1 - {p}) / {n} + " +
			"{zz} / (4 * pow({n}, 2)))) / (1 + {zz} / {n}))), 2)",
	)
}
