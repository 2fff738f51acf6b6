package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Dashboard are the parameters of the request by which a page of figures is filled.
var Dashboard = []string{
	"summary_metrics", "events_by_date", "top_pages", "top_referrers", "traffic_sources", "utm_campaigns",
	"browser_name", "os_name", "device_types", "country", "city", "outbound_links",
}

// narrowed is how many of them, from the first, know all of the filters.
const narrowed = 11

// singles are asked one at a time, besides those of Dashboard.
var singles = []string{
	"custom_events", "error_summary", "vitals_overview", "region", "utm_sources", "outbound_domains", "errors_by_type",
}

// Kind is a kind of question.
type Kind string

// The kinds of questions.
const (
	// Dashboards ask the twelve parameters of Dashboard for the last days.
	Dashboards Kind = "dashboard"
	// Singles ask one parameter, for a random range, zone, and filter.
	Singles Kind = "single"
	// Mixed asks one Dashboards to four Singles.
	Mixed Kind = "mixed"
)

// Kinds lists them.
var Kinds = []Kind{Dashboards, Singles, Mixed}

// dashboardShare is the share of dashboards in Mixed.
const dashboardShare = 0.2

// zones are those of the questions: two whose days are not those of whole hours.
var zones = []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Asia/Kathmandu"}

// filters are what questions may be narrowed to.
var filters = []string{
	`{"field":"country","op":"eq","value":"DE"}`,
	`{"field":"device_type","op":"eq","value":"mobile"}`,
	`{"field":"browser_name","op":"in","value":["Chrome","Firefox"]}`,
	`{"field":"path","op":"starts_with","value":"/blog"}`,
}

// Questions is a Work of questions to a query host.
type Questions struct {
	cfg    QuestionsConfig
	random *rand.Rand
}

// QuestionsConfig says who is asked what.
type QuestionsConfig struct {
	// URL is the host's, such as http://127.0.0.1:8080.
	URL string
	// Key is an API key with the scope read:data; empty for public websites.
	Key string
	// Websites are asked about by Zipf's law; the first is asked about most.
	Websites []string
	Kind     Kind
	// Until is the day behind the last one asked about, and Days how many days
	// dashboards show.
	Until time.Time
	Days  int
	// Fresh asks for responses that are no copies.
	Fresh bool
	Seed  uint64
}

// NewQuestions returns the questions of a seed.
func NewQuestions(cfg QuestionsConfig) (*Questions, error) {
	switch {
	case len(cfg.Websites) == 0:
		return nil, errNoWebsite
	case !slices.Contains(Kinds, cfg.Kind):
		return nil, fmt.Errorf("unknown kind of query %q; the kinds are %s, %s and %s",
			cfg.Kind, Dashboards, Singles, Mixed)
	case cfg.Days < 1 || cfg.Days > maxDays:
		return nil, fmt.Errorf("--days is %d; it must be 1 to %d", cfg.Days, maxDays)
	}
	return &Questions{cfg: cfg, random: rand.New(rand.NewPCG(cfg.Seed, 1))}, nil //nolint:gosec // to be repeated
}

var errNoWebsite = errors.New("no website is given")

// maxDays is the longest range that is asked for.
const maxDays = 366

// Unit implements Work.
func (*Questions) Unit() string { return "requests" }

// Next implements Work.
func (q *Questions) Next() Request {
	r := q.random
	values := url.Values{"website_id": {q.cfg.Websites[zipf(r, len(q.cfg.Websites))]}}
	var body string
	if q.cfg.Kind == Dashboards || q.cfg.Kind == Mixed && r.Float64() < dashboardShare {
		body = DashboardBody(q.cfg.Until, q.cfg.Days)
	} else {
		values.Set("timezone", zones[zipf(r, len(zones))])
		body = q.single()
	}
	header := http.Header{"Content-Type": {"application/json"}}
	if q.cfg.Key != "" {
		header.Set("X-Api-Key", q.cfg.Key)
	}
	if q.cfg.Fresh {
		header.Set("Cache-Control", "no-cache, no-store")
	}
	return Request{URL: strings.TrimSuffix(q.cfg.URL, "/") + "/v1/query?" +
		values.Encode(), Header: header, Body: []byte(body), Units: 1}
}

// DashboardBody is the request that fills a page of figures about so many days before
// a day.
func DashboardBody(until time.Time, days int) string {
	return body(Dashboard, until.AddDate(0, 0, -days), until, "")
}

// single asks for one parameter about a week, more or less.
func (q *Questions) single() string {
	r := q.random
	all := slices.Concat(Dashboard, singles)
	which := r.IntN(len(all))
	days := 1 + r.IntN(min(q.cfg.Days, 14))
	until := q.cfg.Until.AddDate(0, 0, -r.IntN(q.cfg.Days))
	filter := ""
	if which < narrowed && r.IntN(3) == 0 {
		filter = filters[r.IntN(len(filters))]
	}
	return body(all[which:which+1], until.AddDate(0, 0, -days), until, filter)
}

// body is a request about the days from begin to, but not, until.
func body(parameters []string, begin, until time.Time, filter string) string {
	list, _ := json.Marshal(parameters) // of texts
	text := fmt.Sprintf(`{"parameters":%s,"startDate":%q,"endDate":%q`,
		list, begin.Format(time.DateOnly), until.AddDate(0, 0, -1).Format(time.DateOnly))
	if filter != "" {
		text += `,"filters":[` + filter + `]`
	}
	return text + "}"
}

// zipf returns a place in a list of n by Zipf's law, whose exponent must be above 1
// here.
func zipf(r *rand.Rand, n int) int {
	const exponent, offset = 1.1, 1
	return int(rand.NewZipf(r, exponent, offset, uint64(n-1)).Uint64())
}

// Judge implements Work.
func (*Questions) Judge(_ *Request, body []byte) Verdict {
	var response struct {
		Data []struct {
			Success bool `json:"success"`
		} `json:"data"`
	}
	if json.Unmarshal(body, &response) != nil {
		return Verdict{Failed: 1}
	}
	v := Verdict{Accepted: 1}
	for _, p := range response.Data {
		if !p.Success {
			v.Failed++
		}
	}
	return v
}
