package analytics

// perEntry and perExit make a row of each session: its first, or last, page view of
// the range, of those that pass the filters, with the hash of its visitor, 0 for none.
var (
	perEntry = oneView("argMin")
	perExit  = oneView("argMax")
)

func oneView(pick string) *Source {
	return &Source{SQL: `(
    SELECT {by}view.1 AS path, view.2 AS visitor
    FROM (
        SELECT {each}` + hashOf("e.session_id") + ` AS session, ` + pick + `((e.path, if(e.anonymous_id = '', 0, ` +
		hashOf("e.anonymous_id") + `)), (e.event_time, e.event_key)) AS view
        {events}
        GROUP BY {by}session
    )
) AS e`}
}

// pagesLike is a type with the columns of top_pages over the first or last pages of
// sessions.
func pagesLike(name, title, description string, from *Source) Type {
	return Type{
		Name: name, Subjects: Website | Organization,
		Title: title, Category: "Pages", Tags: []string{"pages", "sessions"}, Visualization: "table",
		Description: description,
		Columns: []Column{
			{
				Name: "name", Type: String, Label: "Page", Description: "Page path or URL as sent.", Example: "/pricing",
				Expr: "e.path",
			},
			{
				Name: "pageviews", Type: Number, Label: "Page views", Description: "Page views counted here, one per session.",
				Example: "201", Expr: "count()",
			},
			{
				Name: "visitors", Type: Number, Label: "Visitors", Description: "Distinct anonymous ids of these " +
					"page views.", Example: "188",
				Expr: "uniqExactIf(e.visitor, e.visitor != 0)",
			},
			{
				Name: "percentage", Type: Number, Label: "Share", Unit: percent,
				Description: "Share of all such page views, including those without a path.", Example: "58.43", Expr: shareOfViews,
			},
		},
		Filters: viewFilters, Groups: visitorGroups, Sorts: []string{"pageviews", "visitors"}, DefaultLimit: DefaultLimit,
		Public: true,
		From:   from, Where: "e.session_id != '' AND " + pageView, GroupBy: "e.path", Keep: "e.path != ''",
		OrderBy: "pageviews", Desc: true, Tie: "e.path",
	}
}

// exitFilters are those of page exits and engagement, whose names are given.
var exitFilters = fieldsOf(tableEvents, "event_name", "href", "link_text")

// timed is the predicate of a page exit that tells how long the page was open.
const timed = "e.name = '" + PageExit + "' AND ifNull(" + timeOnPage + " >= 0, 0)"

var pageDetailTypes = []Type{
	{
		Name: "page_performance", Subjects: Website | Organization,
		Title: "Page performance", Category: "Pages", Tags: []string{"pages"}, Visualization: "table",
		Description: "Page views and visitors by path, most visitors first. Page views without a path are excluded.",
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
		Filters: viewFilters, Groups: visitorGroups, Sorts: []string{"pageviews", "visitors"}, DefaultLimit: DefaultLimit,
		Public: true,
		Where:  pageView, GroupBy: "e.path", Keep: "e.path != ''", OrderBy: "visitors", Desc: true, Tie: "e.path",
	},
	pagesLike("entry_pages", "Entry pages",
		"Entry pages: the first page view of each session in the range that matches the filters.",
		perEntry),
	pagesLike("exit_pages", "Exit pages",
		"Exit pages: the last page view of each session in the range that matches the filters.",
		perExit),
	{
		Name: "page_time_analysis", Subjects: Website | Organization,
		Title: "Time on page", Category: "Pages", Tags: []string{"pages", "engagement"}, Visualization: "table",
		Description: "Time on page, from page exits, most sessions first.",
		Columns: []Column{
			{
				Name: "name", Type: String, Label: "Page", Description: "Page path or URL as sent.", Example: "/pricing",
				Expr: "e.path",
			},
			{
				Name: "sessions_with_time", Type: Number, Label: "Sessions",
				Description: "Distinct sessions with a page exit that has a time.", Example: "120", Expr: sessions,
			},
			{
				Name: "visitors", Type: Number, Label: "Visitors", Description: "Distinct anonymous ids of these page exits.",
				Example: "112", Expr: visitors,
			},
			{
				Name: "median_time_on_page", Type: Number, Label: "Median time", Unit: seconds,
				Description: "Median time on page.", Example: "41.5",
				Expr: "ifNotFinite(round(quantileExactInclusive(0.5)(assumeNotNull(" + timeOnPage + ")), 2), 0)",
			},
			{
				Name: "percentage", Type: Number, Label: "Share", Unit: percent,
				Description: "Share of all page exits that have a time.", Example: "17.2", Expr: shareOfViews,
			},
		},
		Filters: exitFilters, Groups: visitorGroups, Sorts: []string{"sessions_with_time", "visitors", "median_time_on_page"},
		DefaultLimit: DefaultLimit, Public: true,
		Where: timed, GroupBy: "e.path", Keep: "e.path != ''", OrderBy: "sessions_with_time", Desc: true, Tie: "e.path",
	},
}
