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
			"All flags that the caller sees, also those that are off."),
		"metadata": {Type: huma.TypeObject},
		"eventStreams": rpc.ListOf(rpc.Object([]string{"type", "inactivityDelaySec"}, map[string]*huma.Schema{
			"type": rpc.Text("sse."), "url": rpc.Text("Where changes are told."),
			"endpoint": {
				Type:        huma.TypeObject,
				Description: "The same as requestUri on this host, where the host knows no address of its own.",
			},
			"inactivityDelaySec": rpc.Integer("After how long in the background a client may go away."),
		}), "Where the caller is told of changes."),
	}), failureSchema()))
	op := protocol(all, "flags.ofrep.bulk", pathOFREP, "Evaluates all flags, by "+protocolName)
	op.Description = "A flag that is off is answered with its off variant. " +
		"One that is served to a part of all people is an entry with " +
		targetingKeyMissing + " where the context names nobody."
	op.Parameters = append(op.Parameters,
		optional("query", paramSeen, "The etag of the event after which the caller asks: "+
			"newer flags are waited for, up to a second."),
		optional("header", fiber.HeaderIfNoneMatch, "The ETag of an answer that the caller has."),
	)
	return op
}

func ofrepFlagRoute(huma.Registry) *huma.Operation {
	all := named(protocolResponses(servedSchema(), failureSchema("key")))
	op := protocol(all, "flags.ofrep.flag", pathOFREPFlag, "Evaluates one flag, by "+protocolName)
	op.Description = "A flag that is off is answered with its off variant. " +
		"A flag that is not there, or that the caller may not see, is 404 with " + flagNotFound + "."
	op.Parameters = append(op.Parameters, inPath(pathKey, paramRows[paramKey].help))
	return op
}

// protocol is an operation of the protocol.
func protocol(responses map[string]*huma.Response, id, path, summary string) *huma.Operation {
	context := &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: true, Description: "For whom: targetingKey is the user's id; " +
			"email, anonymousId, organizationId, teamId and environment are what they say; all else are attributes.",
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
		"200": {Description: "Done.", Content: rpc.JSON(success)},
		"default": {
			Description: "What went wrong. After a 429 or 503 wait for Retry-After.", Content: rpc.JSON(failure),
		},
	}
}

func servedSchema() *huma.Schema {
	reason := &huma.Schema{Type: huma.TypeString, Description: "Why; STATIC where nothing else could be served."}
	for _, is := range append(ofrepReasons[:], ofrepStatic) {
		if !slices.Contains(reason.Enum, any(is)) {
			reason.Enum = append(reason.Enum, is)
		}
	}
	return rpc.Object([]string{"key", "value", "reason", "variant", "metadata"}, map[string]*huma.Schema{
		"key": rpc.Text("The flag's key."), "value": {Description: "What is served, of the flag's type."},
		"reason": reason, "variant": rpc.Text("Which variant that is."),
		"metadata": rpc.Object([]string{"flagId", "version"}, map[string]*huma.Schema{
			"flagId": rpc.Text("The flag's id."), "version": rpc.Integer("How often it was changed."),
		}),
	})
}

// failureSchema is what went wrong; key is there about one flag.
func failureSchema(key ...string) *huma.Schema {
	code := &huma.Schema{
		Type: huma.TypeString, Enum: []any{general, parseError, invalidContext, targetingKeyMissing, flagNotFound},
	}
	of := map[string]*huma.Schema{"errorCode": code, "errorDetails": rpc.Text("What to do about it.")}
	for _, name := range key {
		of[name] = rpc.Text("The flag's key.")
	}
	return rpc.Object(append(key, "errorCode", "errorDetails"), of)
}

func streamRoute(huma.Registry) *huma.Operation {
	op := &huma.Operation{
		Method: fiber.MethodGet, Path: pathStream, OperationID: "flags.public.stream", Tags: []string{"flags"},
		Security: openly,
		Summary:  "Tells when flags are to be asked for again, as server-sent events",
		Description: "An event has data of {type: refetchEvaluation, etag, lastModified}: " +
			"something that the caller sees was changed, or a schedule or a step of a ramp has come. " +
			"What is sent every 25 s is a comment. Up to 50 streams of a website and an address are open at a time.",
		Parameters: []*huma.Param{
			paramClient.described(true),
			optional("query", paramSince, "What the caller has seen, as eventStreams of a bulk evaluation says it: "+
				"an event comes at once where that is not current."),
			optional("header", headerLastEventID, "The id of the event that the caller has seen last; it goes before since."),
		},
		Responses: responded(nil),
	}
	op.Responses["200"].Content = map[string]*huma.MediaType{
		"text/event-stream": {}, // no JSON
	}
	return op
}
