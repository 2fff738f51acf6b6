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
	routes := []rpc.Route{healthRoute, typesRoute, websitesRoute, queryRoute, compileRoute, trackRoute(ingest)}
	return rpc.Describe(rpc.Info{
		Title: "Millrace", Version: buildinfo.Version(),
		Description: "Analytics of websites: sending events, querying them, and managing an organization's websites, keys " +
			"and people.",
		Server: site.PublicURL, CookieName: site.CookieName(),
	}, resources, append(routes, flagapi.Describe()...)...)
}

func healthRoute(huma.Registry) *huma.Operation {
	return &huma.Operation{
		Method: fiber.MethodGet, Path: "/health", OperationID: "health", Tags: []string{"host"},
		Summary: "Answer as long as the process serves", Security: []map[string][]string{{}},
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
			Name: "include_meta", In: "query", Description: "Say also what each type means and answers with.",
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
		Summary: "List the websites that the caller may query",
		Parameters: []*huma.Param{{
			Name: "organization_id", In: "query", Schema: &huma.Schema{Type: huma.TypeString},
			Description: "One of the caller's organizations; without it a key lists its own, and a person all of theirs.",
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
			"One entry a query, in the order of the request."),
	})
	request := queryRequest(r)
	return &huma.Operation{
		Method: fiber.MethodPost, Path: "/v1/query", OperationID: "query", Tags: []string{"query"},
		Summary: "Answer one query, or a list of them",
		Description: "Without a credential, the public types of a public website are answered. Accept chooses JSON, " +
			"NDJSON with a row a line, or CSV for one parameter. " +
			"If-None-Match with the ETag of an earlier response gets 304 while the data is the same; Cache-Control: " +
			"no-cache asks the database whatever is known.",
		Parameters: append(subjectParams(),
			header("Accept", "application/json, application/x-ndjson or text/csv."),
			header("If-None-Match", "The ETag of a response that the caller has."),
			header("Cache-Control", "no-cache for a response that is computed now; no-store for one that is not kept either."),
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
	ok.Description = "Done. As NDJSON, a line with an object for each row: parameter, of a batch queryId before it, " +
		"and the columns; then one for each parameter that failed, with success false, error and code. " +
		"As CSV, a line with the names of the columns, then one for each row; a failure is that of the request."
	ok.Content["application/x-ndjson"], ok.Content["text/csv"] = &huma.MediaType{}, &huma.MediaType{}
	ok.Headers = map[string]*huma.Param{"ETag": {
		Description: "Names the response; left out where a parameter could not be computed, where it is about the present, " +
			"and of a large one that is sent while parts of it are computed.",
		Schema: &huma.Schema{Type: huma.TypeString},
	}}
	all["304"] = &huma.Response{Description: "The response is the one that If-None-Match names."}
	return all
}

func compileRoute(r huma.Registry) *huma.Operation {
	texts := &huma.Schema{Type: huma.TypeObject, AdditionalProperties: &huma.Schema{Type: huma.TypeString}}
	return &huma.Operation{
		Method: fiber.MethodPost, Path: "/v1/query/compile", OperationID: "query.compile", Tags: []string{"query"},
		Summary:     "Show the SQL of a query type",
		Description: "The statement runs as it is over ClickHouse's HTTP port, with each of params as a field param_<name>.",
		Parameters:  subjectParams(),
		RequestBody: &huma.RequestBody{Required: true, Content: rpc.JSON(&huma.Schema{
			Type: huma.TypeObject, Required: []string{"type", "from", "to"},
			Properties: map[string]*huma.Schema{
				"projectId": rpc.Text("The website or the organization, where the query string names none."),
				"type":      rpc.Text("A query type."),
				"from":      rpc.Text("YYYY-MM-DD, or a date-time."),
				"to":        rpc.Text("YYYY-MM-DD, included, or a date-time, excluded."),
				"timeUnit":  {Type: huma.TypeString, Enum: anys(analytics.GranularityNames())},
				"filters":   rpc.ListOf(filterSchema(r), "As of a query."),
				"groupBy":   {Description: "As of a query."},
				"orderBy":   rpc.Text("A column, and after a space asc or desc."),
				"limit":     {Type: huma.TypeInteger, Minimum: new(1.0), Maximum: new(float64(maxCompileLimit))},
				"offset":    {Type: huma.TypeInteger, Minimum: new(0.0), Maximum: new(float64(maxCompileOffset))},
				"options":   {Type: huma.TypeObject, Description: "What the type's parameter object takes besides."},
			},
		})},
		Responses: responses("Error",
			rpc.Object([]string{"success", "requestId", "type", "sql", "params", "types", "plan"}, map[string]*huma.Schema{
				"success": rpc.Boolean(true), "requestId": rpc.Text(""), "type": rpc.Text("The type's name."),
				"sql":    rpc.Text("The statement."),
				"params": texts, "types": texts,
				"plan": rpc.Object([]string{"source", "tables"}, map[string]*huma.Schema{
					"source": rpc.Text("Whether it reads rollups, the events themselves, or both."),
					"tables": rpc.ListOf(rpc.Text(""), "The tables that decide about the answer."),
				}),
			})),
		Security: append(credentials(auth.ScopeReadData), map[string][]string{}),
	}
}

// responses are a success and the error that everything else is; failure names
// the component.
func responses(failure string, success *huma.Schema) map[string]*huma.Response {
	all := map[string]*huma.Response{"200": {Description: "Done.", Content: rpc.JSON(success)}}
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
