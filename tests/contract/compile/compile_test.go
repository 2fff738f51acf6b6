// Package compile runs what POST /v1/query/compile answers, unchanged, over the HTTP
// port of a real ClickHouse.
package compile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/api/queryapi"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
)

func TestMain(m *testing.M) { clickhousetest.Main(m) }

// tenant is the only one: every key is of its organization.
type tenant struct{}

func (tenant) Key(context.Context, []byte, auth.From) (auth.Principal, error) {
	return auth.Principal{Kind: auth.KindKey, OrganizationID: "org_1", KeyID: "key_1", Scopes: auth.AllScopes()}, nil
}

func (tenant) Website(_ context.Context, ref string) (*website.Website, error) {
	if ref != "web_1" {
		return nil, website.ErrNotFound
	}
	return &website.Website{Record: managed.Record{ID: "web_1", OrganizationID: "org_1"}}, nil
}

func (tenant) ListWebsites(context.Context, website.Filter) ([]*website.Website, error) {
	return nil, nil
}

func (tenant) OrganizationByID(context.Context, string) (*org.Organization, error) {
	return nil, org.ErrNotFound
}

func (tenant) LinkByID(_ context.Context, id string) (*link.Link, error) {
	return &link.Link{Record: managed.Record{ID: id, OrganizationID: "org_1"}}, nil
}

// host is the query host.
type host interface {
	Test(req *http.Request, timeout ...int) (*http.Response, error)
}

// hostile are values that end a literal, a parameter or a statement somewhere.
var hostile = []string{
	"it's", `\`, `\'; DROP TABLE events; --`, "{owner:String}", "a\tb\nc\r\x00", "é\u2028", "--", "/*", "%s",
}

// dirty are the days that the rollups cannot answer for.
type dirty []time.Time

func (d dirty) DirtyDays(context.Context, analytics.Subject) ([]time.Time, error) { return d, nil }

// hostOf is a query host that knows which days are dirty; nil is one that does not, and
// reads the events alone.
func hostOf(t *testing.T, days analytics.DirtyDays) host {
	t.Helper()
	app, err := queryapi.New(queryapi.Config{}, queryapi.Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Access: tenant{}, Tenants: tenant{},
		Links: tenant{}, Dirty: days,
	})
	if err != nil {
		t.Fatal(err)
	}
	return app
}

// projects are what is asked about, and its kind.
var projects = map[string]analytics.SubjectKind{
	"web_1": analytics.Website, "org_1": analytics.Organization, "lnk_1": analytics.Link,
}

func TestEveryTypeRunsOverHTTPAsItIsCompiled(t *testing.T) {
	t.Parallel()
	port := &port{clickhousetest.Migrated(t, schema.Migrate), "http://" + clickhousetest.HTTPAddr(t)}
	app := hostOf(t, nil)
	for i := range analytics.Catalog {
		typ := &analytics.Catalog[i]
		t.Run(typ.Name, func(t *testing.T) {
			for project, kind := range projects {
				if typ.Subjects&kind == 0 {
					continue
				}
				for n, body := range bodies(typ, project) {
					if n == 0 && kind == analytics.Organization && typ.Subjects&analytics.Website != 0 {
						continue // its text differs from that of a website in what the other body shows
					}
					statement, columns := port.compiled(t, app, "UTC", body)
					if n == 0 && len(columns) < len(typ.Columns) {
						t.Errorf("columns %v of %d", columns, len(typ.Columns))
					}
					if none := strings.HasSuffix(statement.SQL, "\nLIMIT 0"); none {
						t.Errorf("%v: the values are in no row that is made:\n%s", body, statement.SQL)
					}
				}
			}
		})
	}
}

// A server that knows its dirty days hands out statements over rollups: with a day of
// events between, and in a zone whose days begin within UTC days.
func TestEveryRollupRunsOverHTTPAsItIsCompiled(t *testing.T) {
	t.Parallel()
	port := &port{clickhousetest.Migrated(t, schema.Migrate), "http://" + clickhousetest.HTTPAddr(t)}
	seen := map[string]int{} // statements by what they read
	for _, days := range []dirty{{}, {time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC)}} {
		app := hostOf(t, days)
		for i := range analytics.Catalog {
			typ := &analytics.Catalog[i]
			if typ.Rollup == nil {
				continue
			}
			for project, kind := range projects {
				if typ.Subjects&kind == 0 {
					continue
				}
				for _, unit := range []string{"day", "hour"} {
					body := bodies(typ, project)[0]
					if _, series := body["timeUnit"]; series {
						body["timeUnit"] = unit
					} else if unit == "hour" {
						continue
					}
					statement, columns := port.compiled(t, app, "America/St_Johns", body)
					if len(columns) < len(typ.Columns) {
						t.Errorf("%s: columns %v of %d", typ.Name, columns, len(typ.Columns))
					}
					seen[statement.Plan.Source]++
					for _, name := range []string{"base_days", "cut_days"} {
						if _, has := statement.Params[name]; has {
							seen[name]++
						}
					}
				}
			}
		}
	}
	for _, of := range []string{"rollup", "rollup and events", "base_days", "cut_days"} {
		if seen[of] == 0 {
			t.Errorf("no statement has %s; they have %v", of, seen)
		}
	}
}

// compiled compiles a body and runs the statement; it returns also the names of its columns.
func (p *port) compiled(t *testing.T, app host, zone string, body map[string]any) (*statement, []string) {
	t.Helper()
	s, err := compile(t, app, zone, body)
	if err != nil {
		t.Errorf("%v: %v", body, err)
		return &statement{}, nil
	}
	columns, err := p.run(t.Context(), s)
	if err != nil {
		t.Errorf("%v: %v\n%s", body, err, s.SQL)
	}
	return s, columns
}

// texts are filters that take any text.
var texts = []string{"path", "event_name", "country", "website_id", "referrer", "browser_name"}

// bodies are what a type is compiled of: as it is, and with hostile values in all
// places, in an order and a page.
func bodies(typ *analytics.Type, project string) []map[string]any {
	plain := func() map[string]any {
		body := map[string]any{"projectId": project, "type": typ.Name, "from": "2026-03-28", "to": "2026-03-30"}
		var filters []any
		for _, field := range typ.Requires {
			filters = append(filters, map[string]any{"field": field, "op": "eq", "value": hostile[0]})
		}
		body["filters"] = filters
		options := map[string]any{}
		for _, o := range typ.Options {
			if v := valueOf(&o); v != nil {
				options[o.Name] = v
			}
		}
		if len(options) > 0 {
			body["options"] = options
		}
		if len(typ.Granularities()) > 0 {
			body["timeUnit"] = "hour"
		}
		return body
	}
	all := []map[string]any{plain()}
	body := plain()
	filters, _ := body["filters"].([]any)
	for i, value := range hostile {
		if field := texts[i%len(texts)]; slices.Contains(typ.Filters, field) {
			filters = append(filters, map[string]any{"field": field, "op": "ne", "value": value},
				map[string]any{"field": field, "op": "not_in", "value": hostile})
		}
	}
	body["filters"], body["limit"] = filters, 7
	if !typ.SingleRow() { // which has none behind it
		body["offset"] = 3
	}
	if len(typ.Sorts) > 0 {
		body["orderBy"] = typ.Sorts[0] + " desc"
	}
	return append(all, body)
}

// valueOf is a value for an option that has no default.
func valueOf(o *analytics.Option) any {
	switch {
	case o.Default != "" || !o.Required:
		return nil
	case len(o.OneOf) > 0 && o.Kind == analytics.OptionText:
		return o.OneOf[0]
	}
	switch o.Kind {
	case analytics.OptionInteger:
		return o.Min
	case analytics.OptionNumbers:
		return []any{0.5}
	case analytics.OptionSteps:
		return []any{map[string]any{"event": "a'"}, map[string]any{"event": "b\\"}}
	case analytics.OptionMoment:
		return "2026-04-30"
	case analytics.OptionText:
	}
	return "it's"
}

// statement is the part of a response that is run.
type statement struct {
	SQL    string            `json:"sql"`
	Params map[string]string `json:"params"`
	Plan   struct {
		Source string `json:"source"`
	} `json:"plan"`
}

func compile(t *testing.T, app host, zone string, body map[string]any) (*statement, error) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	target := "/v1/query/compile?timezone=" + zone
	if project, _ := body["projectId"].(string); strings.HasPrefix(project, "lnk_") { // which the query string names
		target += "&link_id=" + project
	}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader(string(text)))
	req.Header.Set("X-Api-Key", "any")
	resp, err := app.Test(req, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	response, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%d %s", resp.StatusCode, response)
	}
	var s statement
	return &s, json.Unmarshal(response, &s)
}

// port is the HTTP port of a server.
type port struct {
	config.ClickHouse

	url string
}

// run runs a statement as it is and returns the names of its columns.
func (p *port) run(ctx context.Context, s *statement) ([]string, error) {
	query := url.Values{"database": {p.Database}, "default_format": {"JSONCompact"}, "readonly": {"2"}}
	for name, value := range s.Params {
		query.Set("param_"+name, value)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/?"+query.Encode(), strings.NewReader(s.SQL))
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New(string(text))
	}
	var response struct {
		Meta []struct {
			Name string `json:"name"`
		} `json:"meta"`
	}
	if err := json.Unmarshal(text, &response); err != nil {
		return nil, err
	}
	var names []string
	for _, m := range response.Meta {
		names = append(names, m.Name)
	}
	return names, nil
}
