package analytics

// hashOf is a text as a number of 128 bits, by the hash that the server counts distinct
// texts by, so that as many are told apart. To group by numbers, to keep and to count them
// takes half of the time that it takes with texts, and less.
func hashOf(text string) string { return "reinterpretAsUInt128(sipHash128(" + text + "))" }

// countOf is how many texts a column has, exactly, without the empty one.
func countOf(column string) string {
	return "uniqExactIf(" + hashOf(column) + ", " + column + " != '')"
}

// The measures that several types share.
var (
	visitors = countOf("e.anonymous_id")
	sessions = countOf("e.session_id")
	pages    = countOf("e.path")
	persons  = "uniqExactIf(" + hashOf(person) + ", e.anonymous_id != '' OR e.profile_id != '')"
)

// The SQL that several types share.
const (
	shareOfViews = "round(100 * count() / sum(count()) OVER (), 2)"
	// person is the visitor id, or the profile id of an event without one, which
	// servers send. Profile ids are marked, so that the two cannot be confused.
	person = "if(e.anonymous_id != '', e.anonymous_id, concat('\\0', e.profile_id))"
)

// perSession makes one row per session, plus one with an empty session for the
// events that carry none. A session's duration is what its page exits say they
// took, in seconds, else the time from its first to its last event. It bounced when
// it is one page view of under ten seconds and nothing else happened; leaving the
// page is not something else.
var perSession = &Source{SQL: `(
    SELECT
        {each}e.session_id AS session,
        count() AS events,
        countIf(` + pageView + `) AS page_views,
        groupUniqArrayIf(e.anonymous_id, e.anonymous_id != '') AS visitors,
        ifNull(sumOrNullIf(` + timeOnPage + `, ` + timeOnPage +
	` >= 0), (toUnixTimestamp64Milli(max(e.event_time)) - toUnixTimestamp64Milli(min(e.event_time))) / 1000) AS duration,
        session != '' AND page_views = 1 AND duration < 10 AND countIf(e.name NOT IN ('` + ScreenView + `', '` +
	PageExit + `')) = 0 AS bounced
    {events}
    GROUP BY {by}e.session_id
)`}

// timeOnPage is that of a page exit, from its column, or from its property where
// servers send it.
const timeOnPage = "if(e.name = '" + PageExit +
	"', if(bitTest(e.measured, 3), toNullable(toFloat64(e.time_on_page)), " +
	"JSONExtract(e.properties, 'time_on_page', 'Nullable(Float64)')), NULL)"

// The measures of sessions, over perSession.
const (
	sessionCount   = "countIf(session != '')"
	sessionViews   = "sumIf(page_views, session != '')"
	bounceRate     = "if(" + sessionCount + " = 0, 0, round(100 * countIf(bounced) / " + sessionCount + ", 2))"
	medianDuration = "ifNotFinite(round(quantileExactInclusiveIf(0.5)(duration, session != ''), 2), 0)"
	viewsPerVisit  = "if(" + sessionCount + " = 0, 0, round(" + sessionViews + " / " + sessionCount + ", 2))"
)

const (
	seconds = "seconds"
	percent = "percent"
)

// What questions about a table may be filtered by. Page views have a name and
// nothing that only other events have.
var (
	eventFilters = fieldsOf(tableEvents)
	viewFilters  = fieldsOf(tableEvents, "event_name", "href", "link_text", "time_on_page")
	eventGroups  = groupsOf(tableEvents)
)

var summaryTypes = []Type{
	{
		Name: "summary_metrics", Aliases: []string{"summary"}, Subjects: Website | Organization,
		Title: "Summary", Category: "Summary", Tags: []string{"overview"}, Visualization: "metric",
		Description: "Page views, visitors, sessions, bounce rate, median session duration and events in the range.",
		Columns: []Column{
			{
				Name: "pageviews", Type: Number, Label: "Page views", Description: "Events named screen_view.", Example: "812",
				Expr: "sum(page_views)",
			},
			{
				Name: "unique_visitors", Type: Number, Label: "Visitors", Description: "Distinct anonymous ids on any event.",
				Example: "301", Expr: "uniqExactArray(visitors)",
			},
			{
				Name: "sessions", Type: Number, Label: "Sessions", Description: "Distinct session ids on any event.",
				Example: "344", Expr: sessionCount,
			},
			{
				Name: "bounce_rate", Type: Number, Label: "Bounce rate", Unit: percent,
				Description: "Share of sessions that consist of one page view of under 10 seconds and no other " +
					"event.", Example: "41.28",
				Expr: bounceRate,
			},
			{
				Name: "median_session_duration", Type: Number, Label: "Median session", Unit: seconds,
				Description: "Median duration: time on page from the session's page exits, otherwise from the " +
					"first to the last event.", Example: "63",
				Expr: medianDuration,
			},
			{
				Name: "total_events", Type: Number, Label: "Events", Description: "All events, including page views.",
				Example: "1290", Expr: "sum(events)",
			},
		},
		Filters: eventFilters, Groups: eventGroups, DefaultLimit: 1, Public: true,
		From: perSession,
		Rollup: overTraffic(map[string]string{
			"pageviews": "sum(e.views)", "unique_visitors": wide + "(e.visitors)", "sessions": wide + "(e.sessions)",
			"total_events": "sum(e.events)",
		}, map[string]string{"bounce_rate": factsBounceRate, "median_session_duration": factsMedian}),
	},
	{
		Name: "events_by_date", Subjects: Website | Organization,
		Title: "Events by date", Category: "Summary", Tags: []string{"overview", "series"}, Visualization: "line",
		Description: "The summary by day or hour. A session counts in every part in which it has an event.",
		Columns: []Column{
			dateColumn,
			{
				Name: "pageviews", Type: Number, Label: "Page views", Description: "Events named screen_view.", Example: "812",
				Expr: "sum(page_views)",
			},
			{
				Name: "visitors", Type: Number, Label: "Visitors", Description: "Distinct anonymous ids on any event.",
				Example: "301", Expr: "uniqExactArray(visitors)",
			},
			{
				Name: "sessions", Type: Number, Label: "Sessions", Description: "Distinct session ids on any event.",
				Example: "344", Expr: sessionCount,
			},
			{
				Name: "bounce_rate", Type: Number, Label: "Bounce rate", Unit: percent,
				Description: "Share of sessions that consist of one page view of under 10 seconds and no other " +
					"event.", Example: "41.28",
				Expr: bounceRate,
			},
			{
				Name: "median_session_duration", Type: Number, Label: "Median session", Unit: seconds,
				Description: "Median duration: time on page from the session's page exits, otherwise from the " +
					"first to the last event.", Example: "63",
				Expr: medianDuration,
			},
			{
				Name: "pages_per_session", Type: Number, Label: "Pages per session",
				Description: "Page views with a session id, per session.", Example: "2.36", Expr: viewsPerVisit,
			},
		},
		Filters: eventFilters, Groups: eventGroups, Sorts: []string{"date", "pageviews", "visitors", "sessions"},
		DefaultLimit: MaxLimit, Public: true,
		Series: true, From: perSession, OrderBy: "date",
		Rollup: overTraffic(map[string]string{
			"pageviews": "sum(e.views)", "visitors": wide + "(e.visitors)", "sessions": wide + "(e.sessions)",
			"pages_per_session": "if(" + wide + "(e.sessions) = 0, 0, round(sum(e.session_views) / " +
				wide + "(e.sessions), 2))",
		}, map[string]string{"bounce_rate": factsBounceRate, "median_session_duration": factsMedian}),
	},
}

var pageTypes = []Type{
	{
		Name: "top_pages", Aliases: []string{"pages"}, Subjects: Website | Organization,
		Title: "Top pages", Category: "Pages", Tags: []string{"pages"}, Visualization: "table",
		Description: "Page views and visitors by path, most page views first. Page views without a path are excluded.",
		Columns: []Column{
			{
				Name: "name", Type: String, Label: "Page", Description: "Page path or URL as sent.", Example: "/pricing",
				Expr: "e.path",
			},
			{
				Name: "pageviews", Type: Number, Label: "Page views", Description: "Page views of this path.", Example: "402",
				Expr: "count()",
			},
			{
				Name: "visitors", Type: Number, Label: "Visitors", Description: "Distinct anonymous ids with a view of this path.",
				Example: "233", Expr: visitors,
			},
			{
				Name: "percentage", Type: Number, Label: "Share", Unit: percent,
				Description: "Share of all page views in the range.", Example: "49.51", Expr: shareOfViews,
			},
		},
		Filters: viewFilters, Groups: eventGroups, Sorts: []string{"pageviews", "visitors"}, DefaultLimit: DefaultLimit,
		Public: true,
		Where:  pageView, GroupBy: "e.path", Keep: "e.path != ''", OrderBy: "pageviews", Desc: true, Tie: "e.path",
		Rollup: viewsRollup("path", "e.path", "", nil),
	},
}

// dateColumn is the first column of every series.
var dateColumn = Column{
	Name: "date", Type: String, Label: "Date", Example: "2026-03-29",
	Description: "YYYY-MM-DD, or YYYY-MM-DD HH:00:00 by hour, in the request's time zone.", Expr: "date",
}
