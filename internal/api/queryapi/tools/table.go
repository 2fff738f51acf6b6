package tools

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/millrace/millrace/internal/api/httpkit/mcp"
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// row is a tool before its schema is made.
type row struct {
	mcp.Tool

	// body is the route whose body has the fields; empty for a tool without any.
	body string
	// depth is how far nested objects of fields are described.
	depth int
	// fields are the arguments: members of the body, "name" or "name: description", with "!" after the
	// name of a required one. own are arguments that the body does not have, by such names.
	fields []string
	own    map[string]*huma.Schema
	// run answers a call with checked arguments.
	run func(*call) (mcp.Answer, error)
}

// Arguments of several tools.
const (
	argPreset    = "preset: Named range, such as last_7d; instead of startDate and endDate."
	argStart     = "startDate: YYYY-MM-DD, or a date-time."
	argEnd       = "endDate: YYYY-MM-DD, included, or a date-time, excluded."
	argLimit     = "limit: Rows at most; 50 if absent."
	argCursor    = "cursor: meta.nextCursor of the previous answer."
	routeQuery   = "/v1/query"
	routeCompile = "/v1/query/compile"
)

func text(most int, doc string) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, MinLength: new(1), MaxLength: &most, Description: doc}
}

// idBytes bounds the ids of subjects.
const idBytes = 128

var (
	argWebsite  = text(idBytes, "Id of the website.")
	argTimeZone = text(64, "IANA time zone of days and hours; UTC if absent.")
	argNext     = text(2048, "meta.nextCursor of the previous answer, with the same other arguments.")
)

// table lists the tools.
func table(doc *rpc.Document) []row {
	read := []auth.Scope{auth.ScopeReadData}
	links, flags := []auth.Scope{auth.ScopeReadLinks}, []auth.Scope{auth.ScopeManageFlags}
	return []row{
		{
			Tool: mcp.Tool{
				Name: "list_websites", Title: "List websites", Class: ratelimit.MCPLists, List: true,
				Scopes:      []auth.Scope{auth.ScopeReadData, auth.ScopeManageWebsites},
				Description: "List the websites that the key can access, newest first. Other tools take their ids.",
			},
			body: rpc.Path("websites", "list"), fields: []string{"search", argLimit, argCursor},
			run: list("websites", "list", "id", "name", "domain", "timezone", "isPublic", "createdAt"),
		},
		{
			Tool: mcp.Tool{
				Name: "list_query_types", Title: "List query types", Class: ratelimit.MCPLists, List: true, Scopes: read,
				Description: "List what run_query can compute. With names, also get the columns, filters and options of these " +
					"types.",
			},
			own: map[string]*huma.Schema{
				"names": {
					Type: huma.TypeArray, Items: text(64, ""), MinItems: new(1), MaxItems: new(maxDescribed),
					Description: "Query types to describe in full.",
				},
				"category": text(64, "Only types of this category, such as Traffic or Errors."),
				"search":   text(64, "Substring of the name, title or description, in any case."),
			},
			run: listTypes,
		},
		{
			Tool: mcp.Tool{
				Name: "run_query", Title: "Run queries", Class: ratelimit.MCPQueries, List: true, Scopes: read,
				Description: "Compute 1 to 10 query types about a website, a short link, or the whole organization if neither " +
					"is given. Find types and their filters with list_query_types.",
			},
			own: map[string]*huma.Schema{
				"queries!": questions(doc), "websiteId": argWebsite,
				"linkId":   text(idBytes, "Id of a short link, for types that begin with link_."),
				"timezone": argTimeZone, "cursor": argNext,
			},
			run: runQuery,
		},
		{
			Tool: mcp.Tool{
				Name: "compile_query", Title: "Show the SQL of a query", Class: ratelimit.MCPQueries, Scopes: read,
				Description: "Get the ClickHouse SQL of one query type, with its parameters, without running it.",
			},
			body: routeCompile, depth: 1,
			fields: []string{
				"type!", "from!", "to!", "timeUnit: Length of the buckets of a series.",
				"filters: As in run_query.", "groupBy: Dimensions to group by.", "orderBy", "limit", "options",
			},
			own: map[string]*huma.Schema{"websiteId": argWebsite, "linkId": text(idBytes, "Id of a short link."), "timezone": argTimeZone},
			run: compileQuery,
		},
		{
			Tool: mcp.Tool{
				Name: "get_ingestion_health", Title: "Get ingestion health", Class: ratelimit.MCPReports, List: true, Scopes: read,
				Description: "Count accepted, duplicate, rejected and excluded events by website and hour, latest hour first. " +
					"Use it when events seem to be missing.",
			},
			body: routeQuery, depth: 1, fields: []string{argPreset, argStart, argEnd},
			own: map[string]*huma.Schema{"websiteId": argWebsite, "cursor": argNext},
			run: ingestionHealth,
		},
		{
			Tool: mcp.Tool{
				Name: "list_links", Title: "List short links", Class: ratelimit.MCPLists, List: true, Scopes: links, Global: true,
				Description: "List short links, newest first.",
			},
			body:   rpc.Path("links", "list"),
			fields: []string{"search", "tag", "status", "domain: Hostname of a domain.", "withClicks", argLimit, argCursor},
			run: list("links", "list", "id", "version", "shortUrl", "slug", "domain", "url", "name", "status", "tags",
				"folderId", "expiresAt", "clicks", "createdAt"),
		},
		{
			Tool: mcp.Tool{
				Name: "get_link_report", Title: "Get a link's report", Class: ratelimit.MCPReports, Scopes: read, Global: true,
				Description: "Get the clicks of a short link in a range: totals, days, and the top referrers, countries, devices " +
					"and browsers.",
			},
			body: routeQuery, depth: 1, fields: []string{argPreset, argStart, argEnd},
			own: map[string]*huma.Schema{"linkId!": text(idBytes, "Id of the link."), "timezone": argTimeZone},
			run: linkReport,
		},
		{
			Tool: mcp.Tool{
				Name: "list_flags", Title: "List feature flags", Class: ratelimit.MCPLists, List: true, Scopes: flags,
				Description: "List feature flags, newest first, without their rules.",
			},
			body: rpc.Path("flags", "list"),
			fields: []string{
				"websiteId: Only flags of this website.", "status", "tag", "search", argLimit, argCursor,
			},
			run: list("flags", "list", "id", "version", "key", "name", "description", "type", "status", "websiteId", "tags",
				"updatedAt"),
		},
		{
			Tool: mcp.Tool{
				Name: "get_flag", Title: "Get a feature flag", Class: ratelimit.MCPLists, Scopes: flags,
				Description: "Get a feature flag with its variants, targets, rules and environments.",
			},
			body:   rpc.Path("flags", "get"),
			fields: []string{"id", "key", "websiteId: Website of the key; null for a flag of all websites."},
			run:    record("flags", "get"),
		},
		{
			Tool: mcp.Tool{
				Name: "evaluate_flag", Title: "Evaluate a feature flag", Class: ratelimit.MCPReports, Scopes: flags,
				Description: "Evaluate a stored flag for a user and explain which rule decided. Nothing is stored.",
			},
			body: rpc.Path("flags", "evaluate"), depth: 2,
			fields: []string{
				"key!", "websiteId: Website of the flag; if absent, only flags of all websites.", "context!", "environment",
				"explain",
			},
			run: record("flags", "evaluate"),
		},
	}
}

// Table returns the tools of the query host, sorted by name. doc describes the host's routes.
func Table(doc *rpc.Document) ([]mcp.Tool, error) {
	var all []mcp.Tool
	for _, r := range table(doc) {
		t, err := r.tool(doc)
		if err != nil {
			return nil, fmt.Errorf("MCP tool %s: %w", r.Name, err)
		}
		all = append(all, *t)
	}
	slices.SortFunc(all, func(a, b mcp.Tool) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// tool makes the schema of a row, whose fields have the types and bounds of the route's body.
func (r *row) tool(doc *rpc.Document) (*mcp.Tool, error) {
	schema := &huma.Schema{Type: huma.TypeObject, AdditionalProperties: false, Properties: map[string]*huma.Schema{}}
	add := func(name string, p *huma.Schema) {
		name, required := strings.CutSuffix(name, "!")
		if required {
			schema.Required = append(schema.Required, name)
		}
		schema.Properties[name] = p
	}
	for name, p := range r.own {
		add(name, p)
	}
	body := doc.Body(r.body, r.depth+1)
	for _, field := range r.fields {
		name, description, _ := strings.Cut(field, ": ")
		p := body.Properties[strings.TrimSuffix(name, "!")]
		if p == nil {
			return nil, fmt.Errorf("%s has no field %s", r.body, name)
		}
		p.Description = cmp.Or(description, p.Description)
		add(name, p)
	}
	slices.Sort(schema.Required)
	input, err := rpc.NewInput(schema)
	if err != nil {
		return nil, err
	}
	t := r.Tool
	t.Input = input.Schema
	t.Run = runner(input, r.run)
	return &t, nil
}
