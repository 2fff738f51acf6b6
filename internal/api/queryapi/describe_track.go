package queryapi

import (
	"maps"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/tenant/auth"
)

func trackRoute(ingest string) rpc.Route {
	return func(huma.Registry) *huma.Operation {
		op := &huma.Operation{
			Method: fiber.MethodPost, Path: "/track", OperationID: "track", Tags: []string{"ingestion"},
			Summary: "Send one event or a list of events",
			Parameters: []*huma.Param{{
				Name: "website_id", In: "query", Schema: &huma.Schema{Type: huma.TypeString},
				Description: "Client id of the website, or its id with a key. If absent, the websiteId of the first event is used.",
			}},
			RequestBody: &huma.RequestBody{Required: true, Content: rpc.JSON(&huma.Schema{OneOf: []*huma.Schema{
				eventSchema(), {Type: huma.TypeArray, Items: eventSchema(), MinItems: new(1)},
			}})},
			Responses: responses("", rpc.Object([]string{"status", "type", "count"}, map[string]*huma.Schema{
				"status": {Type: huma.TypeString, Enum: []any{"success"}},
				"type":   {Type: huma.TypeString, Enum: []any{"custom_event"}},
				"count":  rpc.Integer("Number of accepted events, including duplicates."),
			})),
			Security: append(credentials(auth.ScopeTrackEvents), map[string][]string{}),
		}
		op.Responses["default"] = &huma.Response{
			Description: "No event was accepted; `code` has the reason.", Content: rpc.JSON(ingestionError()),
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
			"timestamp":           {Description: "Unix milliseconds or a date-time; the time of receipt if absent."},
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
		"index": rpc.Integer("Index of the event in the batch."), "field": rpc.Text(""), "code": rpc.Text(""),
		"message": rpc.Text(""),
	})
	fields := map[string]*huma.Schema{
		"success": rpc.Boolean(false), "status": {Type: huma.TypeString, Enum: []any{"error"}},
		"error": rpc.Text("Error message for people."), "message": rpc.Text("The same."),
		"code": rpc.Text(""), "retryable": {Type: huma.TypeBoolean}, "requestId": rpc.Text(""),
		"fix": rpc.Text("How to fix the problem."), "errors": rpc.ListOf(problem, "Problems of a rejected body."),
	}
	maps.Copy(fields, rpc.RateFields())
	return rpc.Object([]string{"success", "status", "error", "message", "code", "retryable", "requestId"}, fields)
}
