package flagapi

import (
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/api/rpc"
)

const protocolName = "the OpenFeature Remote Evaluation Protocol 0.3.0"

// openly is who may call: everybody, or a key.
var openly = []map[string][]string{{"key": {}}, {"bearer": {}}, {}}

func ofrepBulkRoute(huma.Registry) *huma.Operation {
	all := named(protocolResponses(rpc.Object([]string{"flags", "metadata", "eventStreams"}, map[string]*huma.Schema{
		"flags": rpc.ListOf(&huma.Schema{OneOf: []*huma.Schema{servedSchema(), failureSchema("key")}},
			"All flags that the caller can access, including flags that are off."),
		"metadata": {Type: huma.TypeObject},
		"eventStreams": rpc.ListOf(rpc.Object([]string{"type", "inactivityDelaySec"}, map[string]*huma.Schema{
			"type": rpc.Text("sse."), "url": rpc.Text("URL of the stream of changes."),
			"endpoint": {
				Type:        huma.TypeObject,
				Description: "The URL in parts. Present if the host has no configured public URL.",
			},
			"inactivityDelaySec": rpc.Integer("Seconds in the background after which a client may close the stream."),
		}), "Streams that report changes."),
	}), failureSchema()))
	op := protocol(all, "flags.ofrep.bulk", pathOFREP, "Evaluate all flags by "+protocolName)
	op.Description = "A flag that is off returns its off variant. A flag with a percentage rollout returns the error " +
		targetingKeyMissing + " if the context identifies no user."
	op.Parameters = append(op.Parameters,
		optional("query", paramSeen, "The etag of the last received event. The request waits up to a second for newer "+
			"flags."),
		optional("header", fiber.HeaderIfNoneMatch, "ETag of a response that the caller has."),
	)
	return op
}

func ofrepFlagRoute(huma.Registry) *huma.Operation {
	all := named(protocolResponses(servedSchema(), failureSchema("key")))
	op := protocol(all, "flags.ofrep.flag", pathOFREPFlag, "Evaluate one flag by "+protocolName)
	op.Description = "A flag that is off returns its off variant. Returns 404 if the flag does not " +
		"exist or the caller cannot access it; the error code is " + flagNotFound + "."
	op.Parameters = append(op.Parameters, inPath(pathKey, paramRows[paramKey].help))
	return op
}

// protocol is an operation of the protocol.
func protocol(responses map[string]*huma.Response, id, path, summary string) *huma.Operation {
	context := &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: true, Description: "Context of the evaluation. targetingKey is the " +
			"user's id. email, anonymousId, organizationId, teamId and environment have their usual meaning. All other " +
			"members are attributes.",
	}
	body := rpc.Object(nil, map[string]*huma.Schema{"context": context})
	return &huma.Operation{
		Method: fiber.MethodPost, Path: documented(path), OperationID: id, Tags: []string{"flags"}, Summary: summary,
		Security: openly, Responses: responses,
		Parameters:  []*huma.Param{inPath(pathClient, paramRows[paramClient].help)},
		RequestBody: &huma.RequestBody{Content: rpc.JSON(body), Description: "At most 64 KiB."},
	}
}

func optional(in, name, description string) *huma.Param {
	return &huma.Param{Name: name, In: in, Schema: rpc.Text(""), Description: description}
}

func inPath(name, description string) *huma.Param {
	return &huma.Param{Name: name, In: "path", Required: true, Schema: rpc.Text(description)}
}

// documented is a path as OpenAPI has it.
func documented(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if name, is := strings.CutPrefix(part, ":"); is {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}

func protocolResponses(success, failure *huma.Schema) map[string]*huma.Response {
	return map[string]*huma.Response{
		"200": {Description: "Success.", Content: rpc.JSON(success)},
		"default": {
			Description: "The request failed. After a 429 or 503, wait for Retry-After.", Content: rpc.JSON(failure),
		},
	}
}

func servedSchema() *huma.Schema {
	reason := &huma.Schema{Type: huma.TypeString, Description: "Reason for the value; STATIC if no other value is " +
		"possible."}
	for _, is := range append(ofrepReasons[:], ofrepStatic) {
		if !slices.Contains(reason.Enum, any(is)) {
			reason.Enum = append(reason.Enum, is)
		}
	}
	return rpc.Object([]string{"key", "value", "reason", "variant", "metadata"}, map[string]*huma.Schema{
		"key": rpc.Text("The flag's key."), "value": {Description: "Served value, of the flag's type."},
		"reason": reason, "variant": rpc.Text("Key of the served variant."),
		"metadata": rpc.Object([]string{"flagId", "version"}, map[string]*huma.Schema{
			"flagId": rpc.Text("The flag's id."), "version": rpc.Integer("Number of changes to the flag."),
		}),
	})
}

// failureSchema is what went wrong; key is there about one flag.
func failureSchema(key ...string) *huma.Schema {
	code := &huma.Schema{
		Type: huma.TypeString, Enum: []any{general, parseError, invalidContext, targetingKeyMissing, flagNotFound},
	}
	of := map[string]*huma.Schema{"errorCode": code, "errorDetails": rpc.Text("Remedy for the error.")}
	for _, name := range key {
		of[name] = rpc.Text("The flag's key.")
	}
	return rpc.Object(append(key, "errorCode", "errorDetails"), of)
}

func streamRoute(huma.Registry) *huma.Operation {
	op := &huma.Operation{
		Method: fiber.MethodGet, Path: pathStream, OperationID: "flags.public.stream", Tags: []string{"flags"},
		Security: openly,
		Summary:  "Stream change notifications as server-sent events",
		Description: "The data of an event is {type: refetchEvaluation, etag, lastModified}. An event follows a change of " +
			"a flag or segment that the caller can access, the start or end of a schedule, and a step of a progressive " +
			"rollout. The stream sends a comment every 25 s. A website allows up to 50 open streams from one IP address.",
		Parameters: []*huma.Param{
			paramClient.described(true),
			optional("query", paramSince, "The caller's last known state, copied from eventStreams of a bulk evaluation. "+
				"If it is outdated, the stream sends an event at once."),
			optional("header", headerLastEventID, "Id of the last received event; overrides since."),
		},
		Responses: responded(nil),
	}
	op.Responses["200"].Content = map[string]*huma.MediaType{
		"text/event-stream": {}, // no JSON
	}
	return op
}
