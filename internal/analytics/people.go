package analytics

import (
	"slices"
	"strings"
)

// peopleRows are events with whom they are of: the user that they name, else the one
// that their visitor id is told to be, else the visitor.
const peopleRows = `FROM (
    SELECT e.*, if(e.profile_id != '', e.profile_id, a.user) AS profile, if(profile != '', concat('\\0', profile), e.anonymous_id) AS person
    FROM (
        SELECT *
        {all events}{days}
    ) AS e
    LEFT JOIN (
        SELECT a.anonymous_id AS visitor, a.profile_id AS user
        FROM aliases AS a FINAL
        WHERE a.owner_id = {owner:String}
    ) AS a ON a.visitor = e.anonymous_id
) AS e
WHERE 1{more}`

// people are events with their people, of some days.
func people(days string) string { return replaceMark(peopleRows, "{days}", days) }

// ofPeople is the page of a response about people; ofTheirSessions of one about the
// sessions in which they did something.
var (
	ofPeople        = paged{key: "e.person", rows: people(""), order: map[string]string{"last_visit": "max(e.event_time)"}}
	ofTheirSessions = paged{key: "e.session_id", rows: "{all events}{more}", found: people(""), order: map[string]string{
		"last_visit": "max(e.event_time)", "first_visit": "min(e.event_time)", "page_views": "countIf(" + pageView + ")",
	}}
)

// whose is the field anonymous_id as questions about one person mean it: an id of a
// visitor or of a user.
var whose = []Field{{
	Name: "anonymous_id", Doc: "Anonymous id as stored, or your own id of the user.", expr: "v",
	reads: []string{"aliases"},
	within: func(SubjectKind) string {
		return "(arrayExists(v -> {match}, [e.anonymous_id, e.profile]) OR e.profile != '' AND e.profile IN (" +
			"SELECT user FROM (SELECT a.anonymous_id AS v, a.profile_id AS user FROM aliases AS a FINAL WHERE a.owner_id = " +
			"{owner:String}) WHERE {match}))"
	},
}}

// eachEventOfPeople makes a row of each event of the page's people.
func eachEventOfPeople(q *query) string {
	return "(\n    WITH " + strings.TrimLeft(indent(ofPeople.page(q)), " ") + "\n    SELECT e.*\n" +
		indent(eventsOfPage) + "\n) AS e"
}

// eventsOfPage are the events of the page's people, and ofThosePeople what else is known of
// those alone: an owner has millions of users, a page some dozens.
var eventsOfPage = replaceMark(people(onPageDays), "{more}", "\n  AND e.person IN (SELECT arrayJoin(page.1))")

// A user's person is his id behind a mark: without that the tables, which are ordered by id,
// are read where those ids are. What is left of a visitor's id so is joined with nobody.
func ofThosePeople(profile string) string {
	return "\n      AND " + profile + " IN (SELECT substring(arrayJoin(page.1), 1 + length('\\\\0')))"
}

// Traits by which people are called. The first that is there counts.
func namesOfPeople(more string) string {
	return `(
    SELECT t.profile_id AS id, anyIf(` + traitText + `, t.trait = 'display_name') AS display, anyIf(` + traitText +
		`, t.trait = 'name') AS name,
        anyIf(` + traitText + `, t.trait = 'email') AS email
    FROM profile_traits AS t FINAL
    WHERE t.owner_id = {owner:String}
      AND t.trait IN ('display_name', 'name', 'email')
      AND t.value != 'null'` + more + `
    GROUP BY t.profile_id
)`
}

// usersOfPage tell since when those of the page's people who are users are known.
var usersOfPage = `(
    SELECT p.profile_id AS id, toDateTime64(min(p.first_seen), 3, 'UTC') AS first_seen
    FROM profiles AS p
    WHERE p.owner_id = {owner:String}` + ofThosePeople("p.profile_id") + `
    GROUP BY p.profile_id
)`

// perPersonEvent has the events of the page's people with what is known of them.
var perPersonEvent = &Source{
	Paged: true, Tables: []string{"aliases", "profile_traits", "profiles"}, Build: func(q *query) string {
		return "(\n    WITH " + strings.TrimLeft(indent(ofPeople.page(q)), " ") + `
    SELECT e.*, if(t.display != '', t.display, t.name) AS display_name, t.email AS email, p.first_seen AS known
    FROM (
        SELECT e.*
` + indent(indent(eventsOfPage)) + `
    ) AS e
    LEFT JOIN ` + strings.TrimLeft(indent(namesOfPeople(ofThosePeople("t.profile_id"))), " ") +
			` AS t ON t.id = e.profile AND e.profile != ''
    LEFT JOIN ` + strings.TrimLeft(indent(usersOfPage), " ") + ` AS p ON p.id = e.profile AND e.profile != ''
) AS e`
	},
}

// sessionDuration is that of perSession.
const sessionDuration = "ifNull(sumOrNullIf(" + timeOnPage + ", " + timeOnPage +
	" >= 0), (toUnixTimestamp64Milli(max(e.event_time)) - toUnixTimestamp64Milli(min(e.event_time))) / 1000)"

// perPersonSession makes a row of each session of the page's people, and one of what
// they did outside of sessions.
var perPersonSession = &Source{Paged: true, Tables: []string{"aliases"}, Build: func(q *query) string {
	return `(
    SELECT
        e.person AS person, e.session_id AS session, max(e.profile) AS profile, min(e.event_time) AS first, max(e.event_time) AS last,
        countIf(` + pageView + `) AS views, if(session = '', 0, ` + sessionDuration + `) AS took,
        ` + lastKnown("e.anonymous_id") + ` AS visitor, ` + lastKnown("e.device") + ` AS device, ` +
		lastKnown("e.browser") + ` AS browser,
        ` + lastKnown("e.os") +
		` AS os, argMaxIf((e.country, e.region), (e.event_time, e.event_key), e.country != '') AS place
    FROM ` + strings.TrimLeft(indent(eachEventOfPeople(q)), " ") + `
    GROUP BY e.person, e.session_id
) AS e`
}}

// linesOf collects what a table tells of the page's sessions, and further columns, of
// some days.
func linesOf(table, days, line string, more ...string) string {
	return "(\n    SELECT e.session_id AS id, " + joined(append([]string{line + " AS lines"}, more...)...) + "\n" +
		indent(wideRows(table, days)) + "\n    GROUP BY e.session_id\n)"
}

// perTheirSession makes a row of each session of the page with all that was told in it.
var perTheirSession = &Source{
	Paged: true, Tables: []string{"aliases", "errors", "vitals"}, Build: func(q *query) string {
		source := "multiIf(" + customEvent + ", '\"custom\"', " + outgoing + ", '\"outgoing_link\"', '\"analytics\"')"
		own := linesOf("events", onPageDays, jsonLines(append(slices.Clone(eventLine), source)...),
			"e.session_id AS session_id", "min(e.event_time) AS first", "max(e.event_time) AS last",
			sessionDuration+" AS took", "countIf("+pageView+") AS views",
			"uniqExactIf(e.path, "+pageView+" AND e.path != '') AS pages",
			firstKnown("e.device")+" AS device", firstKnown("e.browser")+" AS browser", firstKnown("e.os")+" AS os",
			"argMinIf((e.country, e.region), (e.event_time, e.event_key), e.country != '') AS place",
			"argMinIf(e.referrer, (e.event_time, e.event_key), "+pageView+") AS referrer", "any("+numberOnOne+") AS number",
		)
		errors := linesOf("errors", "", jsonLines(
			"toJSONString(e.event_id)", jsonTime("e.event_time"), "toJSONString(CAST(e.name, 'String'))", "toJSONString(e.path)",
			"toJSONString(map('message', e.message))", `'"error"'`,
		))
		vitals := linesOf("vitals", "", jsonLines("toJSONString(CAST(e.name, 'String'))", "toJSONString(e.value)",
			jsonTime("e.event_time"), "toJSONString(e.path)"))
		return "(\n    WITH " + strings.TrimLeft(indent(ofTheirSessions.page(q)), " ") + `
    SELECT s.*, arraySlice(arraySort(arrayConcat(s.lines, f.lines)), 1, ` + MaxSessionEvents +
			`) AS happened, v.lines AS measured
    FROM ` + strings.TrimLeft(indent(own), " ") + ` AS s
    LEFT JOIN ` + strings.TrimLeft(indent(errors), " ") + ` AS f ON f.id = s.session_id
    LEFT JOIN ` + strings.TrimLeft(indent(vitals), " ") + ` AS v ON v.id = s.session_id
) AS e`
	},
}
