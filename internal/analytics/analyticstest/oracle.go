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
	// Kind says what it is: an event, or "vital", "error" or "identity", of which
	// Properties holds the traits.
	Kind string
	// Web holds texts of the web by the name of their column.
	Web map[string]string
	// Numbers holds numbers of the web by the name of their column.
	Numbers map[string]float64
	// Value is what a vital measured; Exit the seconds on page of a page exit,
	// negative for none.
	Value, Exit float64
}

// Owner is the website, else the organization.
func (e *Event) Owner() string { return cmp.Or(e.Website, e.Organization) }

// Question is what is asked. Website or Organization is set.
type Question struct {
	Type                  string
	Website, Organization string
	Start, End            time.Time // half-open
	Zone                  *time.Location
	Now                   time.Time           // of the question
	Granularity           string              // minute, hour, week or month; empty for day
	Keep                  []func(*Event) bool // filters
	SortBy                string              // empty for the type's own order
	Ascending             bool                // of SortBy
	Limit, Page           int                 // 0 for the type's own limit and the first page

	Options Options
	// GroupBy names fields. The answer is then in no order, and has all rows.
	GroupBy []string

	users users
	all   []Event // of the subject and the range, whatever the filters
}

// Row is one row of an answer, as encoding/json reads it.
type Row map[string]any

// Result computes what the service should say.
func Result(events []Event, q Question) []Row {
	a := results[q.Type]
	q.users = usersOf(events)
	switch {
	case a.today:
		y, m, d := q.Now.In(q.Zone).Date()
		q.Start, q.End = time.Date(y, m, d, 0, 0, 0, 0, q.Zone), time.Date(y, m, d+1, 0, 0, 0, 0, q.Zone)
	case a.recent > 0:
		q.Start, q.End = q.Now.Add(-a.recent), q.Now.Add(time.Millisecond)
	}
	owned := only(stored(events), q.owns)
	q.all = only(owned, q.covers)
	if !a.beyond {
		owned = q.all
	}
	events = only(owned, func(e *Event) bool { return e.Kind == a.kind && q.keeps(e) })
	if len(q.GroupBy) > 0 {
		return shown(a.grouped(events, &q))
	}
	rows := shown(a.rows(events, &q))
	if a.single {
		return rows
	}
	order, ascending := a.order, a.ascending
	if q.SortBy != "" {
		order, ascending = q.SortBy, q.Ascending
	}
	slices.SortStableFunc(rows, func(x, y Row) int {
		if order == "date" || order == "minute" { // rows come in the order of time
			return 0
		}
		c := compare(x[order], y[order])
		if a.ranks != nil && order == a.order {
			c = cmp.Compare(a.ranks[x[order].(string)], a.ranks[y[order].(string)])
		}
		if !ascending {
			c = -c
		}
		return c
	})
	if (order == "date" || order == "minute") && !ascending {
		slices.Reverse(rows)
	}
	limit, page := cmp.Or(q.Limit, a.limit), cmp.Or(q.Page, 1)
	from := min((page-1)*limit, len(rows))
	return rows[from:min(from+limit, len(rows))]
}

// partOf is a column that no answer has: of what a row's percentage is the share.
const partOf = "part of"

func shown(rows []Row) []Row {
	for _, r := range rows {
		delete(r, partOf)
	}
	return rows
}

// stored keeps of the sendings of one event the one received first. Sendings are
// of one event when owner, UTC day, name and id agree.
func stored(events []Event) []Event {
	type identity struct{ kind, owner, day, name, id string }
	first := map[identity]Event{}
	for _, e := range events {
		k := identity{e.Kind, e.Owner(), e.Time.UTC().Format(time.DateOnly), e.Name, e.ID}
		if have, ok := first[k]; !ok || e.ReceivedAt.Before(have.ReceivedAt) {
			first[k] = e
		}
	}
	return slices.Collect(maps.Values(first))
}

func (q *Question) owns(e *Event) bool {
	return (q.Website == "" || e.Owner() == q.Website) && (q.Organization == "" || e.Organization == q.Organization)
}

func (q *Question) covers(e *Event) bool { return !e.Time.Before(q.Start) && e.Time.Before(q.End) }

// keeps reports whether all filters let an event pass.
func (q *Question) keeps(e *Event) bool {
	for _, keep := range q.Keep {
		if !keep(e) {
			return false
		}
	}
	return true
}

type result struct {
	rows      func([]Event, *Question) []Row
	single    bool
	order     string
	ascending bool
	limit     int
	kind      string
	recent    time.Duration // of a question about the time before it
	today     bool
	ranks     map[string]int // the order of texts, by the type's own order
	// beyond tells that events beyond the range count.
	beyond bool
	// about says what the type is about, for which groups there are rows; nil for all
	// events.
	about func(*Event) bool
	// share is the column of which percentage tells the share, of all events that the
	// type is about, or of what whole counts.
	share string
	whole func([]Event, *Question) int
}

var results = merged(map[string]result{
	"summary_metrics": {rows: summary, single: true},
	"events_by_date":  {rows: byDate, order: "date", ascending: true, limit: 10_000},
	"top_pages":       {rows: topPages, order: "pageviews", limit: 100, about: isView, share: "pageviews"},
	"custom_events": {
		rows: customEvents, order: "total_events", limit: 100, about: isCustom, share: "total_events",
	},
	"custom_events_summary": {rows: customSummary, single: true, about: isCustom},
	"custom_events_trends":  {rows: customTrends, order: "date", ascending: true, limit: 10_000, about: isCustom},
	"custom_events_by_path": {rows: customByPath, order: "total_events", limit: 100, about: isCustom},
	"custom_events_recent":  {rows: customRecent, order: "timestamp", limit: 100, about: isCustom},

	"top_referrers": {
		rows: referrers(nameOfReferrer), order: "pageviews", limit: 100, about: isExternalView, share: "pageviews",
	},
	"traffic_sources": {
		rows: referrers(kindOfReferrer), order: "pageviews", limit: 100, about: isExternalView, share: "pageviews",
	},
	"utm_sources": {rows: breakdown("utm_source"), order: "pageviews", limit: 100, about: isView, share: "pageviews"},
	"utm_mediums": {rows: breakdown("utm_medium"), order: "pageviews", limit: 100, about: isView, share: "pageviews"},
	"utm_campaigns": {
		rows: breakdown("utm_campaign"), order: "pageviews", limit: 100, about: isView, share: "pageviews",
	},
	"utm_terms": {rows: breakdown("utm_term"), order: "pageviews", limit: 100, about: isView, share: "pageviews"},
	"utm_content": {
		rows: breakdown("utm_content"), order: "pageviews", limit: 100, about: isView, share: "pageviews",
	},
	"browser_name":     {rows: breakdown("browser"), order: "pageviews", limit: 100, about: isView, share: "pageviews"},
	"os_name":          {rows: breakdown("os"), order: "pageviews", limit: 100, about: isView, share: "pageviews"},
	"device_types":     {rows: breakdown("device"), order: "pageviews", limit: 100, about: isView, share: "pageviews"},
	"country":          {rows: countries, order: "pageviews", limit: 100, about: isView, share: "pageviews"},
	"region":           {rows: places("region"), order: "pageviews", limit: 100, about: isView, share: "pageviews"},
	"city":             {rows: places("city"), order: "pageviews", limit: 100, about: isView, share: "pageviews"},
	"recent_errors":    {rows: recentErrors, order: "timestamp", limit: 100, kind: "error"},
	"error_types":      {rows: errorMessages, order: "count", limit: 100, kind: "error"},
	"errors_by_type":   {rows: errorsByType, order: "count", limit: 100, kind: "error"},
	"error_summary":    {rows: errorSummary, single: true, kind: "error"},
	"vitals_overview":  {rows: vitals, order: "metric_name", ascending: true, limit: 100, kind: "vital"},
	"outbound_links":   {rows: outboundLinks, order: "total_clicks", limit: 100, about: isLink, share: "total_clicks"},
	"outbound_domains": {rows: outboundDomains, order: "total_clicks", limit: 100, about: isLink, share: "total_clicks"},
}, technologyResults, errorResults, impactResults, vitalResults, propertyResults, journeyResults,
	visitResults, profileResults)

func merged(all ...map[string]result) map[string]result {
	for _, m := range all[1:] {
		maps.Copy(all[0], m)
	}
	return all[0]
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
	case "screen_view", "page_exit", "link_out", "outgoing_link", "engagement":
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
