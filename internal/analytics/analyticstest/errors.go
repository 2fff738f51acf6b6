package analyticstest

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

var errorResults = map[string]result{
	"errors_by_page": {order: "errors", limit: 100, kind: "error", rows: errorsByPage},
	"error_trends": {
		order: "date", ascending: true, limit: 10_000, kind: "error", rows: errorsOverTime("errors", "users"),
	},
	"error_frequency": {
		order: "date", ascending: true, limit: 10_000, kind: "error", rows: errorsOverTime("count", ""),
	},
	"error_chart_data": {
		order: "date", ascending: true, limit: 10_000, kind: "error", rows: errorsOverTime("totalErrors", "affectedUsers"),
	},
	"error_fingerprints": {order: "count", limit: 100, kind: "error", rows: fingerprints},
}

func errorsByPage(events []Event, _ *Question) []Row {
	var rows []Row
	paths, groups := group(events, pathOf)
	for _, p := range paths {
		if p != "" {
			rows = append(rows, Row{"name": p, "errors": float64(len(groups[p])), "users": distinct(groups[p], visitorOf)})
		}
	}
	return rows
}

func errorsOverTime(errors, users string) func([]Event, *Question) []Row {
	return func(events []Event, q *Question) []Row {
		return series(events, q, func(events []Event) Row {
			row := Row{errors: float64(len(events))}
			if users != "" {
				row[users] = distinct(events, visitorOf)
			}
			return row
		})
	}
}

var (
	quotedTexts = regexp.MustCompile(`"[^"]*"|\B'[^']*'|` + "`[^`]*`")
	numbers     = regexp.MustCompile(`[0-9A-Fa-f]*[0-9][0-9A-Fa-f]*`)
)

func scriptOf(e *Event) string {
	script, _, _ := strings.Cut(e.Web["filename"], "#")
	script, _, _ = strings.Cut(script, "?")
	return script
}

func fingerprints(events []Event, _ *Question) []Row {
	var rows []Row
	kinds, groups := group(events, func(e *Event) string {
		return e.Name + "\x00" + scriptOf(e) + "\x00" +
			numbers.ReplaceAllString(quotedTexts.ReplaceAllString(e.Web["message"], `"…"`), "#")
	})
	for _, kind := range kinds {
		of := groups[kind]
		latest := slices.MaxFunc(of, func(a, b Event) int {
			return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Web["message"], b.Web["message"]), cmp.Compare(a.Path, b.Path),
				cmp.Compare(a.Web["filename"], b.Web["filename"]), cmp.Compare(a.Numbers["line"], b.Numbers["line"]),
				cmp.Compare(a.Web["stack"], b.Web["stack"]))
		})
		rows = append(rows, Row{
			"name": latest.Web["message"], "count": float64(len(of)), "users": distinct(of, visitorOf),
			"sessions": distinct(of, sessionOf),
			"path":     latest.Path, "error_type": latest.Name, "filename": latest.Web["filename"],
			"line":  latest.Numbers["line"],
			"stack": latest.Web["stack"], "last_seen": instant(latest.Time),
		})
	}
	return rows
}
