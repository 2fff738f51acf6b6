package queryapi

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/api/flagapi"
	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/platform/buildinfo"
	"github.com/millrace/millrace/internal/tenant/auth"
)

// Describe returns the OpenAPI document of both hosts, with a table of management
// operations. ingest is where callers reach the ingestion host.
func Describe(site *httpkit.Site, ingest string, resources []rpc.Resource) (*rpc.Document, error) {
	routes := []rpc.Route{healthRoute, typesRoute, websitesRoute, queryRoute, compileRoute, mcpRoute, trackRoute(ingest)}
	return rpc.Describe(rpc.Info{
		Title: "Millrace", Version: buildinfo.Version(),
		Description: "Web analytics: send events, query them, and manage the websites, keys and members of an organization.",
		Server:      site.PublicURL, CookieName: site.CookieName(),
	}, resources, append(routes, flagapi.Describe()...)...)
}

func healthRoute(huma.Registry) *huma.Operation {
	return &huma.Operation{
		Method: fiber.MethodGet, Path: "/health", OperationID: "health", Tags: []string{"host"},
		Summary: "Check that the process is running", Security: []map[string][]string{{}},
		Responses: responses("Error", rpc.Object([]string{"status"}, map[string]*huma.Schema{
			"status": {Type: huma.TypeString, Enum: []any{"ok"}},
		})),
	}
}

func typesRoute(r huma.Registry) *huma.Operation {
	return &huma.Operation{
		Method: fiber.MethodGet, Path: "/v1/query/types", OperationID: "query.types", Tags: []string{"query"},
		Summary: "List the query types", Security: []map[string][]string{{}},
		Parameters: []*huma.Param{{
			Name: "include_meta", In: "query", Description: "Whether to include the description, columns and options of each " +
				"type.",
			Schema: &huma.Schema{Type: huma.TypeBoolean},
		}},
		Responses: responses("Error", r.Schema(reflect.TypeFor[typesBody](), true, "")),
	}
}

// Schema says what the types look like: an object by name.
func (configs) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: r.Schema(reflect.TypeFor[typeConfig](), true, "")}
}

func websitesRoute(r huma.Registry) *huma.Operation {
	return &huma.Operation{
		Method: fiber.MethodGet, Path: "/v1/query/websites", OperationID: "query.websites", Tags: []string{"query"},
		Summary: "List the websites that the caller can query",
		Parameters: []*huma.Param{{
			Name: "organization_id", In: "query", Schema: &huma.Schema{Type: huma.TypeString},
			Description: "One of the caller's organizations. If absent, a key lists the websites of its organization, and a " +
				"user lists the websites of all organizations that they belong to.",
		}},
		Responses: responses("Error", r.Schema(reflect.TypeFor[websitesBody](), true, "")),
		Security:  credentials(auth.ScopeReadData),
	}
}

// queryRoute describes the body but for what each type takes, which is in the response of
// /v1/query/types.
func queryRoute(r huma.Registry) *huma.Operation {
	one := queryResponse()
	batch := rpc.Object([]string{"success", "requestId", "batch", "results"}, map[string]*huma.Schema{
		"success": rpc.Boolean(true), "requestId": rpc.Text(""), "batch": rpc.Boolean(true),
		"results": rpc.ListOf(rpc.Object([]string{"queryId", "data", "meta"}, queryFields()),
			"One entry for each query, in the order of the request."),
	})
	request := queryRequest(r)
	return &huma.Operation{
		Method: fiber.MethodPost, Path: "/v1/query", OperationID: "query", Tags: []string{"query"},
		Summary: "Run one query or a list of queries",
		Description: "Without a credential, only the public types of a public website are available. Accept selects JSON, " +
			"NDJSON with one row per line, or CSV for one parameter. If-None-Match with the ETag of an earlier response " +
			"returns 304 if the data has not changed. Cache-Control: no-cache bypasses the cache.",
		Parameters: append(subjectParams(),
			header("Accept", "application/json, application/x-ndjson or text/csv."),
			header("If-None-Match", "ETag of a response that the caller has."),
			header("Cache-Control", "no-cache computes the response again; no-store also keeps it out of the cache."),
		),
		RequestBody: &huma.RequestBody{Required: true, Content: rpc.JSON(&huma.Schema{OneOf: []*huma.Schema{
			request, {Type: huma.TypeArray, Items: request, MinItems: new(1), MaxItems: new(analytics.MaxRequests)},
		}})},
		Responses: queryResponses(&huma.Schema{OneOf: []*huma.Schema{one, batch}}),
		Security:  append(credentials(auth.ScopeReadData), map[string][]string{}),
	}
}

func header(name, doc string) *huma.Param {
	return &huma.Param{Name: name, In: "header", Description: doc, Schema: &huma.Schema{Type: huma.TypeString}}
}

// queryResponses are the responses in every format.
func queryResponses(success *huma.Schema) map[string]*huma.Response {
	all := responses("Error", success)
	ok := all["200"]
	ok.Description = "Success. NDJSON has one object per line for each row: parameter, queryId before it in a batch, " +
		"and the columns. One line follows for each parameter that failed, with success false, error and code. CSV has a " +
		"line with the column names and a line for each row; if the query fails, the whole request fails."
	ok.Content["application/x-ndjson"], ok.Content["text/csv"] = &huma.MediaType{}, &huma.MediaType{}
	ok.Headers = map[string]*huma.Param{"ETag": {
		Description: "Identifies the response. Absent if a parameter failed, if a parameter is about the present, or if " +
			"the response is so large that it is streamed.",
		Schema: &huma.Schema{Type: huma.TypeString},
	}}
	all["304"] = &huma.Response{Description: "The response has not changed: If-None-Match has its ETag."}
	return all
}

func compileRoute(r huma.Registry) *huma.Operation {
	texts := &huma.Schema{Type: huma.TypeObject, AdditionalProperties: &huma.Schema{Type: huma.TypeString}}
	return &huma.Operation{
		Method: fiber.MethodPost, Path: "/v1/query/compile", OperationID: "query.compile", Tags: []string{"query"},
		Summary: "Show the SQL of a query type",
		Description: "The statement runs unchanged over ClickHouse's HTTP interface, with each of params as the form field " +
			"param_<name>.",
		Parameters: subjectParams(),
		RequestBody: &huma.RequestBody{Required: true, Content: rpc.JSON(&huma.Schema{
			Type: huma.TypeObject, Required: []string{"type", "from", "to"},
			Properties: map[string]*huma.Schema{
				"projectId": rpc.Text("Id of the website or organization, if the query string has none."),
				"type":      rpc.Text("A query type."),
				"from":      rpc.Text("YYYY-MM-DD, or a date-time."),
				"to":        rpc.Text("YYYY-MM-DD, included, or a date-time, excluded."),
				"timeUnit":  {Type: huma.TypeString, Enum: anys(analytics.GranularityNames())},
				"filters":   rpc.ListOf(filterSchema(r), "As in a query."),
				"groupBy":   {Description: "As in a query."},
				"orderBy":   rpc.Text("Column name, optionally followed by a space and asc or desc."),
				"limit":     {Type: huma.TypeInteger, Minimum: new(1.0), Maximum: new(float64(maxCompileLimit))},
				"offset":    {Type: huma.TypeInteger, Minimum: new(0.0), Maximum: new(float64(maxCompileOffset))},
				"options":   {Type: huma.TypeObject, Description: "Options of the query type."},
			},
		})},
		Responses: responses("Error",
			rpc.Object([]string{"success", "requestId", "type", "sql", "params", "types", "plan"}, map[string]*huma.Schema{
				"success": rpc.Boolean(true), "requestId": rpc.Text(""), "type": rpc.Text("The type's name."),
				"sql":    rpc.Text("The statement."),
				"params": texts, "types": texts,
				"plan": rpc.Object([]string{"source", "tables"}, map[string]*huma.Schema{
					"source": rpc.Text("Source of the data: rollups, events, or both."),
					"tables": rpc.ListOf(rpc.Text(""), "Tables that the query reads."),
				}),
			})),
		Security: append(credentials(auth.ScopeReadData), map[string][]string{}),
	}
}

// mcpRoute describes the endpoint for AI clients. Its messages are the protocol's.
func mcpRoute(huma.Registry) *huma.Operation {
	message := func(doc string, required ...string) *huma.Schema {
		return &huma.Schema{
			Type: huma.TypeObject, AdditionalProperties: true, Required: append(required, "jsonrpc"), Description: doc,
			Properties: map[string]*huma.Schema{"jsonrpc": {Type: huma.TypeString, Enum: []any{"2.0"}}},
		}
	}
	op := &huma.Operation{
		Method: fiber.MethodPost, Path: MCPPath, OperationID: "mcp", Tags: []string{"mcp"},
		Summary: "Send a message of the Model Context Protocol",
		Description: "Calls are answered with JSON. subscriptions/listen opens a stream of server-sent events. " +
			"tools/list returns the tools that the key may call.",
		RequestBody: &huma.RequestBody{Required: true, Content: rpc.JSON(message("One JSON-RPC message."))},
		Responses:   responses("Error", message("The result, or an error of the protocol.")),
		Security:    []map[string][]string{{"key": {}}, {"bearer": {}}},
	}
	op.Responses["200"].Content["text/event-stream"] = &huma.MediaType{}
	op.Responses["202"] = &huma.Response{Description: "The notification was accepted."}
	for status, why := range map[string]string{
		"400": "The message is not valid.", "404": "The method is unknown, since revision 2026-07-28.",
		"415": "The body is not application/json.",
	} {
		op.Responses[status] = &huma.Response{
			Description: why, Content: rpc.JSON(message("An error of the protocol.", "error")),
		}
	}
	return op
}

// responses are a success and the error that everything else is; failure names
// the component.
func responses(failure string, success *huma.Schema) map[string]*huma.Response {
	all := map[string]*huma.Response{"200": {Description: "Success.", Content: rpc.JSON(success)}}
	if failure != "" {
		all["default"] = &huma.Response{Ref: "#/components/responses/" + failure}
	}
	return all
}

func credentials(scope auth.Scope) []map[string][]string {
	return []map[string][]string{{"key": {string(scope)}}, {"bearer": {string(scope)}}, {"session": {}}}
}

func anys(words []string) []any {
	all := make([]any, len(words))
	for i, w := range words {
		all[i] = w
	}
	return all
}
