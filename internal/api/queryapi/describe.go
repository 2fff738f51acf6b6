package queryapi

import (
	"maps"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/api/flagapi"
	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/event"
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

// queryRoute describes the body loosely: what a type takes is in the response of
// /v1/query/types, and a rejection names every problem.
func queryRoute(huma.Registry) *huma.Operation {
	one := queryResponse()
	batch := rpc.Object([]string{"success", "requestId", "batch", "results"}, map[string]*huma.Schema{
		"success": rpc.Boolean(true), "requestId": rpc.Text(""), "batch": rpc.Boolean(true),
		"results": rpc.ListOf(rpc.Object([]string{"queryId", "data", "meta"}, queryFields()),
			"One entry a query, in the order of the request."),
	})
	request := queryRequest()
	return &huma.Operation{
		Method: fiber.MethodPost, Path: "/v1/query", OperationID: "query", Tags: []string{"query"},
		Summary: "Answer one query, or a list of them",
		Description: "Without a credential, the public types of a public website are answered. Accept chooses JSON, " +
			"NDJSON with a row a line, or CSV for one parameter. " +
			"If-None-Match with the ETag of an earlier answer is answered 304 while the data is the same; Cache-Control: " +
			"no-cache asks the database whatever is known.",
		Parameters: append(subjectParams(),
			header("Accept", "application/json, application/x-ndjson or text/csv."),
			header("If-None-Match", "The ETag of an answer that the caller has."),
			header("Cache-Control", "no-cache for an answer that is computed now; no-store for one that is not kept either."),
		),
		RequestBody: &huma.RequestBody{Required: true, Content: rpc.JSON(&huma.Schema{OneOf: []*huma.Schema{
			request, {Type: huma.TypeArray, Items: request, MinItems: new(1), MaxItems: new(analytics.MaxRequests)},
		}})},
		Responses: queryResponses(&huma.Schema{OneOf: []*huma.Schema{one, batch}}),
		Security:  append(credentials(auth.ScopeReadData), map[string][]string{}),
	}
}

// subjectParams say what a query is about.
func subjectParams() []*huma.Param {
	param := func(name, doc string) *huma.Param {
		return &huma.Param{Name: name, In: "query", Description: doc, Schema: &huma.Schema{Type: huma.TypeString}}
	}
	return []*huma.Param{
		param("website_id", "The website, by id or client id."),
		param("link_id", "The short link, by id, instead of a website; a key that asks needs global access."),
		param("organization_id", "The organization, instead of a website."),
		param("timezone", "An IANA time zone; UTC without it."),
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
		Description: "Names the answer; left out where a parameter failed, or the answer is about the present.",
		Schema:      &huma.Schema{Type: huma.TypeString},
	}}
	all["304"] = &huma.Response{Description: "The answer is the one that If-None-Match names."}
	return all
}

func compileRoute(huma.Registry) *huma.Operation {
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
				"filters":   rpc.ListOf(&huma.Schema{}, "As of a query."),
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

func queryRequest() *huma.Schema {
	text := rpc.Text
	return &huma.Schema{
		Type: huma.TypeObject, Required: []string{"parameters"},
		Properties: map[string]*huma.Schema{
			"id": {Type: huma.TypeString, MaxLength: new(analytics.MaxLabelLen), Description: "Repeated as queryId."},
			"parameters": {
				Type: huma.TypeArray, Items: &huma.Schema{}, MinItems: new(1), MaxItems: new(analytics.MaxParameters),
				Description: "Names of query types, or objects with a name and a range of their own.",
			},
			"preset":      {Type: huma.TypeString, Enum: anys(analytics.PresetNames())},
			"startDate":   text("YYYY-MM-DD, or a date-time."),
			"endDate":     text("YYYY-MM-DD, included, or a date-time, excluded."),
			"timeZone":    text("An IANA name; it wins over the parameter timezone."),
			"granularity": text("Where a type supports one: see supports_granularity of /v1/query/types."),
			"filters": rpc.ListOf(&huma.Schema{},
				"Objects with field, op and value, and others with and, or and not of them."),
			"groupBy": {Description: "Dimensions to group by, where a type takes them."},
			"compare": {Description: "previous_period, or an object with startDate and endDate: each row says what it " +
				"was then, and by how much it changed."},
			"sortBy":    text("One of allowedSortFields."),
			"sortOrder": {Type: huma.TypeString, Enum: []any{"asc", "desc"}},
			"limit":     {Type: huma.TypeInteger, Minimum: new(1.0), Maximum: new(float64(analytics.MaxLimit))},
			"page":      {Type: huma.TypeInteger, Minimum: new(1.0), Maximum: new(float64(analytics.MaxPage))},
		},
	}
}

func queryResponse() *huma.Schema {
	fields := queryFields()
	fields["success"], fields["requestId"] = rpc.Boolean(true), rpc.Text("")
	return rpc.Object([]string{"success", "requestId", "queryId", "data", "meta"}, fields)
}

func queryFields() map[string]*huma.Schema {
	parameter := rpc.Object([]string{"parameter", "success", "data"}, map[string]*huma.Schema{
		"parameter": rpc.Text("The query type as it was asked for, or the id given to it."),
		"success":   {Type: huma.TypeBoolean},
		"error":     rpc.Text("Only where success is false."),
		"code":      {Type: huma.TypeString, Enum: failureCodes(), Description: "Only where success is false: why."},
		"data":      rpc.ListOf(&huma.Schema{Type: huma.TypeObject}, "Rows; their columns are those of the type."),
	})
	return map[string]*huma.Schema{
		"queryId": rpc.Text("The id of the request; empty without one."),
		"data":    rpc.ListOf(parameter, "One entry a parameter; those that failed come last."),
		"meta": rpc.Object([]string{"parameters", "total_parameters", "page", "limit", "filters_applied"},
			map[string]*huma.Schema{
				"parameters":       rpc.ListOf(rpc.Text(""), ""),
				"total_parameters": rpc.Integer(""), "page": rpc.Integer(""), "limit": rpc.Integer(""),
				"filters_applied": rpc.Integer(""),
				"applied":         rpc.ListOf(appliedSchema(), "What each parameter was taken for, in the order of the request."),
			}),
	}
}

func appliedSchema() *huma.Schema {
	return rpc.Object([]string{"parameter", "type", "start", "end", "timezone", "filters", "rows"},
		map[string]*huma.Schema{
			"parameter": rpc.Text("As in data."), "type": rpc.Text("The query type, where an alias was asked for."),
			"start": rpc.Text("Beginning of the range, with the zone's offset."), "end": rpc.Text("End of the range, excluded."),
			"timezone": rpc.Text("The zone of days and hours."), "granularity": rpc.Text("Of a series: the length of a bucket."),
			"previous": rpc.Object([]string{"start", "end"},
				map[string]*huma.Schema{"start": rpc.Text(""), "end": rpc.Text("Excluded.")}),
			"sort":  rpc.Text("The column that rows are ordered by, after a minus where the largest comes first."),
			"limit": rpc.Integer("Rows at most."), "page": rpc.Integer(""), "filters": rpc.Integer("How many filters apply."),
			"source": {Type: huma.TypeString, Description: "Where the numbers come from: events, rollup, or both."},
			"rows":   rpc.Integer("Rows that there are."),
		})
}

// failureCodes are the codes of parameters that failed.
func failureCodes() (codes []any) {
	for i := range analytics.Failures {
		codes = append(codes, analytics.Failures[i].Code)
	}
	return codes
}

func trackRoute(ingest string) rpc.Route {
	return func(huma.Registry) *huma.Operation {
		op := &huma.Operation{
			Method: fiber.MethodPost, Path: "/track", OperationID: "track", Tags: []string{"ingestion"},
			Summary: "Take one event, or a list of them",
			Parameters: []*huma.Param{{
				Name: "website_id", In: "query", Schema: &huma.Schema{Type: huma.TypeString},
				Description: "The website, by client id, or by id with a key; else the first event's websiteId says it.",
			}},
			RequestBody: &huma.RequestBody{Required: true, Content: rpc.JSON(&huma.Schema{OneOf: []*huma.Schema{
				eventSchema(), {Type: huma.TypeArray, Items: eventSchema(), MinItems: new(1)},
			}})},
			Responses: responses("", rpc.Object([]string{"status", "type", "count"}, map[string]*huma.Schema{
				"status": {Type: huma.TypeString, Enum: []any{"success"}},
				"type":   {Type: huma.TypeString, Enum: []any{"custom_event"}},
				"count":  rpc.Integer("Events accepted, duplicates among them."),
			})),
			Security: append(credentials(auth.ScopeTrackEvents), map[string][]string{}),
		}
		op.Responses["default"] = &huma.Response{
			Description: "Nothing was accepted; `code` says why.", Content: rpc.JSON(ingestionError()),
		}
		if ingest != "" {
			op.Servers = []*huma.Server{{URL: ingest}}
		}
		return op
	}
}

// eventSchema is a custom event (specification 2.2).
func eventSchema() *huma.Schema {
	text := func(least, most int) *huma.Schema {
		return &huma.Schema{Type: huma.TypeString, MinLength: &least, MaxLength: &most}
	}
	return &huma.Schema{
		Type: huma.TypeObject, Required: []string{"name"},
		Properties: map[string]*huma.Schema{
			"name": text(1, event.MaxNameLen), "eventId": text(0, event.MaxEventIDLen), "path": text(0, event.MaxPathLen),
			"anonymousId": text(0, event.MaxAnonymousIDLen), "profileId": text(1, event.MaxProfileIDLen),
			"sessionId": text(0, event.MaxSessionIDLen), "namespace": text(0, event.MaxNamespaceLen),
			"source": text(0, event.MaxSourceLen), "websiteId": text(0, event.MaxWebsiteIDLen),
			"timestamp":           {Description: "Unix milliseconds, or a date-time; the time of receipt without it."},
			"anonymizeVisitorIds": {Enum: []any{true, false, "auto"}},
			"properties": {
				Type: huma.TypeObject, MaxProperties: new(event.MaxPropertiesKeys), AdditionalProperties: true,
			},
		},
	}
}

// ingestionError is the error body of the ingestion host (specification 7.1).
func ingestionError() *huma.Schema {
	problem := rpc.Object([]string{"field", "code", "message"}, map[string]*huma.Schema{
		"index": rpc.Integer("The event's place in a batch."), "field": rpc.Text(""), "code": rpc.Text(""),
		"message": rpc.Text(""),
	})
	fields := map[string]*huma.Schema{
		"success": rpc.Boolean(false), "status": {Type: huma.TypeString, Enum: []any{"error"}},
		"error": rpc.Text("What went wrong, for people."), "message": rpc.Text("The same."),
		"code": rpc.Text(""), "retryable": {Type: huma.TypeBoolean}, "requestId": rpc.Text(""),
		"fix": rpc.Text("What to do about it."), "errors": rpc.ListOf(problem, "The single problems of a refused body."),
	}
	maps.Copy(fields, rpc.RateFields())
	return rpc.Object([]string{"success", "status", "error", "message", "code", "retryable", "requestId"}, fields)
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
