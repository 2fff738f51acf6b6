package ingestapi

import (
	"slices"

	"github.com/gofiber/fiber/v2"
)

// Response is one kind of response of a route.
type Response struct {
	// Says is when it is given.
	Says string
	// Media is its content type; empty for one without a body.
	Media string
	// Schema is that of JSON; nil for what is none.
	Schema map[string]any
}

func (a *Response) describe() object { return responseOf(a.Says, a.Media, a.Schema) }

func responseOf(says, media string, schema object) object {
	if media == "" {
		return object{"description": says}
	}
	content := object{}
	if schema != nil {
		content["schema"] = schema
	}
	return object{"description": says, "content": object{media: content}}
}

// jsonResponse is a response of 200 with members that are always there.
func jsonResponse(members object) map[string]*Response {
	var names []string
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	return map[string]*Response{
		"200": {"Success.", fiber.MIMEApplicationJSON, object{"type": "object", "required": names, "properties": members}},
	}
}

// plainResponse is a response of 200 that is no JSON.
func plainResponse(media string) map[string]*Response {
	return map[string]*Response{"200": {"Success.", media, nil}}
}

// The responses of the routes.
var (
	success      = object{"const": "success"}
	okResponse   = jsonResponse(object{"status": object{"const": "ok"}})
	statusSchema = object{
		"type": "object", "required": []string{"status", "services"},
		"properties": object{
			"status": object{"enum": []string{"ok", "degraded"}},
			"services": object{"type": "object", "additionalProperties": object{
				"type": "object", "required": []string{"status", "latency_ms"},
				"properties": object{
					"status": object{"enum": []string{"ok", "error"}}, "latency_ms": object{"type": "number"},
					"code": object{"type": "string"},
				},
			}},
		},
	}
	statusResponses = map[string]*Response{
		"200": {"All services are available.", fiber.MIMEApplicationJSON, statusSchema},
		"503": {"A service is unavailable.", fiber.MIMEApplicationJSON, statusSchema},
	}
	scriptResponses = map[string]*Response{
		"200": {"Success.", "text/javascript", nil},
		"304": {"The script has not changed: If-None-Match has its ETag.", "", nil},
	}
	batchSchema = jsonResponse(object{
		"status": object{"enum": []string{"success", "partial", "error"}}, "batch": object{"const": true},
		"processed": object{"type": "integer"},
		"batched":   object{"type": "object", "additionalProperties": object{"type": "integer"}},
		"results": object{"type": "array", "items": object{
			"type": "object", "required": []string{"status"},
			"properties": object{
				"status": object{"enum": []string{"success", "error"}}, "type": object{"type": "string"},
				"eventId":   object{"type": "string"},
				"eventType": object{"type": "string"}, "message": object{"type": "string"}, "code": object{"type": "string"},
				"errors": problemsSchema(),
			},
		}},
	})
)

func countResponse(kind string) map[string]*Response {
	return jsonResponse(object{
		"status": success,
		"type":   object{"const": kind},
		"count":  object{"type": "integer", "description": "Number of accepted events, including duplicates."},
	})
}

func typeResponse(kinds ...string) map[string]*Response {
	return jsonResponse(object{"status": success, "type": object{"enum": kinds}})
}
