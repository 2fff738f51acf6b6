package ingestapi

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/pipeline/ingest"
	"github.com/millrace/millrace/internal/platform/buildinfo"
	"github.com/millrace/millrace/internal/tenant/auth"
)

// object is a part of the document.
type object = map[string]any

// Describe returns the OpenAPI 3.1 document of the host, made of the tables of its
// routes and of their forms. Server is where callers reach it; empty for wherever
// they got the document from. headers are those in which a client id may stand.
func Describe(server string, headers []string) ([]byte, error) {
	schemas, paths := object{"Error": errorSchema()}, object{}
	for _, f := range event.Forms {
		schemas[schemaName(f)] = formSchema(f)
	}
	for i := range Routes {
		r := &Routes[i]
		path := pathOf(r.Path)
		item, _ := paths[path].(object)
		if item == nil {
			item = object{}
			paths[path] = item
		}
		item[strings.ToLower(r.Method)] = operation(r, headers)
	}
	paths[MCPPath] = object{"post": mcpOperation()}
	doc := object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Millrace, the ingestion host", "version": buildinfo.Version(),
			"description": "Host that receives events. Accepts JSON with any content type, optionally compressed with gzip, " +
				"br or zstd.",
		},
		"paths": paths,
		"components": object{
			"schemas": schemas,
			"securitySchemes": object{
				"key": object{
					"type":        "apiKey",
					"in":          "header",
					"name":        "x-api-key",
					"description": "An API key with the scope " + string(auth.ScopeTrackEvents) + ".",
				},
				"bearer": object{"type": "http", "scheme": "bearer", "description": "The same key as a bearer token."},
				"client": object{
					"type":        "apiKey",
					"in":          "query",
					"name":        "website_id",
					"description": "Public client id of a website; client_id is an alias.",
				},
			},
		},
	}
	if server != "" {
		doc["servers"] = []object{{"url": server}}
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("writing the description of the host: %w", err)
	}
	return text, nil
}

// pathOf is a path as the document writes it.
func pathOf(path string) string { return strings.ReplaceAll(path, ":hash", "{hash}") }

func schemaName(f *event.Form) string { return strings.ToUpper(f.Name[:1]) + f.Name[1:] + "Event" }

func operation(r *Route, headers []string) object {
	op := object{
		"summary":     r.Help,
		"operationId": strings.Trim(r.Method+strings.ReplaceAll(r.Path, "/", "."), "."),
		"security":    []object{{}},
	}
	parameters := []object{}
	if strings.Contains(r.Path, ":hash") {
		parameters = append(parameters,
			object{"name": "hash", "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	responses := object{"default": rejected()}
	for status, a := range r.Responses {
		responses[status] = a.describe()
	}
	if r.In != nil {
		op["security"] = []object{{"key": []string{}}, {"bearer": []string{}}, {"client": []string{}}}
		parameters = append(parameters, clientParameters(headers)...)
		if r.Method == fiber.MethodPost {
			op["description"] = "Events go to the topic " + r.Topic + "."
			op["requestBody"] = object{
				"required": true, "content": object{fiber.MIMEApplicationJSON: object{"schema": bodySchema(r.In)}},
			}
			responses["204"] = object{
				"description": "The events were dropped: the sender is a bot, or the website's settings exclude them. Only " +
					"without an API key.",
			}
			describeRejections(responses, func(httpkit.Row) bool { return true })
		} else {
			op["description"] = pixelTopics()
			parameters = append(parameters, pixelParameters()...)
			// What is rejected for good has the image all the same.
			describeRejections(responses, httpkit.Row.Retryable)
		}
	}
	op["parameters"], op["responses"] = parameters, responses
	return op
}

// rejected describes the response to a request that the host rejects.
func rejected() object {
	return responseOf("The request was rejected; `code` has the reason.", fiber.MIMEApplicationJSON,
		object{"$ref": "#/components/schemas/Error"})
}

// mcpOperation describes the endpoint for AI clients. Its messages are the protocol's.
func mcpOperation() object {
	message := func(required ...string) object {
		return object{
			"type": "object", "required": append(required, "jsonrpc"),
			"properties": object{"jsonrpc": object{"const": "2.0"}},
		}
	}
	responses := object{
		"200": object{"description": "The result, or an error of the protocol.", "content": object{
			fiber.MIMEApplicationJSON: object{"schema": message()}, "text/event-stream": object{},
		}},
		"202": object{"description": "The notification was accepted."}, "default": rejected(),
	}
	for status, why := range map[string]string{
		"400": "The message is not valid.", "404": "The method is unknown, since revision 2026-07-28.",
		"415": "The body is not application/json.",
	} {
		responses[status] = responseOf(why, fiber.MIMEApplicationJSON, message("error"))
	}
	return object{
		"summary": "Send a message of the Model Context Protocol.", "operationId": "mcp",
		"description": "Calls are answered with JSON. subscriptions/listen opens a stream of server-sent events. " +
			"tools/list returns the tools that the key may call.",
		"security": []object{{"key": []string{}}, {"bearer": []string{}}},
		"requestBody": object{
			"required": true, "content": object{fiber.MIMEApplicationJSON: object{"schema": message()}},
		},
		"responses": responses,
	}
}

func clientParameters(headers []string) []object {
	text := object{"type": "string", "maxLength": event.MaxWebsiteIDLen}
	all := []object{
		{
			"name":        "website_id",
			"in":          "query",
			"schema":      text,
			"description": "Client id of the website, or with a key also its id.",
		},
		{"name": "client_id", "in": "query", "schema": text, "description": "Alias of website_id, used if website_id is " +
			"absent."},
	}
	for _, name := range headers {
		all = append(all, object{
			"name":        name,
			"in":          "header",
			"schema":      text,
			"description": "Client id, used if neither the query string nor the body has one.",
		})
	}
	return all
}

// rejectionCodes are those with which events may be rejected.
var rejectionCodes = []apierr.Code{
	apierr.Validation, apierr.WebsiteMissingOrganization, apierr.AuthRequired, apierr.QuotaExceeded, apierr.Forbidden,
	apierr.AccessDenied,
	apierr.OriginNotAuthorized, apierr.IPNotAuthorized, apierr.WebsiteNotFound, apierr.PayloadTooLarge, apierr.RateLimited,
	apierr.Internal, apierr.BillingUnavailable, apierr.ServiceUnavailable, apierr.DeliveryUnavailable,
	apierr.DeadlineExceeded,
}

// describeRejections adds those of a kind to the responses of a route, by status.
func describeRejections(responses object, are func(httpkit.Row) bool) {
	text, whole := object{"type": "string"}, object{"type": "integer"}
	for _, code := range rejectionCodes {
		row := httpkit.RowOf(code)
		if !are(row) {
			continue
		}
		says := "`" + string(code) + "`: " + row.Meaning
		status := strconv.Itoa(row.Status)
		if before, ok := responses[status].(object); ok {
			before["description"] = fmt.Sprint(before["description"], "\n\n", says)
			continue
		}
		response := responseOf(says, fiber.MIMEApplicationJSON, object{"$ref": "#/components/schemas/Error"})
		with := object{"X-Request-Id": object{"schema": text, "description": "Id of the request in the host's log."}}
		if row.RetryAfter > 0 {
			with[fiber.HeaderRetryAfter] = object{"schema": whole, "description": "Seconds to wait."}
		}
		if row.Status == fiber.StatusTooManyRequests {
			with["X-RateLimit-Limit"] = object{"schema": whole, "description": "Requests allowed in the window."}
			with["X-RateLimit-Remaining"] = object{"schema": whole, "description": "Requests left in the window."}
			with["X-RateLimit-Reset"] = object{"schema": whole, "description": "Time at which the window has room again, in " +
				"Unix milliseconds."}
		}
		response["headers"] = with
		responses[status] = response
	}
}

// pixelTopics says where the pixel's events go.
func pixelTopics() string {
	var all []string
	for _, t := range PixelTypes {
		all = append(all, "`"+t.Name+"` to "+t.Topic)
	}
	return "The `type` of an event selects its topic: " + strings.Join(all, ", ") +
		". The default type is `" + PixelTypes[0].Name +
		"`. A parameter without a value counts as absent, unless its field is required."
}

// pixelParameters are the fields of the forms that the pixel takes, as a query holds
// them.
func pixelParameters() []object {
	var types []string
	for _, t := range PixelTypes {
		types = append(types, t.Name)
	}
	all := []object{{
		"name":        "type",
		"in":          "query",
		"schema":      object{"enum": types},
		"description": "Type of the event; " + types[0] + " if absent.",
	}}
	known := map[string]bool{"type": true}
	for _, t := range PixelTypes {
		for i := range t.In.Form.Fields {
			f := &t.In.Form.Fields[i]
			if !known[f.Name] {
				known[f.Name] = true
				all = append(all, object{"name": f.Name, "in": "query", "schema": object{"type": "string"}, "description": f.Note})
			}
		}
	}
	return all
}

func bodySchema(in *ingest.Route) object {
	one := object{"$ref": "#/components/schemas/" + schemaName(in.Form)}
	many := object{"type": "array", "items": one, "minItems": 1}
	switch in.Shape {
	case event.One:
		return one
	case event.Many:
		return many
	default:
		return object{"oneOf": []object{one, many}}
	}
}

// formSchema describes the items of a form.
func formSchema(f *event.Form) object {
	properties, required := object{}, []string{}
	for i := range f.Fields {
		field := &f.Fields[i]
		properties[field.Name] = fieldSchema(field)
		if field.Required {
			required = append(required, field.Name)
		}
	}
	s := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// jsonTypes are the JSON types of the types of fields.
var jsonTypes = map[event.Type][]string{
	event.Number: {"number"}, event.Integer: {"integer"}, event.Millis: {"number"}, event.Time: {"number", "string"},
	event.Choice: {"boolean", "string"}, event.Object: {"object"}, event.Traits: {"object"},
}

func fieldSchema(f *event.Field) object {
	types := jsonTypes[f.Type]
	if types == nil {
		types = []string{"string"}
	}
	if !f.Required {
		types = append(slices.Clip(types), "null")
	}
	s := object{"type": types}
	if f.Note != "" {
		s["description"] = f.Note
	}
	switch f.Type {
	case event.Object:
		s["maxProperties"] = event.MaxPropertiesKeys
	case event.Traits:
		s["maxProperties"] = event.MaxPropertiesKeys
		s["additionalProperties"] = object{"type": []string{"string", "number", "boolean", "null"}}
	case event.Number, event.Integer, event.Millis:
		if f.Min != math.MinInt64 {
			s["minimum"] = f.Min
		}
		if f.Max > 0 {
			s["maximum"] = f.Max
		}
	case event.Text, event.Address, event.Referral:
		if f.Min > 0 {
			s["minLength"] = f.Min
		}
		if !f.Cut {
			s["maxLength"] = f.Max
		}
	default:
	}
	if len(f.Words) > 0 {
		words := make([]any, 0, len(f.Words)+2)
		for _, w := range f.Words {
			words = append(words, w)
		}
		if f.Min == 0 {
			words = append(words, "") // which is none
		}
		if !f.Required {
			words = append(words, nil)
		}
		s["enum"] = words
	}
	return s
}

// errorSchema is the error body of the host.
func errorSchema() object {
	text, whole := object{"type": "string"}, object{"type": "integer"}
	return object{
		"type":     "object",
		"required": []string{"success", "status", "error", "message", "code", "retryable", "requestId"},
		"properties": object{
			"success": object{"const": false}, "status": object{"const": "error"},
			"error": text, "message": text, "code": text, "retryable": object{"type": "boolean"}, "requestId": text, "fix": text,
			"errors": problemsSchema(),
			"limit":  whole, "remaining": whole, "reset": whole, "retryAfter": whole,
		},
	}
}

// problemsSchema is what is wrong with events.
func problemsSchema() object {
	text := object{"type": "string"}
	return object{"type": "array", "items": object{
		"type": "object", "required": []string{"field", "code", "message"},
		"properties": object{"index": object{"type": "integer"}, "field": text, "code": text, "message": text},
	}}
}
