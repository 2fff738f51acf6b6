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

func TestEveryTypeRunsOverHTTPAsItIsCompiled(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Migrated(t, schema.Migrate)
	log := slog.New(slog.DiscardHandler)
	app, err := queryapi.New(queryapi.Config{},
		queryapi.Deps{Log: log, Metrics: prometheus.NewRegistry(), Access: tenant{}, Tenants: tenant{}, Links: tenant{}})
	if err != nil {
		t.Fatal(err)
	}
	port := &port{cfg, "http://" + clickhousetest.HTTPAddr(t)}
	for i := range analytics.Catalog {
		typ := &analytics.Catalog[i]
		t.Run(typ.Name, func(t *testing.T) {
			for project, kind := range map[string]analytics.SubjectKind{
				"web_1": analytics.Website, "org_1": analytics.Organization, "lnk_1": analytics.Link,
			} {
				if typ.Subjects&kind == 0 {
					continue
				}
				for n, body := range bodies(typ, project) {
					if n == 0 && kind == analytics.Organization && typ.Subjects&analytics.Website != 0 {
						continue // its text differs from that of a website in what the other body shows
					}
					statement, err := compile(t, app, body)
					if err != nil {
						t.Errorf("%v: %v", body, err)
						continue
					}
					columns, err := port.run(t.Context(), statement)
					if err != nil {
						t.Errorf("%v: %v\n%s", body, err, statement.SQL)
						continue
					}
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
}

func compile(t *testing.T, app host, body map[string]any) (*statement, error) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	target := "/v1/query/compile"
	if project, _ := body["projectId"].(string); strings.HasPrefix(project, "lnk_") { // which the query string names
		target += "?link_id=" + project
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
