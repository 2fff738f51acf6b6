package tools

import (
	"cmp"
	"encoding/json"
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
	// writes is set where calls change records. It has the run of such a row.
	writes *writing
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
	argConfirm  = text(2048, "confirmToken of the preview, to make the change.")
	argNext     = text(2048, "meta.nextCursor of the previous answer, with the same other arguments.")
)

// table lists the tools.
func table(doc *rpc.Document) []row {
	read := []auth.Scope{auth.ScopeReadData}
	links, writeLinks := []auth.Scope{auth.ScopeReadLinks}, []auth.Scope{auth.ScopeWriteLinks}
	flags := []auth.Scope{auth.ScopeManageFlags}
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
		{
			Tool: mcp.Tool{
				Name: "save_link", Title: "Create or change a short link", Class: ratelimit.MCPWrites, Scopes: writeLinks,
				Global: true, Writes: true, Destructive: true,
				Description: "Create a short link, or change the link with the given id. A change is made after a confirmation; " +
					"absent fields keep their values.",
			},
			body: rpc.Path("links", "update"),
			fields: []string{
				"id: Link to change; absent for a new link.", "url: Where the link leads; required for a new link.",
				"slug: Path of the link; generated if absent.", "domain: Own domain; the shared host if absent.", "name",
				"folderId", "tags: Replaced as a whole.", "enabled", "expiresAt: Date-time; null for never.",
			},
			writes: &writing{
				resource: "links", reads: auth.ScopeReadLinks, operations: []string{"update"}, preview: changed, creates: true,
			},
		},
		{
			Tool: mcp.Tool{
				Name: "delete_link", Title: "Delete a short link", Class: ratelimit.MCPWrites, Scopes: writeLinks, Global: true,
				Writes: true, Destructive: true, Idempotent: true,
				Description: "Delete a short link, after a confirmation. It can be restored in the dashboard for 30 days.",
			},
			body: rpc.Path("links", "delete"), fields: []string{"id!"},
			writes: &writing{
				resource: "links", reads: auth.ScopeReadLinks, operations: []string{"delete"}, preview: deleted,
			},
		},
		{
			Tool: mcp.Tool{
				Name: "save_flag", Title: "Create or change a feature flag", Class: ratelimit.MCPWrites, Scopes: flags,
				Writes: true, Destructive: true,
				Description: "Create a feature flag, inactive at first, or change the flag with the given id. A change is made " +
					"after a confirmation; absent fields keep their values, and lists are replaced as a whole.",
			},
			body: rpc.Path("flags", "create"),
			fields: []string{
				"key: Key of a new flag; it cannot be changed.", "type: Type of a new flag; it cannot be changed.",
				"websiteId: Website of a new flag; absent for all websites.", "name", "description", "visibility", "tags",
				"variants: As get_flag shows them.", "defaultVariant: Variant if no rule applies.",
				"offVariant: Variant while the flag is inactive.", "rules: As get_flag shows them.",
			},
			own: map[string]*huma.Schema{"id": text(64, "Flag to change; absent for a new flag.")},
			writes: &writing{
				resource: "flags", reads: auth.ScopeManageFlags, operations: []string{"update"}, preview: changed, creates: true,
			},
		},
		{
			Tool: mcp.Tool{
				Name: "set_flag_status", Title: "Switch a feature flag", Class: ratelimit.MCPWrites, Scopes: flags,
				Writes: true, Destructive: true, Idempotent: true,
				Description: "Switch a feature flag on or off, or archive it, after a confirmation. Only an inactive flag can be " +
					"archived, and an archived flag becomes inactive first.",
			},
			body: rpc.Path("flags", "enable"), fields: []string{"id!"},
			own: map[string]*huma.Schema{
				"status!": {Type: huma.TypeString, Enum: []any{flagActive, flagInactive, flagArchived}},
			},
			writes: &writing{
				resource: "flags", reads: auth.ScopeManageFlags, preview: switched, choosing: []string{"status"},
				operations: []string{"enable", "disable", "archive", "unarchive"},
			},
		},
		{
			Tool: mcp.Tool{
				Name: "set_flag_targets", Title: "Set a feature flag's targets", Class: ratelimit.MCPWrites, Scopes: flags,
				Writes: true, Destructive: true, Idempotent: true,
				Description: "Give users a variant of a feature flag regardless of its rules, or take it from them, after a " +
					"confirmation.",
			},
			body: rpc.Path("flags", "addTargets"),
			fields: []string{
				"id!", "variant: Variant that the users get; absent for mode remove.", "userIds", "emails",
				"environment: The base if absent.",
			},
			own: map[string]*huma.Schema{
				"mode": {
					Type: huma.TypeString, Enum: []any{modeAppend, modeReplace, modeRemove}, Default: modeAppend,
					Description: "replace takes the variant from all other users.",
				},
			},
			writes: &writing{
				resource: "flags", reads: auth.ScopeManageFlags, preview: targeted, choosing: []string{"mode"},
				operations: []string{"addTargets", "removeTargets"},
			},
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
	if w := r.writes; w != nil {
		w.complete(doc)
		r.run, t.Preview = w.run, runner(input, w.describe)
		schema.Properties[mcp.ConfirmToken] = argConfirm
	}
	t.Run = runner(input, r.run)
	t.Input, err = brief(schema)
	return &t, err
}

// brief encodes a schema without the lengths of texts, which cost more of a model's context than they
// help: the check reports them.
func brief(schema *huma.Schema) ([]byte, error) {
	text, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, err
	}
	var strip func(any)
	strip = func(value any) {
		switch v := value.(type) {
		case map[string]any:
			delete(v, "minLength")
			delete(v, "maxLength")
			for _, member := range v {
				strip(member)
			}
		case []any:
			for _, item := range v {
				strip(item)
			}
		}
	}
	strip(value)
	return json.Marshal(value)
}
