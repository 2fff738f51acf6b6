package rpc

import (
	"maps"

	"github.com/danielgtaylor/huma/v2"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/idempotency"
)

// Info is what a document says about the whole host.
type Info struct {
	Title, Version, Description string
	// Server is the public URL of the host; empty means that the document's own
	// address tells.
	Server string
	// CookieName is the name of the session's cookie.
	CookieName string
}

func (i Info) openapi() *huma.OpenAPI {
	api := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: i.Title, Version: i.Version, Description: i.Description,
		},
		Components: &huma.Components{
			Schemas: huma.NewMapRegistry(schemas, huma.DefaultSchemaNamer),
			SecuritySchemes: map[string]*huma.SecurityScheme{
				"key":     {Type: "apiKey", In: "header", Name: "x-api-key", Description: "API key."},
				"bearer":  {Type: "http", Scheme: "bearer", Description: "The same API key as a bearer token."},
				"session": {Type: "apiKey", In: "cookie", Name: i.CookieName, Description: "Cookie that session/signIn sets."},
			},
			Parameters: map[string]*huma.Param{"IdempotencyKey": {
				Name: headerIdempotencyKey, In: "header",
				Description: "Unique key of this call, chosen by the caller. A second call with the same key and body within 24 " +
					"hours is not executed: it returns the first response.",
				Schema: &huma.Schema{Type: huma.TypeString, MinLength: new(1), MaxLength: new(idempotency.MaxKeyLen)},
			}},
			Responses: map[string]*huma.Response{"Error": {
				Description: "The call failed; `code` has the reason.", Content: JSON(errorSchema()),
			}},
		},
	}
	if i.Server != "" {
		api.Servers = []*huma.Server{{URL: i.Server}}
	}
	return api
}

const (
	headerIdempotencyKey = "Idempotency-Key"
	// headerReplayed marks the response to a call that was made before.
	headerReplayed = "Idempotency-Replayed"
)

// errorSchema is the error body of specification 7.1, as httpkit writes it.
func errorSchema() *huma.Schema {
	codes := make([]any, 0, len(httpkit.Codes))
	for _, row := range httpkit.Codes {
		codes = append(codes, string(row.Code))
	}
	problem := Object([]string{"field", "message"}, map[string]*huma.Schema{
		"field":      Text("Path of the field, such as settings.allowedOrigins[2]."),
		"message":    Text("The violated rule."),
		"suggestion": Text("Suggested correction."),
	})
	fields := map[string]*huma.Schema{
		"success":   Boolean(false),
		"error":     Text("Error message for people."),
		"code":      {Type: huma.TypeString, Enum: codes},
		"requestId": Text("Id of the request, as in the header X-Request-ID."),
		"details":   ListOf(problem, "Problems of a rejected body ("+string(apierr.Validation)+")."),
	}
	maps.Copy(fields, RateFields())
	return Object([]string{"success", "error", "code", "requestId"}, fields)
}

// RateFields are what an error body says more when a limit of rate is used up
// (specification 7.4), on both hosts.
func RateFields() map[string]*huma.Schema {
	return map[string]*huma.Schema{
		"limit":      Integer("Requests allowed in the window (" + string(apierr.RateLimited) + ")."),
		"remaining":  Integer("Requests left in the window."),
		"reset":      Integer("Time at which the window has room again, in Unix milliseconds."),
		"retryAfter": Integer("Seconds to wait."),
	}
}
