package analytics

// told is what engagement tells under a name: a number, or nothing.
func told(name string) string {
	return "if(e.name = '" + Engagement + "', JSONExtract(e.properties, '" + name + "', 'Nullable(Float64)'), NULL)"
}

// sumOf adds up a count that engagement tells.
func sumOf(name string) string { return "sum(ifNull(" + told(name) + ", 0))" }

// What events tell of a page that was shown: older trackers with its exit, others with
// engagement.
const (
	exitScroll = "if(e.name = '" + PageExit +
		"' AND bitTest(e.measured, 4), toNullable(toFloat64(e.scroll_depth)), NULL)"
	exitInteractions = "if(e.name = '" + PageExit +
		"' AND bitTest(e.measured, 5), toNullable(toFloat64(e.interactions)), NULL)"
)

// perVisit makes a row of each page of each session. How far it was scrolled is the
// farthest that anything told, NULL where nothing did; interactions are the most that
// either kind of event told. Sessions and visitors are told apart by their hashes; a
// visitor is there once for each event, since sets of so few take more than lists.
var perVisit = &Source{SQL: `(
    SELECT
        {each}` + hashOf("e.session_id") + ` AS session, e.path AS path,
        groupArrayIf(` + hashOf("e.anonymous_id") + `, e.anonymous_id != '') AS visitors,
        countIf(` + pageView + `) AS views,
        max(coalesce(` + exitScroll + `, ` + told("maxScrollDepth") + `)) AS depth,
        sumOrNull(` + exitInteractions + `) AS exit_interactions,
        sumOrNull(` + told("interactionCount") + `) AS told_interactions,
        coalesce(greatest(exit_interactions, told_interactions), exit_interactions, told_interactions) AS interactions,
        sumOrNull(` + told("activeTime") + `) AS active,
        sumOrNull(` + told("timeOnPage") + `) AS open,
        ` + sumOf("rageClickCount") + ` AS rage,
        ` + sumOf("deadClickCount") + ` AS dead,
        ` + sumOf("errorCount") + ` AS errors,
        ` + sumOf("formFieldCount") + ` AS fields,
        ` + sumOf("formSubmitCount") + ` AS submits
    {events}
    GROUP BY {by}session, path
) AS e`}

// Which events tell of engagement.
const (
	tellsOfPages = inSession + " AND e.name IN ('" + PageExit + "', '" + Engagement + "')"
	viewsToo     = inSession + " AND e.name IN ('" + ScreenView + "', '" + PageExit + "', '" + Engagement + "')"
	engaged      = inSession + " AND e.path != '' AND e.name = '" + Engagement + "'"
)

// Measures over perVisit.
const (
	visitSessions = "uniqExact(e.session)"
	visitVisitors = "uniqExactArray(e.visitors)"
	meanDepth     = "ifNotFinite(round(avgOrDefault(e.depth), 2), 0)"
	depthRange    = "multiIf(e.depth < 25, '0-25%', e.depth < 50, '25-50%', e.depth < 75, '50-75%', '75-100%')"
	// engagedVisit is ten seconds of activity or more, or half of the page scrolled and
	// something done.
	engagedVisit = "(ifNull(e.active, 0) >= 10 OR ifNull(e.depth, 0) >= 50 AND ifNull(e.interactions, 0) > 0)"
)

// rate is a share in percent, 0 of nothing.
func rate(part, whole string) string {
	return "if(" + whole + " = 0, 0, round(100 * " + part + " / " + whole + ", 2))"
}

// The columns that types of engagement share.
var (
	pageName = Column{
		Name: "name", Type: String, Label: "Page", Description: "Page path or URL as sent.", Example: "/pricing",
		Expr: "e.path",
	}
	pageSessions = Column{
		Name: "sessions", Type: Number, Label: "Sessions", Description: "Sessions with engagement data of the page.",
		Example: "120",
		Expr:    visitSessions,
	}
	pageVisitors = Column{
		Name: "visitors", Type: Number, Label: "Visitors", Description: "Distinct anonymous ids of these " +
			"sessions.", Example: "112",
		Expr: visitVisitors,
	}
	meanDepthTold = Column{
		Name: "avg_scroll_depth", Type: Number, Label: "Average depth", Unit: percent,
		Description: "Mean of the maximum scroll depth in a session.", Example: "61.4", Expr: meanDepth,
	}
)

// engagementPages is a type about the pages that engagement tells of.
func engagementPages(name, title, description, keep, order string, columns ...Column) Type {
	sorts := make([]string, 0, len(columns)+1)
	for _, c := range columns {
		sorts = append(sorts, c.Name)
	}
	return Type{
		Name: name, Subjects: Website | Organization,
		Title: title, Category: "Engagement", Tags: []string{"engagement", "pages"}, Visualization: "table",
		Description: description,
		Columns:     append([]Column{pageName, pageSessions}, columns...), Filters: exitFilters, Groups: visitorGroups,
		Sorts: append(sorts, "sessions"), DefaultLimit: DefaultLimit,
		From: perVisit, Where: engaged, GroupBy: "e.path", Keep: keep, OrderBy: order, Desc: true, Tie: "e.path",
	}
}

var engagementTypes = []Type{
	{
		Name: "scroll_depth_summary", Subjects: Website | Organization,
		Title: "Scroll depth", Category: "Engagement", Tags: []string{"engagement", "overview"}, Visualization: "metric",
		Description: "Scroll depth of pages, from page exits and engagement records. Each page counts once per session.",
		Columns: []Column{
			meanDepthTold,
			{
				Name: "total_sessions", Type: Number, Label: "Sessions", Description: "Sessions that reported a " +
					"scroll depth.", Example: "120",
				Expr: "uniqExactIf(e.session, isNotNull(e.depth))",
			},
			{
				Name: "visitors", Type: Number, Label: "Visitors", Description: "Distinct anonymous ids of these sessions.",
				Example: "112", Expr: "uniqExactArrayIf(e.visitors, isNotNull(e.depth))",
			},
		},
		Filters: exitFilters, Groups: visitorGroups, DefaultLimit: 1, From: perVisit, Where: tellsOfPages,
	},
	{
		Name: "scroll_depth_distribution", Subjects: Website | Organization,
		Title: "Scroll depths", Category: "Engagement", Tags: []string{"engagement"}, Visualization: "bar",
		Description: "Pages by range of scroll depth, lowest first. A page counts once per session. A range includes " +
			"its start; the last one also includes its end.",
		Columns: []Column{
			{
				Name: "depth_range", Type: String, Label: "Depth", Description: "0-25%, 25-50%, 50-75% or 75-100%.",
				Example: "50-75%", Expr: depthRange,
			},
			{
				Name: "visitors", Type: Number, Label: "Visitors", Description: "Distinct anonymous ids.", Example: "31",
				Expr: visitVisitors,
			},
			{
				Name: "sessions", Type: Number, Label: "Sessions", Description: "Sessions with such a page.", Example: "33",
				Expr: visitSessions,
			},
			{
				Name: "percentage", Type: Number, Label: "Share", Unit: percent,
				Description: "Share of all pages of sessions with a scroll depth.", Example: "24.6", Expr: shareOfViews,
			},
		},
		Filters: exitFilters, Groups: visitorGroups, Sorts: []string{"depth_range", "sessions", "visitors"},
		DefaultLimit: DefaultLimit,
		From:         depthsTold, Where: tellsOfPages, GroupBy: depthRange, OrderBy: "depth_range", Tie: depthRange,
	},
	{
		Name: "page_scroll_performance", Subjects: Website | Organization,
		Title: "Scroll depth by page", Category: "Engagement", Tags: []string{"engagement", "pages"}, Visualization: "table",
		Description: "Scroll depth by page, most sessions first. Pages without a scroll depth are excluded.",
		Columns: []Column{
			pageName, meanDepthTold,
			{
				Name: "visitors", Type: Number, Label: "Visitors", Description: "Distinct anonymous ids of these sessions.",
				Example: "112", Expr: "uniqExactArrayIf(e.visitors, isNotNull(e.depth))",
			},
			{
				Name: "sessions", Type: Number, Label: "Sessions", Description: "Sessions that reported a scroll " +
					"depth.", Example: "120",
				Expr: "uniqExactIf(e.session, isNotNull(e.depth))",
			},
			{
				Name: "pageviews", Type: Number, Label: "Page views", Description: "Page views with a session id.",
				Example: "140", Expr: "sum(e.views)",
			},
		},
		Filters: exitFilters, Groups: visitorGroups, Sorts: []string{"sessions", "visitors", "pageviews", "avg_scroll_depth"},
		DefaultLimit: DefaultLimit,
		From:         perVisit, Where: viewsToo + " AND e.path != ''", GroupBy: "e.path", Keep: "sessions > 0",
		OrderBy: "sessions",
		Desc:    true, Tie: "e.path",
	},
	{
		Name: "interaction_summary", Aliases: []string{"engagement"}, Subjects: Website | Organization,
		Title: "Interactions", Category: "Engagement", Tags: []string{"engagement", "overview"}, Visualization: "metric",
		Description: "Clicks, key presses and touches on pages, from page exits and engagement records.",
		Columns: []Column{
			{
				Name: "avg_interactions", Type: Number, Label: "Average", Description: "Interactions per session.", Example: "7.4",
				Expr: "if(total_sessions = 0, 0, round(sum(ifNull(e.interactions, 0)) / total_sessions, 2))",
			},
			{
				Name:        "interactive_sessions",
				Type:        Number,
				Label:       "Interactive sessions",
				Description: "Sessions with at least one interaction.",
				Example:     "98",
				Expr:        "uniqExactIf(e.session, ifNull(e.interactions, 0) > 0)",
			},
			{
				Name: "interaction_rate", Type: Number, Label: "Rate", Unit: percent,
				Description: "Share of sessions with at least one interaction.", Example: "81.67",
				Expr: rate("interactive_sessions", "total_sessions"),
			},
			{
				Name:        "total_sessions",
				Type:        Number,
				Label:       "Sessions",
				Description: "Sessions that reported interactions, including zero.",
				Example:     "120",
				Expr:        "uniqExactIf(e.session, isNotNull(e.interactions))",
			},
		},
		Filters: exitFilters, Groups: visitorGroups, DefaultLimit: 1, From: perVisit, Where: tellsOfPages,
	},
	engagementPages(
		"frustration_by_page", "Frustration by page",
		"Rage clicks and dead clicks by page, most frustrated sessions first. Pages without such clicks are excluded.",
		"rage_clicks + dead_clicks > 0", "frustrated_sessions",
		Column{
			Name:        "frustrated_sessions",
			Type:        Number,
			Label:       "Frustrated sessions",
			Description: "Sessions with a rage click or a dead click on the page.",
			Example:     "14",
			Expr:        "uniqExactIf(e.session, e.rage + e.dead > 0)",
		},
		Column{
			Name: "frustration_rate", Type: Number, Label: "Rate", Unit: percent,
			Description: "Share of the page's sessions that are frustrated.", Example: "11.67",
			Expr: rate("frustrated_sessions", "sessions"),
		},
		Column{
			Name: "rage_clicks", Type: Number, Label: "Rage clicks", Description: "Rapid repeated clicks on one element.",
			Example: "19", Expr: "sum(e.rage)",
		},
		Column{
			Name: "dead_clicks", Type: Number, Label: "Dead clicks", Description: "Clicks without an effect.",
			Example: "7", Expr: "sum(e.dead)",
		},
		Column{
			Name: "errors", Type: Number, Label: "Errors", Description: "Errors counted by engagement records.", Example: "2",
			Expr: "sum(e.errors)",
		},
	),
	engagementPages(
		"form_abandonment_by_page", "Abandoned forms by page",
		"Abandoned forms by page, most abandoned first. Pages without touched form fields are excluded.",
		"started_sessions > 0", "abandoned_sessions",
		Column{
			Name:        "started_sessions",
			Type:        Number,
			Label:       "Started",
			Description: "Sessions that filled in a field on the page.",
			Example:     "40",
			Expr:        "uniqExactIf(e.session, e.fields > 0)",
		},
		Column{
			Name: "submitted_sessions", Type: Number, Label: "Submitted", Description: "Of these sessions, those that " +
				"submitted a form.",
			Example: "31", Expr: "uniqExactIf(e.session, e.fields > 0 AND e.submits > 0)",
		},
		Column{
			Name: "abandoned_sessions", Type: Number, Label: "Abandoned", Description: "Of these sessions, those that " +
				"submitted no form.",
			Example: "9", Expr: "started_sessions - submitted_sessions",
		},
		Column{
			Name: "abandonment_rate", Type: Number, Label: "Rate", Unit: percent,
			Description: "Share of the sessions that filled in a field but submitted no form.", Example: "22.5",
			Expr: rate("abandoned_sessions", "started_sessions"),
		},
	),
	engagementPages(
		"engagement_quality_by_page", "Engagement by page", "Engagement by page, most engaged sessions first.",
		"", "engaged_sessions",
		pageVisitors,
		Column{
			Name:        "engaged_sessions",
			Type:        Number,
			Label:       "Engaged sessions",
			Description: "Sessions with ten seconds of activity on the page, or a scroll depth of 50% and an interaction.",
			Example:     "71",
			Expr:        "uniqExactIf(e.session, " + engagedVisit + ")",
		},
		Column{
			Name: "engagement_rate", Type: Number, Label: "Rate", Unit: percent,
			Description: "Share of the page's sessions that are engaged.", Example: "59.17",
			Expr: rate("engaged_sessions", "sessions"),
		},
		Column{
			Name: "avg_active_time", Type: Number, Label: "Active time", Unit: seconds,
			Description: "Mean active time per session.", Example: "24.1",
			Expr: "ifNotFinite(round(avgOrDefault(e.active), 2), 0)",
		},
		Column{
			Name: "avg_time_on_page", Type: Number, Label: "Time on page", Unit: seconds,
			Description: "Mean time on page per session.", Example: "48.9",
			Expr: "ifNotFinite(round(avgOrDefault(e.open), 2), 0)",
		},
		meanDepthTold,
		Column{
			Name: "avg_interactions", Type: Number, Label: "Interactions", Description: "Mean number of interactions per " +
				"session.",
			Example: "5.2", Expr: "ifNotFinite(round(avgOrDefault(e.interactions), 2), 0)",
		},
	),
}

// depthsTold are the rows of perVisit that tell a depth.
var depthsTold = &Source{SQL: "(SELECT * FROM " + perVisit.SQL + " WHERE isNotNull(e.depth)) AS e"}
