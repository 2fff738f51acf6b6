package analytics

// customEventFilters are what custom events may be filtered by.
var customEventFilters = fieldsOf(tableEvents, "href", "link_text", "time_on_page")

// The columns that several types of custom events share.
var (
	customName = Column{
		Name: "event_name", Type: String, Label: "Event", Description: "Name of the event.", Example: "signup",
		Expr: "e.name",
	}
	totalEvents = Column{
		Name: "total_events", Type: Number, Label: "Events", Description: "Custom events.", Example: "128", Expr: "count()",
	}
	eventTypes = Column{
		Name: "unique_event_types", Type: Number, Label: "Event names", Description: "Number of distinct " +
			"names.", Example: "7",
		Expr: "uniqExact(e.name)",
	}
	uniqueUsers = Column{
		Name: "unique_users", Type: Number, Label: "Users", Example: "96", Expr: persons,
		Description: "Distinct anonymous ids, plus profile ids of events without an anonymous id.",
	}
	uniqueSessions = Column{
		Name: "unique_sessions", Type: Number, Label: "Sessions", Description: "Distinct session ids.", Example: "101",
		Expr: sessions,
	}
	uniquePages = Column{
		Name: "unique_pages", Type: Number, Label: "Pages", Description: "Distinct paths.", Example: "12", Expr: pages,
	}
)

// customMeasures are those columns over the rollup.
var customMeasures = map[string]string{
	"total_events": "sum(e.events)", "unique_event_types": "uniqExact(e.name)", "unique_users": narrow + "(e.users)",
	"unique_sessions": narrow + "(e.sessions)", "unique_pages": narrow + "(e.pages)",
}

var customEventTypes = []Type{
	{
		Name: "custom_events", Subjects: Website | Organization,
		Title: "Custom events", Category: "Custom events", Tags: []string{"events"}, Visualization: "table",
		Description: "Custom events by name, most frequent first.",
		Columns: []Column{
			{Name: "name", Type: String, Label: "Event", Description: "Name of the event.", Example: "signup", Expr: "e.name"},
			totalEvents, uniqueUsers, uniqueSessions,
			{
				Name: "last_occurrence", Type: Datetime, Label: "Last", Description: "Time of the latest event.",
				Example: "2026-03-29T11:30:00.000Z", Expr: "max(e.event_time)",
			},
			{
				Name: "first_occurrence", Type: Datetime, Label: "First", Description: "Time of the earliest event.",
				Example: "2026-03-01T08:12:45.120Z", Expr: "min(e.event_time)",
			},
			{
				Name: "events_with_properties", Type: Number, Label: "With properties",
				Description: "Custom events with at least one " +
					"property.", Example: "120", Expr: "countIf(e.properties NOT IN ('', '{}'))",
			},
			{
				Name: "percentage", Type: Number, Label: "Share", Unit: percent,
				Description: "Share of all custom events in the range.", Example: "31.07", Expr: shareOfViews,
			},
		},
		Filters: customEventFilters, Groups: eventGroups, Sorts: []string{"total_events", "unique_users"},
		DefaultLimit: DefaultLimit, Public: true,
		Where: customEvent, GroupBy: "e.name", OrderBy: "total_events", Desc: true, Tie: "e.name",
		Rollup: overShape(custom, "e.name", map[string]string{
			"name": "e.name", "total_events": "sum(e.events)", "unique_users": narrow + "(e.users)",
			"unique_sessions": narrow + "(e.sessions)",
			"last_occurrence": "max(e.last)", "first_occurrence": "min(e.first)",
			"events_with_properties": "sum(e.with_properties)",
			"percentage":             "round(100 * sum(e.events) / sum(sum(e.events)) OVER (), 2)",
		}),
	},
	{
		Name: "custom_events_summary", Subjects: Website | Organization,
		Title: "Custom events summary", Category: "Custom events", Tags: []string{"events", "overview"},
		Visualization: "metric",
		Description:   "Custom events in the range, with their distinct names, users, sessions and pages.",
		Columns:       []Column{totalEvents, eventTypes, uniqueUsers, uniqueSessions, uniquePages},
		Filters:       customEventFilters, Groups: eventGroups, DefaultLimit: 1, Public: true,
		Where: customEvent, Rollup: overShape(custom, "", customMeasures),
	},
	{
		Name: "custom_events_trends", Subjects: Website | Organization,
		Title: "Custom events over time", Category: "Custom events", Tags: []string{"events", "series"},
		Visualization: "line",
		Description:   "Custom events by day or hour.",
		Columns:       []Column{dateColumn, totalEvents, eventTypes, uniqueUsers, uniqueSessions, uniquePages},
		Filters:       customEventFilters, Groups: eventGroups, Sorts: []string{"date", "total_events", "unique_users"},
		DefaultLimit: MaxLimit, Public: true,
		Series: true, Where: customEvent, OrderBy: "date", Rollup: overShape(custom, "", customMeasures),
	},
	{
		Name: "custom_events_trends_by_event", Subjects: Website | Organization,
		Title: "Each custom event over time", Category: "Custom events", Tags: []string{"events", "series"},
		Visualization: "line",
		Description:   "Custom events by name for each day or hour. A name without events has no row.",
		Columns:       []Column{dateColumn, customName, totalEvents},
		Filters:       customEventFilters, Sorts: []string{"date", "total_events"}, DefaultLimit: MaxLimit, Public: true,
		Series: true, Where: customEvent, OrderBy: "date", groups: []Column{customName},
	},
	{
		Name: "custom_events_by_path", Subjects: Website | Organization,
		Title: "Custom events by page", Category: "Custom events", Tags: []string{"events", "pages"}, Visualization: "table",
		Description: "Custom events by path, most frequent first. Events without a path are excluded.",
		Columns: []Column{
			{
				Name: "name", Type: String, Label: "Page", Description: "Page path or URL as sent.", Example: "/pricing",
				Expr: "e.path",
			},
			totalEvents, eventTypes, uniqueUsers,
		},
		Filters: customEventFilters, Groups: eventGroups, Sorts: []string{"total_events", "unique_users"},
		DefaultLimit: DefaultLimit, Public: true,
		Where: customEvent + " AND e.path != ''", GroupBy: "e.path", OrderBy: "total_events", Desc: true, Tie: "e.path",
	},
	{
		Name: "custom_events_recent", Subjects: Website | Organization,
		Title: "Recent custom events", Category: "Custom events", Tags: []string{"events"}, Visualization: "table",
		Description: "The latest custom events, newest first.",
		Columns: []Column{
			customName,
			{
				Name: "namespace", Type: String, Label: "Namespace", Description: "Grouping label.", Example: "checkout",
				Expr: "e.namespace",
			},
			{
				Name: "path", Type: String, Label: "Page", Description: "Page path or URL as sent.", Example: "/pricing",
				Expr: "e.path",
			},
			{Name: "source", Type: String, Label: "Source", Description: "Source label.", Example: "browser", Expr: "e.source"},
			{
				Name: "properties", Type: JSON, Label: "Properties", Description: "Properties as sent.", Example: `{"plan":"pro"}`,
				Expr: "e.properties",
			},
			{
				Name: "anonymous_id", Type: String, Label: "Visitor", Description: "Anonymous id as stored" + unlessPublic,
				Example: "anon_5f0c1a", Expr: "e.anonymous_id", Personal: true,
			},
			{
				Name: "session_id", Type: String, Label: "Session", Description: "Session id" + unlessPublic,
				Example: "sess_91b2d4", Expr: "e.session_id", Personal: true,
			},
			{
				Name: "timestamp", Type: Datetime, Label: "Time", Description: "Time of the event.",
				Example: "2026-03-29T11:30:00.000Z", Expr: "e.event_time",
			},
		},
		Filters: customEventFilters, Sorts: []string{"timestamp"}, DefaultLimit: DefaultLimit, Public: true,
		Where: customEvent, OrderBy: "timestamp", Desc: true, Tie: "e.owner_id, e.event_key, e.name",
	},
}
