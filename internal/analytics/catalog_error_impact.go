package analytics

import "strings"

// aliasesOfVisitors are the users that visitor ids are told to be.
const aliasesOfVisitors = `(
    SELECT a.anonymous_id AS visitor, a.profile_id AS user
    FROM aliases AS a FINAL
    WHERE a.owner_id = {owner:String}
)`

// customerOf is the user that an event names, else the one that its visitor id is
// told to be, where aliasesOfVisitors are joined as a.
const customerOf = "if(e.profile_id != '', e.profile_id, a.user)"

// perCustomerError makes a row of each error of a known user, with what the user is
// called and how many sessions they had, whatever the filters.
var perCustomerError = &Source{Tables: []string{tableEvents, "aliases", "profile_traits"}, SQL: `(
    SELECT e.*, if(t.display != '', t.display, t.name) AS display_name, t.email AS email, s.sessions AS visits
    FROM (
        SELECT e.*, ` + customerOf + ` AS customer
        FROM (
            SELECT e.*
            {events}
        ) AS e
        LEFT JOIN ` + strings.TrimLeft(indent(indent(aliasesOfVisitors)), " ") + ` AS a ON a.visitor = e.anonymous_id
    ) AS e
    LEFT JOIN (
        SELECT ` + customerOf + ` AS customer, uniqExact(` + hashOf("e.session_id") + `) AS sessions
        FROM (
            SELECT e.profile_id AS profile_id, e.anonymous_id AS anonymous_id, e.session_id AS session_id
            {all events}
              AND e.session_id != ''
        ) AS e
        LEFT JOIN ` + strings.TrimLeft(indent(indent(aliasesOfVisitors)), " ") + ` AS a ON a.visitor = e.anonymous_id
        WHERE customer != ''
        GROUP BY customer
    ) AS s ON s.customer = e.customer
    LEFT JOIN ` + strings.TrimLeft(indent(namesOfPeople("")), " ") + ` AS t ON t.id = e.customer
    WHERE e.customer != ''
) AS e`}

// perRoute makes a row of each session and page that it viewed, of the pages that had
// errors: how many errors the session had there, and whether it viewed another page
// after the first of them, or after it first viewed the page where it had none.
var perRoute = &Source{Tables: []string{tableErrors}, SQL: `(
    SELECT
        v.path AS path, toUInt64(c.errors) AS errors,
        arrayExists(other -> other.1 != v.path AND other.2 > if(c.errors > 0, c.first, v.first), w.viewed) AS continued
    FROM (
        SELECT ` + hashOf("e.session_id") + ` AS session, e.path AS path, min(e.event_time) AS first
        {events}
          AND e.path IN (
            SELECT e.path
            FROM errors AS e FINAL
            WHERE {range}
              AND ` + inSession + `
          )
        GROUP BY session, path
    ) AS v
    LEFT JOIN (
        SELECT ` + hashOf("e.session_id") + ` AS session, e.path AS path, min(e.event_time) AS first, count() AS errors
        FROM errors AS e FINAL
        WHERE {range}
          AND ` + inSession + `
        GROUP BY session, path
    ) AS c ON c.session = v.session AND c.path = v.path
    LEFT JOIN (
        SELECT p.session AS session, groupArray((p.path, p.last)) AS viewed
        FROM (
            SELECT ` + hashOf("e.session_id") + ` AS session, e.path AS path, max(e.event_time) AS last
            {all events}
              AND ` + inSession + ` AND ` + pageView + `
            GROUP BY session, path
        ) AS p
        GROUP BY p.session
    ) AS w ON w.session = v.session
) AS e`}

// Counts over perRoute.
const (
	failedVisits    = "countIf(e.errors > 0)"
	failedContinued = "countIf(e.errors > 0 AND e.continued)"
	cleanVisits     = "countIf(e.errors = 0)"
	cleanContinued  = "countIf(e.errors = 0 AND e.continued)"
	// continuationGap is 0 where there is nothing to compare with.
	continuationGap = "if(" + failedVisits + " = 0 OR " + cleanVisits + " = 0, 0, round(100 * " +
		failedContinued + " / " + failedVisits +
		" - 100 * " + cleanContinued + " / " + cleanVisits + ", 2))"
)

// errorImpactTypes are about what errors do to those who have them.
var errorImpactTypes = []Type{
	{
		Name: "error_customer_impact", Subjects: Website, Table: tableErrors,
		Title: "Customers with errors", Category: "Errors", Tags: []string{"errors", "profiles"}, Visualization: "table",
		Description: "Known users with errors, most errors first, with their affected sessions and their latest error. A " +
			"visitor who is known as a user counts as that user; other visitors are excluded.",
		Columns: []Column{
			{
				Name: "profile_id", Type: String, Label: "User", Description: "Your own id of the user.", Example: "user_42",
				Expr: "e.customer",
			},
			{
				Name: "display_name", Type: String, Label: "Name", Description: "Trait display_name, otherwise name.",
				Example: "Ada", Expr: "max(e.display_name)",
			},
			{
				Name: "email", Type: String, Label: "Email", Description: "Trait email.", Example: "ada@example.com",
				Expr: "max(e.email)",
			},
			errorCount.named("errors"),
			{
				Name: "error_types", Type: Number, Label: "Types", Description: "Distinct types of these errors.", Example: "2",
				Expr: "uniqExact(e.name)",
			},
			{
				Name: "pages", Type: Number, Label: "Pages", Description: "Distinct pages with these errors.", Example: "3",
				Expr: "uniqExactIf(e.path, e.path != '')",
			},
			{
				Name: "affected_sessions", Type: Number, Label: "Affected sessions", Description: "Distinct sessions with an " +
					"error.",
				Example: "4", Expr: sessions,
			},
			{
				Name: "total_sessions", Type: Number, Label: "Sessions",
				Description: "All sessions of the user in the range, regardless of filters.", Example: "9", Expr: "max(e.visits)",
			},
			{
				Name: "affected_rate", Type: Number, Label: "Affected", Unit: percent,
				Description: "Share of the user's sessions that had an error.", Example: "44.44",
				Expr: "least(100, ifNull(round(100 * " + sessions + " / nullIf(max(e.visits), 0), 2), 0))",
			},
			{
				Name: "last_error", Type: String, Label: "Latest", Description: "Message of the latest error.",
				Example: "x is not a function", Expr: "max(tuple(e.event_time, e.message)).2",
			},
			{
				Name: "first_seen", Type: Datetime, Label: "First", Description: "Time of the first error.",
				Example: "2026-03-28T08:12:45.120Z", Expr: "min(e.event_time)",
			},
			{
				Name: "last_seen", Type: Datetime, Label: "Last", Description: "Time of the latest error.",
				Example: "2026-03-29T11:30:00.000Z", Expr: "max(e.event_time)",
			},
		},
		Filters: errorFilters,
		Sorts: []string{
			"errors", "error_types", "pages", "affected_sessions", "total_sessions", "affected_rate", "first_seen", "last_seen",
		},
		DefaultLimit: DefaultLimit,
		From:         perCustomerError, GroupBy: "e.customer", OrderBy: "errors", Desc: true, Tie: "e.customer",
	},
	{
		Name: "error_route_continuation_comparison", Subjects: Website | Organization,
		Title: "Going on after errors", Category: "Errors", Tags: []string{"errors", "pages"}, Visualization: "table",
		Description: "For each page with errors: how many sessions with an error there viewed another page afterwards, " +
			"compared with sessions without one. Pages with the most affected sessions come first. Filters apply to the page " +
			"views.",
		Columns: []Column{
			{
				Name: "name", Type: String, Label: "Page", Description: "Page path or URL as sent.", Example: "/checkout",
				Expr: "e.path",
			},
			{
				Name: "errors", Type: Number, Label: "Errors", Description: "Errors on the page in sessions that viewed it.",
				Example: "38", Expr: "sum(e.errors)",
			},
			{
				Name: "error_sessions", Type: Number, Label: "With errors",
				Description: "Sessions that viewed the page and had an error there.", Example: "14", Expr: failedVisits,
			},
			{
				Name: "error_continued", Type: Number, Label: "Went on",
				Description: "Of these sessions, those that viewed another page after the " +
					"first error.", Example: "5", Expr: failedContinued,
			},
			{
				Name: "error_continuation_rate", Type: Number, Label: "Rate with errors", Unit: percent,
				Description: "Share of the sessions with an error on this page that then viewed another page.",
				Example:     "35.71", Expr: rate(failedContinued, failedVisits),
			},
			{
				Name: "clean_sessions", Type: Number, Label: "Without errors",
				Description: "Sessions that viewed the page without an error there.", Example: "206", Expr: cleanVisits,
			},
			{
				Name:        "clean_continued",
				Type:        Number,
				Label:       "Went on without",
				Description: "Of these sessions, those that viewed another page after their first view of this page.",
				Example:     "140",
				Expr:        cleanContinued,
			},
			{
				Name: "clean_continuation_rate", Type: Number, Label: "Rate without errors", Unit: percent,
				Description: "Share of the sessions without an error on this page that then viewed another page.",
				Example:     "67.96", Expr: rate(cleanContinued, cleanVisits),
			},
			{
				Name: "difference", Type: Number, Label: "Difference", Unit: percent,
				Description: "Difference of the two rates in percentage points, with errors minus without; 0 if all sessions had " +
					"an error.",
				Example: "-32.25", Expr: continuationGap,
			},
		},
		Filters: viewFilters, Sorts: []string{
			"error_sessions", "errors", "clean_sessions", "error_continuation_rate", "clean_continuation_rate", "difference",
		},
		DefaultLimit: DefaultLimit,
		From:         perRoute, Where: inSession + " AND " + pageView + " AND e.path != ''",
		GroupBy: "e.path", Keep: "error_sessions > 0", OrderBy: "error_sessions", Desc: true, Tie: "e.path",
	},
}
