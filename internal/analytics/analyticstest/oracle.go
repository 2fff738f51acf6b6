package analyticstest

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// Event is one stored event. Properties is a JSON object, or empty.
type Event struct {
	Website, Organization, ID         string
	Name, Path, Namespace, Source     string
	AnonymousID, SessionID, ProfileID string
	Properties                        string
	Time, ReceivedAt                  time.Time
}

// Owner is the website, else the organization.
func (e *Event) Owner() string { return cmp.Or(e.Website, e.Organization) }

// Question is what is asked. Website or Organization is set.
type Question struct {
	Type                  string
	Website, Organization string
	Start, End            time.Time // half-open
	Zone                  *time.Location
	Hourly                bool
	Keep                  []func(*Event) bool // filters
	SortBy                string              // empty for the type's own order
	Ascending             bool                // of SortBy
	Limit, Page           int                 // 0 for the type's own limit and the first page
}

// Row is one row of an answer, as encoding/json reads it.
type Row map[string]any

// Answer computes what the service should say.
func Answer(events []Event, q Question) []Row {
	events = stored(events)
	events = slices.DeleteFunc(events, func(e Event) bool { return !q.covers(&e) })
	a := answers[q.Type]
	rows := a.rows(events, &q)
	if a.single {
		return rows
	}
	order, ascending := a.order, a.ascending
	if q.SortBy != "" {
		order, ascending = q.SortBy, q.Ascending
	}
	slices.SortStableFunc(rows, func(x, y Row) int {
		if order == "date" { // rows come in the order of time
			return 0
		}
		c := compare(x[order], y[order])
		if !ascending {
			c = -c
		}
		return c
	})
	if order == "date" && !ascending {
		slices.Reverse(rows)
	}
	limit, page := cmp.Or(q.Limit, a.limit), cmp.Or(q.Page, 1)
	from := min((page-1)*limit, len(rows))
	return rows[from:min(from+limit, len(rows))]
}

// stored keeps of the sendings of one event the one received first. Sendings are
// of one event when owner, UTC day, name and id agree.
func stored(events []Event) []Event {
	type identity struct{ owner, day, name, id string }
	first := map[identity]Event{}
	for _, e := range events {
		k := identity{e.Owner(), e.Time.UTC().Format(time.DateOnly), e.Name, e.ID}
		if have, ok := first[k]; !ok || e.ReceivedAt.Before(have.ReceivedAt) {
			first[k] = e
		}
	}
	return slices.Collect(maps.Values(first))
}

func (q *Question) covers(e *Event) bool {
	if q.Website != "" && e.Owner() != q.Website || q.Organization != "" && e.Organization != q.Organization {
		return false
	}
	if e.Time.Before(q.Start) || !e.Time.Before(q.End) {
		return false
	}
	for _, keep := range q.Keep {
		if !keep(e) {
			return false
		}
	}
	return true
}

type answer struct {
	rows      func([]Event, *Question) []Row
	single    bool
	order     string
	ascending bool
	limit     int
}

var answers = map[string]answer{
	"summary_metrics":       {rows: summary, single: true},
	"events_by_date":        {rows: byDate, order: "date", ascending: true, limit: 10_000},
	"top_pages":             {rows: topPages, order: "pageviews", limit: 100},
	"custom_events":         {rows: customEvents, order: "total_events", limit: 100},
	"custom_events_summary": {rows: customSummary, single: true},
	"custom_events_trends":  {rows: customTrends, order: "date", ascending: true, limit: 10_000},
	"custom_events_by_path": {rows: customByPath, order: "total_events", limit: 100},
	"custom_events_recent":  {rows: customRecent, order: "timestamp", limit: 100},
}

func compare(x, y any) int {
	if f, ok := x.(float64); ok {
		return cmp.Compare(f, y.(float64))
	}
	return cmp.Compare(x.(string), y.(string))
}

// distinct counts the different values that are not empty.
func distinct(events []Event, get func(*Event) string) float64 {
	seen := map[string]bool{}
	for i := range events {
		if v := get(&events[i]); v != "" {
			seen[v] = true
		}
	}
	return float64(len(seen))
}

func count(events []Event, is func(*Event) bool) float64 {
	n := 0.0
	for i := range events {
		if is(&events[i]) {
			n++
		}
	}
	return n
}

// group splits events by a value, the groups sorted by it.
func group(events []Event, get func(*Event) string) (keys []string, groups map[string][]Event) {
	groups = map[string][]Event{}
	for _, e := range events {
		groups[get(&e)] = append(groups[get(&e)], e)
	}
	return slices.Sorted(maps.Keys(groups)), groups
}

func only(events []Event, is func(*Event) bool) []Event {
	return slices.DeleteFunc(slices.Clone(events), func(e Event) bool { return !is(&e) })
}

func round2(f float64) float64 { return math.RoundToEven(f*100) / 100 }

func share(part, whole int) float64 { return round2(100 * float64(part) / float64(whole)) }

func isView(e *Event) bool      { return e.Name == "screen_view" }
func visitorOf(e *Event) string { return e.AnonymousID }
func sessionOf(e *Event) string { return e.SessionID }
func pathOf(e *Event) string    { return e.Path }
func nameOf(e *Event) string    { return e.Name }

func isCustom(e *Event) bool {
	switch e.Name {
	case "screen_view", "page_exit", "link_out", "outgoing_link":
		return false
	}
	return true
}

func personOf(e *Event) string {
	switch {
	case e.AnonymousID != "":
		return "visitor " + e.AnonymousID
	case e.ProfileID != "":
		return "profile " + e.ProfileID
	}
	return ""
}

func instant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func properties(s string) map[string]any {
	m := map[string]any{}
	if s != "" {
		if err := json.Unmarshal([]byte(s), &m); err != nil {
			return map[string]any{"broken": strings.Clone(s)}
		}
	}
	return m
}
