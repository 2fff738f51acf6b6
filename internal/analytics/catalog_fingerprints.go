package analytics

// The fingerprint of an error is its type, the script it occurred in, and its
// message without what differs each time: texts in quotes, and numbers, ids in
// hexadecimal among them, each become one sign. Neither the script's query nor
// places in it count, which every release of a page changes.
const (
	messagePattern = `replaceRegexpAll(replaceRegexpAll(e.message, '"[^"]*"|\\B\'[^\']*\'|` + "`[^`]*`" +
		`', '"…"'), '[0-9a-fA-F]*[0-9][0-9a-fA-F]*', '#')`
	scriptOf = `cutQueryStringAndFragment(e.filename)`
)

// perFingerprint is a row per kind of error, with the latest one of it.
var perFingerprint = &Source{SQL: `(
    SELECT
        e.name AS type,
        ` + scriptOf + ` AS script,
        ` + messagePattern + ` AS pattern,
        count() AS errors,
        ` + visitors + ` AS users,
        ` + sessions + ` AS sessions,
        max(tuple(e.event_time, e.message, e.path, e.filename, e.line, e.stack)) AS latest
    {events}
    GROUP BY type, script, pattern
)`}

var errorFingerprints = Type{
	Name: "error_fingerprints", Subjects: Website | Organization, Table: "errors",
	Title: "Kinds of errors", Category: "Errors", Tags: []string{"errors"}, Visualization: "table",
	Description: "Groups of similar errors, most frequent first. Errors of one type and script whose messages differ " +
		"only in numbers and quoted text form a group.",
	Columns: []Column{
		{
			Name: "name", Type: String, Label: "Message", Description: "Message of the latest error.",
			Example: "x is not a function", Expr: "latest.2",
		},
		{Name: "count", Type: Number, Label: "Errors", Description: "Errors.", Example: "38", Expr: "errors"},
		{
			Name: "users", Type: Number, Label: "Users", Description: "Distinct anonymous ids with an error of " +
				"the group.", Example: "12",
			Expr: "users",
		},
		{
			Name: "sessions", Type: Number, Label: "Sessions", Description: "Distinct sessions with an error of " +
				"the group.", Example: "14",
			Expr: "sessions",
		},
		{
			Name: "path", Type: String, Label: "Page", Description: "Page of the latest error.", Example: "/pricing",
			Expr: "latest.3",
		},
		{
			Name: "error_type", Type: String, Label: "Type", Description: "Type of the error.", Example: "TypeError",
			Expr: "type",
		},
		{
			Name: "filename", Type: String, Label: "File", Description: "URL of the script of the latest error.",
			Example: "https://example.com/app.js", Expr: "latest.4",
		},
		{
			Name: "line", Type: Number, Label: "Line", Description: "Line of the latest error in the script; 0 " +
				"if unknown.", Example: "17",
			Expr: "toUInt64(latest.5)",
		},
		{
			Name: "stack", Type: String, Label: "Stack", Description: "Stack trace of the latest " +
				"error.", Example: "at f (app.js:17)",
			Expr: "latest.6",
		},
		{
			Name: "last_seen", Type: Datetime, Label: "Last", Description: "Time of the " +
				"latest error.", Example: "2026-03-29T11:30:00.000Z",
			Expr: "latest.1",
		},
	},
	Filters: errorFilters, Sorts: []string{"count", "users", "sessions", "last_seen"}, DefaultLimit: DefaultLimit,
	From: perFingerprint, OrderBy: "count", Desc: true, Tie: "type, script, pattern",
}
