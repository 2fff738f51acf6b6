package analytics

// What errors may be filtered and grouped by.
var (
	errorFilters = fieldsOf(tableErrors)
	errorGroups  = groupsOf(tableErrors)
)

// The columns that types of errors share.
var (
	errorCount = Column{
		Name: "count", Type: Number, Label: "Errors", Description: "Errors.", Example: "38", Expr: "count()",
	}
	errorUsers = Column{
		Name: "users", Type: Number, Label: "Users", Description: "Distinct anonymous ids with an error.", Example: "12",
		Expr: visitors,
	}
	errorSessions = Column{
		Name: "sessions", Type: Number, Label: "Sessions", Description: "Distinct sessions with an error.", Example: "14",
		Expr: sessions,
	}
)

// errorRate compares the sessions with an error with all that events tell of.
var errorRate = "least(100, ifNull(round(100 * " + sessions + " / nullIf((SELECT " + sessions +
	" {all events}), 0), 2), 0))"

var errorTypes = []Type{
	{
		Name: "recent_errors", Aliases: []string{"errors"}, Subjects: Website | Organization, Table: "errors",
		Title: "Recent errors", Category: "Errors", Tags: []string{"errors"}, Visualization: "table",
		Description: "Latest script errors on pages, newest first.",
		Columns: []Column{
			{
				Name: "message", Type: String, Label: "Message", Description: "Error message.",
				Example: "x is not a function", Expr: "e.message",
			},
			{
				Name: "stack", Type: String, Label: "Stack", Description: "Stack trace.", Example: "at f (app.js:17)",
				Expr: "e.stack",
			},
			{
				Name: "path", Type: String, Label: "Page", Description: "Page of the error.", Example: "/pricing",
				Expr: "e.path",
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
				Name: "timestamp", Type: Datetime, Label: "Time", Description: "Time of the error.",
				Example: "2026-03-29T11:30:00.000Z", Expr: "e.event_time",
			},
			{
				Name: "filename", Type: String, Label: "File", Description: "URL of the script.",
				Example: "https://example.com/app.js", Expr: "e.filename",
			},
			{
				Name: "lineno", Type: Number, Label: "Line", Description: "Line in the script; 0 if unknown.", Example: "17",
				Expr: "toUInt64(e.line)",
			},
			{
				Name: "colno", Type: Number, Label: "Column", Description: "Column in the script; 0 if unknown.", Example: "9",
				Expr: "toUInt64(e.col)",
			},
			{
				Name: "error_type", Type: String, Label: "Type", Description: "Type of the error.", Example: "TypeError",
				Expr: "e.name",
			},
			{
				Name: "browser_name", Type: String, Label: "Browser", Description: "Browser.", Example: "Firefox",
				Expr: "e.browser",
			},
			{
				Name: "browser_version", Type: String, Label: "Browser version", Description: "Its version.", Example: "143.0",
				Expr: "e.browser_version",
			},
			{Name: "os_name", Type: String, Label: "System", Description: "Operating system.", Example: "Windows", Expr: "e.os"},
			{
				Name: "os_version", Type: String, Label: "System version", Description: "Its version.", Example: "10",
				Expr: "e.os_version",
			},
			{
				Name: "device_type", Type: String, Label: "Device", Description: "Device type.", Example: "desktop",
				Expr: "e.device",
			},
			{
				Name: "country", Type: String, Label: "Country", Description: "ISO 3166-1 alpha-2.", Example: "AT",
				Expr: "e.country",
			},
			{
				Name: "region", Type: String, Label: "Region", Description: "Region within the country.", Example: "Styria",
				Expr: "e.region",
			},
		},
		Filters: errorFilters, Sorts: []string{"timestamp"}, DefaultLimit: DefaultLimit, Public: true,
		OrderBy: "timestamp", Desc: true, Tie: "e.owner_id, e.event_key, e.name",
	},
	{
		Name: "error_types", Subjects: Website | Organization, Table: "errors",
		Title: "Error messages", Category: "Errors", Tags: []string{"errors"}, Visualization: "table",
		Description: "Errors by message, most frequent first.",
		Columns: []Column{
			{
				Name: "name", Type: String, Label: "Message", Description: "Error message.", Example: "x is not a function",
				Expr: "e.message",
			},
			errorCount, errorUsers,
			{
				Name: "last_seen", Type: Datetime, Label: "Last", Description: "Time of the latest error.",
				Example: "2026-03-29T11:30:00.000Z", Expr: "max(e.event_time)",
			},
		},
		Filters: errorFilters, Groups: errorGroups, Sorts: []string{"count", "users"}, DefaultLimit: DefaultLimit,
		Public:  true,
		GroupBy: "e.message", OrderBy: "count", Desc: true, Tie: "e.message",
	},
	{
		Name: "errors_by_type", Subjects: Website | Organization, Table: "errors",
		Title: "Errors by type", Category: "Errors", Tags: []string{"errors"}, Visualization: "table",
		Description: "Errors by type, most frequent first.",
		Columns: []Column{
			{Name: "name", Type: String, Label: "Type", Description: "Type of the error.", Example: "TypeError", Expr: "e.name"},
			errorCount, errorUsers, errorSessions,
		},
		Filters: errorFilters, Groups: errorGroups, Sorts: []string{"count", "users", "sessions"}, DefaultLimit: DefaultLimit,
		Public:  true,
		GroupBy: "e.name", OrderBy: "count", Desc: true, Tie: "e.name",
		Rollup: overShape(failures, "e.name", failureColumns),
	},
	{
		Name: "error_summary", Subjects: Website | Organization, Table: "errors", Reads: inEvents,
		Title: "Error summary", Category: "Errors", Tags: []string{"errors", "overview"}, Visualization: "metric",
		Description: "Errors in the range, their types, and the affected visitors and sessions.",
		Columns: []Column{
			{Name: "totalErrors", Type: Number, Label: "Errors", Description: "Errors.", Example: "38", Expr: "count()"},
			{
				Name: "uniqueErrorTypes", Type: Number, Label: "Types", Description: "Distinct types.", Example: "4",
				Expr: "uniqExact(e.name)",
			},
			{
				Name: "affectedUsers", Type: Number, Label: "Users", Description: "Distinct anonymous ids.", Example: "12",
				Expr: visitors,
			},
			{
				Name: "affectedSessions", Type: Number, Label: "Sessions", Description: "Distinct sessions.", Example: "14",
				Expr: sessions,
			},
			{
				Name: "errorRate", Type: Number, Label: "Error rate", Unit: percent,
				Description: "Share of the sessions in the range, regardless of filters, with " +
					"an error.", Example: "4.07", Expr: errorRate,
			},
		},
		Filters: errorFilters, DefaultLimit: 1, Public: true, Rollup: overShape(failures, "", failureColumns, traffic),
	},
	{
		Name: "errors_by_page", Subjects: Website | Organization, Table: "errors",
		Title: "Errors by page", Category: "Errors", Tags: []string{"errors", "pages"}, Visualization: "table",
		Description: "Errors by path, most frequent first. Errors without a path are excluded.",
		Columns: []Column{
			{
				Name: "name", Type: String, Label: "Page", Description: "Page of the errors.", Example: "/pricing",
				Expr: "e.path",
			},
			errorCount.named("errors"), errorUsers,
		},
		Filters: errorFilters, Sorts: []string{"errors", "users"}, DefaultLimit: DefaultLimit, Public: true,
		Where: "e.path != ''", GroupBy: "e.path", OrderBy: "errors", Desc: true, Tie: "e.path",
	},
	errorSeries("error_trends", "Error trends", "Errors and affected users by day or hour.",
		errorCount.named("errors"), errorUsers),
	errorSeries("error_frequency", "Error frequency", "Errors by day or hour.", errorCount),
	errorSeries("error_chart_data", "Errors over time",
		"Errors and affected users by day or hour.",
		errorCount.named("totalErrors"), errorUsers.named("affectedUsers")),
	errorFingerprints,
}

// named returns the column under another name.
func (c Column) named(name string) Column {
	c.Name = name
	return c
}

// errorSeries is a type about errors over time.
func errorSeries(name, title, description string, columns ...Column) Type {
	t := Type{
		Name: name, Subjects: Website | Organization, Table: "errors",
		Title: title, Category: "Errors", Tags: []string{"errors", "series"}, Visualization: "line", Description: description,
		Columns: append([]Column{dateColumn}, columns...),
		Filters: errorFilters, DefaultLimit: MaxLimit, Public: true,
		Series: true, OrderBy: "date", Rollup: overShape(failures, "", failureColumns),
	}
	for _, c := range t.Columns {
		t.Sorts = append(t.Sorts, c.Name)
	}
	return t
}
