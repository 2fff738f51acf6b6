package tools

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/api/httpkit/mcp"
	"github.com/millrace/millrace/internal/api/rpc"
)

// Bounds of run_query.
const (
	maxQuestions = 10
	maxRows      = 100 // of one question
	maxTextBytes = 1000
)

// questions is the schema of the argument queries: a query of one type each.
func questions(doc *rpc.Document) *huma.Schema {
	const depth = 3 // so that a filter shows its members
	query := doc.Body(routeQuery, depth)
	question := rpc.Object([]string{"type"}, map[string]*huma.Schema{
		"type":    text(64, "Query type."),
		"options": {Type: huma.TypeObject, Description: "Options of the type."},
	})
	for _, name := range []string{
		"preset", "startDate", "endDate", "granularity", "filters", "groupBy", "compare", "sortBy", "sortOrder", "limit",
	} {
		question.Properties[name] = query.Properties[name]
	}
	question.Properties["limit"].Maximum = new(float64(maxRows))
	question.Properties["compare"] = &huma.Schema{Description: "previous_period, or {startDate, endDate}."}
	question.Properties["granularity"].Description = "Length of the buckets of a series, such as day or hour."
	return &huma.Schema{Type: huma.TypeArray, Items: question, MinItems: new(1), MaxItems: new(maxQuestions)}
}

// subject says what a query is about: a link, a website, or everything that the key covers.
func (c *call) subject() url.Values {
	query := url.Values{}
	website := cmp.Or(c.text("websiteId"), c.Principal.WebsiteID)
	switch id := c.text("linkId"); {
	case id != "":
		query.Set("link_id", id)
	case website != "":
		query.Set("website_id", website)
	}
	if zone := c.text("timezone"); zone != "" {
		query.Set("timezone", zone)
	}
	return query
}

// place is where the rows of a question go on: at a row of a page.
type place struct {
	Question int `json:"q"`
	Page     int `json:"p"`
	Skip     int `json:"s,omitempty"`
}

// response is that of /v1/query to a batch of queries with one parameter each.
type response struct {
	Results []struct {
		Data []struct {
			Success bool              `json:"success"`
			Error   string            `json:"error"`
			Code    string            `json:"code"`
			Rows    []json.RawMessage `json:"data"`
		} `json:"data"`
		Meta struct {
			Applied []applied `json:"applied"`
		} `json:"meta"`
	} `json:"results"`
}

type applied struct {
	Type        string `json:"type"`
	Start       string `json:"start"`
	End         string `json:"end"`
	TimeZone    string `json:"timezone"`
	Granularity string `json:"granularity"`
	Limit       int    `json:"limit"` // 0 for a type without pages
}

// result is the answer to one question.
type result struct {
	Question    int               `json:"query"`
	Type        string            `json:"type"`
	Range       *span             `json:"range,omitempty"`
	Granularity string            `json:"granularity,omitempty"`
	Rows        []json.RawMessage `json:"rows"`
	Error       *mcp.Error        `json:"error,omitempty"`

	place place
	full  bool // there may be another page
}

type span struct {
	Start string `json:"start"`
	End   string `json:"end"`
}

// runQuery answers up to ten questions.
func runQuery(c *call) (mcp.Answer, error) {
	asked, _ := c.args["queries"].([]any)
	questions := make([]map[string]any, len(asked))
	for i := range asked {
		questions[i], _ = asked[i].(map[string]any)
	}
	return c.query(questions)
}

// query asks /v1/query.
func (c *call) query(questions []map[string]any) (mcp.Answer, error) {
	var places []place
	if err := c.resume(&places); err != nil {
		return mcp.Answer{}, err
	}
	if len(places) == 0 {
		for i := range questions {
			places = append(places, place{Question: i, Page: 1})
		}
	}
	var body []map[string]any
	for _, at := range places {
		if at.Question < 0 || at.Question >= len(questions) || at.Skip < 0 {
			return mcp.Answer{}, errCursor
		}
		body = append(body, queryOf(questions[at.Question], at))
	}
	var found response
	if err := c.post(routeQuery, c.subject(), body, &found); err != nil {
		return mcp.Answer{}, inQuestions(err, places)
	}
	results := make([]result, 0, len(places))
	for i, at := range places {
		results = append(results, found.result(i, at))
	}
	if failed := allFailed(results); failed != nil {
		return mcp.Answer{}, failed
	}
	answer := mcp.Answer{Rows: func(n int) mcp.Page { return pageOf(results, n) }}
	answer.Meta.TimeZone = found.Results[0].Meta.Applied[0].TimeZone
	answer.Meta.Untrusted = untrusted(results)
	return answer, nil
}

// queryOf is a question as /v1/query has it.
func queryOf(question map[string]any, at place) map[string]any {
	parameter := map[string]any{}
	if options, ok := question["options"].(map[string]any); ok {
		maps.Copy(parameter, options)
	}
	parameter["name"] = question["type"]
	query := map[string]any{"parameters": []any{parameter}, "limit": maxRows, "page": at.Page}
	for name, value := range question {
		if name != "type" && name != "options" {
			query[name] = value
		}
	}
	return query
}

// result is the answer to the i-th question of a response.
func (r *response) result(i int, at place) result {
	data, applied := &r.Results[i].Data[0], &r.Results[i].Meta.Applied[0]
	a := result{
		Question: at.Question, Type: applied.Type, Range: &span{applied.Start, applied.End},
		Granularity: applied.Granularity, Rows: []json.RawMessage{}, place: at,
	}
	if !data.Success {
		a.Error = failure(data.Code, data.Error)
		return a
	}
	a.full = applied.Limit > 0 && len(data.Rows) == applied.Limit
	for _, row := range data.Rows[min(at.Skip, len(data.Rows)):] {
		a.Rows = append(a.Rows, shorten(row))
	}
	return a
}

// failures are the codes of parameters that failed.
var failures = map[string]mcp.Code{
	"AUTH_REQUIRED": mcp.Unauthorized, "FORBIDDEN": mcp.Forbidden, "QUERY_TIMEOUT": mcp.UpstreamTimeout,
	"QUERY_UNAVAILABLE": mcp.Unavailable,
}

// failure is why a question has no rows.
func failure(code, message string) *mcp.Error {
	e := &mcp.Error{Code: cmp.Or(failures[code], mcp.QueryFailed), Message: message}
	for i := range analytics.Failures {
		if analytics.Failures[i].Code == code {
			e.Hint = analytics.Failures[i].Meaning
		}
	}
	return e
}

// allFailed returns the first failure if every question failed.
func allFailed(results []result) error {
	for i := range results {
		if results[i].Error == nil {
			return nil
		}
	}
	return results[0].Error
}

// pageOf returns at most n rows of each question.
func pageOf(results []result, n int) mcp.Page {
	page := mcp.Page{}
	shown := slices.Clone(results)
	var next []place
	for i := range shown {
		r := &shown[i]
		at := r.place
		switch {
		case len(r.Rows) > n:
			page.Truncated = true
			r.Rows = r.Rows[:n]
			at.Skip += n
			next = append(next, at)
		case r.full:
			next = append(next, place{Question: at.Question, Page: at.Page + 1})
		}
		page.Count += len(r.Rows)
	}
	if len(next) > 0 {
		page.Next = token(next)
	}
	page.Data = shown
	return page
}

// untrusted names the columns whose text may be a visitor's.
func untrusted(results []result) []string {
	names := map[string]bool{}
	for i := range results {
		t := analytics.Lookup(results[i].Type)
		if t == nil {
			continue
		}
		for j := range t.Columns {
			if c := &t.Columns[j]; c.Type == analytics.String || c.Type == analytics.JSON {
				names[c.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// shorten cuts the long texts of a row, so that an answer has room for other rows.
func shorten(row json.RawMessage) json.RawMessage {
	if len(row) <= maxTextBytes {
		return row
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(row, &members) != nil {
		return row
	}
	for name, value := range members {
		if len(value) <= maxTextBytes {
			continue
		}
		s := string(value)
		_ = json.Unmarshal(value, &s) // an object or an array stays JSON, as text
		members[name], _ = json.Marshal(strings.ToValidUTF8(s[:min(len(s), maxTextBytes)], "") + "…")
	}
	text, _ := json.Marshal(members) // of JSON
	return text
}

// inQuestions names the fields of a query as the tool's arguments do: batch[1].parameters[0] is
// queries[1].type.
func inQuestions(err error, places []place) error {
	failed, ok := err.(*mcp.Error) //nolint:errorlint // post returns it as it is
	if !ok {
		return err
	}
	rename := func(text string) string {
		for i, at := range places {
			mine := "queries[" + strconv.Itoa(at.Question) + "]"
			theirs := "batch[" + strconv.Itoa(i) + "]"
			text = strings.ReplaceAll(text, theirs+".parameters[0]", mine+".type")
			if rest, ok := strings.CutPrefix(text, theirs); ok {
				text = mine + rest
			}
		}
		return text
	}
	failed.Message = rename(failed.Message)
	for i := range failed.Details {
		failed.Details[i].Field = rename(failed.Details[i].Field)
		failed.Details[i].Message = rename(failed.Details[i].Message)
	}
	return failed
}

// compileQuery returns the SQL of a question.
func compileQuery(c *call) (mcp.Answer, error) {
	subject := c.subject()
	for _, name := range []string{"websiteId", "linkId", "timezone"} {
		delete(c.args, name)
	}
	var found map[string]json.RawMessage
	if err := c.post(routeCompile, subject, c.args, &found); err != nil {
		return mcp.Answer{}, err
	}
	delete(found, "success")
	delete(found, "requestId")
	text, err := json.Marshal(found)
	return mcp.Answer{Record: text}, err
}

// ingestionHealth counts what became of events.
func ingestionHealth(c *call) (mcp.Answer, error) {
	answer, err := c.query([]map[string]any{c.ranged(map[string]any{"type": "ingestion_health"}, "today")})
	answer.Meta.Untrusted = nil // codes, and ids that the service made
	return answer, err
}

// ranged adds the range of the call to a question.
func (c *call) ranged(question map[string]any, preset string) map[string]any {
	for _, name := range []string{"preset", "startDate", "endDate"} {
		if value, ok := c.args[name]; ok {
			question[name], preset = value, ""
		}
	}
	if preset != "" {
		question["preset"] = preset
	}
	return question
}

// linkSections are the lists of a link's report by the query types behind them.
var linkSections = []struct{ name, queryType string }{
	{"summary", "link_summary"},
	{"days", "link_clicks_by_day"},
	{"referrers", "link_top_referrers"},
	{"countries", "link_top_countries"},
	{"devices", "link_top_devices"},
	{"browsers", "link_top_browsers"},
}

// linkReport sums up the clicks of a link.
func linkReport(c *call) (mcp.Answer, error) {
	var body []map[string]any
	for _, s := range linkSections {
		body = append(body, queryOf(c.ranged(map[string]any{"type": s.queryType}, "last_30d"), place{Page: 1}))
	}
	var found response
	if err := c.post(routeQuery, c.subject(), body, &found); err != nil {
		return mcp.Answer{}, err
	}
	report := map[string]any{"linkId": c.text("linkId")}
	for i, s := range linkSections {
		r := found.result(i, place{Page: 1})
		if r.Error != nil {
			return mcp.Answer{}, r.Error
		}
		if report["range"] = r.Range; s.name == "summary" && len(r.Rows) > 0 {
			report[s.name] = r.Rows[0]
			continue
		}
		report[s.name] = r.Rows
	}
	text, err := json.Marshal(report)
	answer := mcp.Answer{Record: text}
	answer.Meta.TimeZone = found.Results[0].Meta.Applied[0].TimeZone
	answer.Meta.Untrusted = []string{"referrers.name", "referrers.referrer"}
	return answer, err
}
