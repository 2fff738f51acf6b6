package analytics

// perCase makes a row of each session with the reasons to look at it. Filters choose
// sessions, of which everything is told: errors have no more of their events than these.
var perCase = &Source{Tables: []string{"errors"}, Build: func(q *query) string {
	if len(q.kept.where) == 0 {
		return replaceMark(caseSQL, "{chosen}", markEvents)
	}
	return replaceMark(caseSQL, "{chosen}", markAllEvents+"\n  AND "+inSession+"\n  AND e.session_id IN (\n"+
		indent(indent("SELECT e.session_id\n"+markEvents))+"\n  )")
}}

const caseRage = "toUInt64(greatest(g.rage, 0))" // what is told may be less than nothing

var caseSQL = `(
    SELECT
        s.*, toUInt64(c.errors) AS errors, ` + caseRage + ` AS rage,
        arrayFilter(reason -> reason != '', [
            if(errors > 0, 'errors', ''), if(rage > 0, 'rage_clicks', ''), if(s.customs > 0, 'custom_events', ''),
            if(s.views >= 10, 'many_pages', ''), if(s.took >= 600, 'long', '')
        ]) AS reasons
    FROM (
        SELECT
            e.session_id AS session, min(e.event_time) AS first, max(e.event_time) AS last,
            (toUnixTimestamp64Milli(last) - toUnixTimestamp64Milli(first)) / 1000 AS took,
            countIf(` + pageView + `) AS views, countIf(` + customEvent + `) AS customs, ` +
	firstKnown("e.anonymous_id") + ` AS visitor
        {chosen}
        GROUP BY e.session_id
    ) AS s
    LEFT JOIN (
        SELECT e.session_id AS id, count() AS errors
        FROM errors AS e FINAL
        WHERE {range}
          AND e.session_id != ''
        GROUP BY e.session_id
    ) AS c ON c.id = s.session
    LEFT JOIN (
        SELECT e.session_id AS id, ` + sumOf("rageClickCount") + ` AS rage
        FROM events AS e FINAL
        WHERE {range}
          AND e.name = '` + Engagement + `'
          AND e.session_id != ''
        GROUP BY e.session_id
    ) AS g ON g.id = s.session
) AS e`
