package analytics

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var snakeCase = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

func TestEveryTypeIsComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for i := range Catalog {
		typ := &Catalog[i]
		for _, name := range append([]string{typ.Name}, typ.Aliases...) {
			if !snakeCase.MatchString(name) || seen[name] {
				t.Errorf("%s: name %q is no name of its own", typ.Name, name)
			}
			seen[name] = true
			if Lookup(name) != typ {
				t.Errorf("Lookup(%q) is not %s", name, typ.Name)
			}
		}
		for what, text := range map[string]string{"title": typ.Title, "category": typ.Category, "visualization": typ.Visualization} {
			if text == "" {
				t.Errorf("%s has no %s", typ.Name, what)
			}
		}
		if !strings.HasSuffix(typ.Description, ".") || len(typ.Tags) == 0 || typ.Subjects == 0 {
			t.Errorf("%s: description, tags or subjects are missing", typ.Name)
		}
		if typ.DefaultLimit < 1 || typ.DefaultLimit > MaxLimit {
			t.Errorf("%s: default limit %d", typ.Name, typ.DefaultLimit)
		}
		for _, f := range typ.Filters {
			if field := findField(f); field == nil || field.Name != f {
				t.Errorf("%s: filter %s is no field", typ.Name, f)
			}
		}
	}
}

func TestEveryAnswerHasATotalOrder(t *testing.T) {
	t.Parallel()
	for i := range Catalog {
		typ := &Catalog[i]
		if typ.SingleRow() {
			if len(typ.Sorts) > 0 || typ.GroupBy != "" || typ.DefaultLimit != 1 {
				t.Errorf("%s has one row and can be sorted, grouped or limited", typ.Name)
			}
			continue
		}
		if len(typ.Sorts) == 0 || !slices.Contains(typ.Sorts, typ.OrderBy) {
			t.Errorf("%s: its own order %q is not among %v", typ.Name, typ.OrderBy, typ.Sorts)
		}
		for _, s := range typ.Sorts {
			if typ.column(s) == nil {
				t.Errorf("%s: sort field %s is no column", typ.Name, s)
			}
		}
		if typ.Tie == "" && !typ.Series {
			t.Errorf("%s: rows that are equal by %s have no order", typ.Name, typ.OrderBy)
		}
		if typ.Series && typ.Columns[0].Name != "date" {
			t.Errorf("%s is a series and its first column is not the date", typ.Name)
		}
	}
}

func TestEveryColumnSaysWhatItIs(t *testing.T) {
	t.Parallel()
	for i := range Catalog {
		seen := map[string]bool{}
		for _, c := range Catalog[i].Columns {
			if !snakeCase.MatchString(c.Name) || seen[c.Name] {
				t.Errorf("%s: column %q is no name of its own", Catalog[i].Name, c.Name)
			}
			seen[c.Name] = true
			if c.Label == "" || !strings.HasSuffix(c.Description, ".") || c.Example == "" || c.Expr == "" || c.Type == "" {
				t.Errorf("%s.%s is incomplete: %+v", Catalog[i].Name, c.Name, c)
			}
		}
	}
}

// The columns are a contract with callers.
func TestColumnsOfTheTypes(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"summary_metrics":       "pageviews unique_visitors sessions bounce_rate median_session_duration total_events",
		"events_by_date":        "date pageviews visitors sessions bounce_rate median_session_duration pages_per_session",
		"top_pages":             "name pageviews visitors percentage",
		"custom_events":         "name total_events unique_users unique_sessions last_occurrence first_occurrence events_with_properties percentage",
		"custom_events_summary": "total_events unique_event_types unique_users unique_sessions unique_pages",
		"custom_events_trends":  "date total_events unique_event_types unique_users unique_sessions unique_pages",
		"custom_events_by_path": "name total_events unique_event_types unique_users",
		"custom_events_recent":  "event_name namespace path source properties anonymous_id session_id timestamp",
	} {
		var names []string
		for _, c := range Lookup(name).Columns {
			names = append(names, c.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s has the columns %s, want %s", name, got, want)
		}
	}
}

func TestSuggestionsAreClose(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"top_page": "top_pages", "Top_Pages": "top_pages", "summery": "summary", "summary_metric": "summary_metrics",
		"custom_event": "custom_events", "event_by_date": "events_by_date", "custom_events_recen": "custom_events_recent",
		"x": "", "": "", "uptime_overview": "", strings.Repeat("top_pages", 20): "",
	} {
		got := suggestType(name)
		if want != "" {
			want = "Did you mean '" + want + "'?"
		}
		if got != want {
			t.Errorf("for %q: %q, want %q", name, got, want)
		}
	}
}
