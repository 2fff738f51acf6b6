package analytics

// perTransition makes a row for each step from one page of a session to another. Pages
// are in the order of their views, those of one millisecond in that of their paths. A
// page that is viewed again at once is one page.
var perTransition = &Source{SQL: `(
    SELECT {by}session, pair.1 AS from_path, pair.2 AS to_path
    FROM (
        SELECT
            {each}` + hashOf("e.session_id") + ` AS session,
            arrayCompact(arraySort(groupArray((e.event_time, e.path))).2) AS paths
        {events}
        GROUP BY {by}session
    )
    ARRAY JOIN arrayZip(arrayPopBack(paths), arrayPopFront(paths)) AS pair
)`}

// perPathStep makes a row for each step of each session along its path: what came, and
// what came next, which is empty at the end of the session. A path begins where the
// option start says, else with the session.
var perPathStep = &Source{SQL: `(
    SELECT {by}session, step, things[step] AS from_name, things[step + 1] AS to_name
    FROM (
        SELECT
            {each}e.session_id AS session,
            arrayCompact(arraySort(groupArray((e.event_time, ` + pathThing + `))).2) AS whole,
            if({option_start:String} = '', 1, indexOf(whole, {option_start:String})) AS first,
            if(first = 0, [], arraySlice(whole, first, {option_depth:UInt64} + 1)) AS things
        {events}
        GROUP BY {by}e.session_id
    )
    ARRAY JOIN range(1, least(length(things), {option_depth:UInt64}) + 1) AS step
)`}

// pathThing is what an event puts on a path, if anything.
const pathThing = "multiIf(" + pageView +
	", if({option_of:String} = 'events', '', e.path), {option_of:String} = 'pages', '', e.name)"

var pathTypes = []Type{
	{
		Name: "paths", Subjects: Website | Organization,
		Title: "Paths", Category: "Paths", Tags: []string{"sessions", "pages", "events"}, Visualization: "sankey",
		Description: "Paths of sessions, step by step, most frequent first.",
		Columns: []Column{
			{
				Name: "step", Type: Number, Label: "Step", Description: "Number of the step, from 1.", Example: "1",
				Expr: "step",
			},
			{
				Name: "from_name", Type: String, Label: "From", Description: "Page or event at the start of the step.",
				Example: "/", Expr: "from_name",
			},
			{
				Name: "to_name", Type: String, Label: "To",
				Description: "Next page or event; empty if the session ended.", Example: "/pricing", Expr: "to_name",
			},
			{
				Name: "sessions", Type: Number, Label: "Sessions", Description: "Sessions with the step.", Example: "51",
				Expr: "count()",
			},
			{
				Name: "percentage", Type: Number, Label: "Share", Unit: percent,
				Description: "Share of all sessions with a path.", Example: "14.83",
				Expr: "round(100 * count() / sum(countIf(step = 1)) OVER (), 2)",
			},
		},
		Filters: eventFilters, Sorts: []string{"step", "sessions"}, DefaultLimit: DefaultLimit,
		Options: []Option{
			{
				Name: "of", Kind: OptionText, Default: "pages", OneOf: []string{"pages", "events", "both"},
				Doc: "Nodes of the paths: paths of page views, names of custom events, or both.",
			},
			{Name: "start", Kind: OptionText, Max: MaxFilterValueLen, Doc: "Page or event at which paths start, at its first " +
				"occurrence in a session. Sessions without it are excluded. If absent, paths start with the session."},
			{Name: "depth", Kind: OptionInteger, Default: "3", Min: 1, Max: 20, Doc: "Number of steps to report per session."},
		},
		From:    perPathStep,
		Where:   "e.session_id != '' AND (" + pageView + " OR " + customEvent + ") AND " + pathThing + " != ''",
		GroupBy: "step, from_name, to_name", OrderBy: "sessions", Desc: true, Tie: "step, from_name, to_name",
		Groups: visitorGroups,
	},
	{
		Name: "session_flow", Subjects: Website | Organization,
		Title: "Session flow", Category: "Paths", Tags: []string{"sessions", "pages"}, Visualization: "sankey",
		Description: "Transitions of sessions between two pages, most frequent first.",
		Columns: []Column{
			{
				Name: "from_path", Type: String, Label: "From", Description: "Page before the " +
					"transition.", Example: "/", Expr: "from_path",
			},
			{
				Name: "to_path", Type: String, Label: "To", Description: "Page after the transition.", Example: "/pricing",
				Expr: "to_path",
			},
			{
				Name: "name", Type: String, Label: "Step", Description: "Both pages, with an arrow " +
					"between them.", Example: "/ → /pricing",
				Expr: "concat(from_path, ' → ', to_path)",
			},
			{
				Name: "transitions", Type: Number, Label: "Transitions", Description: "Number of transitions.",
				Example: "58", Expr: "count()",
			},
			{
				Name: "sessions", Type: Number, Label: "Sessions", Description: "Distinct sessions with the " +
					"transition.", Example: "51",
				Expr: "uniqExact(session)",
			},
		},
		Filters: viewFilters, Sorts: []string{"transitions", "sessions"}, DefaultLimit: DefaultLimit,
		From: perTransition, Where: pageView + " AND e.session_id != '' AND e.path != ''",
		GroupBy: "from_path, to_path", OrderBy: "transitions", Desc: true, Tie: "from_path, to_path",
		Groups: visitorGroups,
	},
}
