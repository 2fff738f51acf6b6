package flagapi

import (
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/api/rpc"
)

// Describe is what the OpenAPI document says about the routes.
func Describe() []rpc.Route {
	all := []rpc.Route{streamRoute, ofrepBulkRoute, ofrepFlagRoute}
	for i := range Routes {
		all = append(all, func(huma.Registry) *huma.Operation { return describe(&Routes[i]) })
	}
	return slices.Concat(all, []rpc.Route{describeExposures})
}

func describe(r *Route) *huma.Operation {
	name := strings.TrimPrefix(r.Path, prefix+"/")
	op := &huma.Operation{
		Method: fiber.MethodGet, Path: r.Path, OperationID: "flags.public." + name, Tags: []string{"flags"},
		Summary: strings.TrimSuffix(r.Help, "."), Description: r.detail, Responses: r.responses(),
		Security: []map[string][]string{{"key": {}}, {"bearer": {}}, {}},
	}
	if r.Scope != "" {
		op.Security = []map[string][]string{{"key": {string(r.Scope)}}, {"bearer": {string(r.Scope)}}}
	}
	for _, p := range append([]param{paramClient}, r.needs...) {
		op.Parameters = append(op.Parameters, p.described(true))
	}
	for _, p := range r.takes {
		op.Parameters = append(op.Parameters, p.described(false))
	}
	if r.Scope == "" {
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: fiber.HeaderIfNoneMatch, In: "header", Schema: rpc.Text(""),
			Description: "ETag of a response that the caller has.",
		})
	}
	return op
}

func (p param) described(required bool) *huma.Param {
	row := &paramRows[p]
	schema := &huma.Schema{Type: huma.TypeString}
	if row.most > 0 {
		schema.MaxLength = new(row.most)
	}
	return &huma.Param{Name: row.name, In: "query", Required: required, Description: row.help, Schema: schema}
}

// responded are the responses of a route: a success, and the error that everything else is.
func responded(success *huma.Schema) map[string]*huma.Response {
	return map[string]*huma.Response{
		"200":     {Description: "Success.", Content: rpc.JSON(success)},
		"default": {Ref: "#/components/responses/Error"},
	}
}

// named adds that answers are named by an ETag.
func named(all map[string]*huma.Response) map[string]*huma.Response {
	all["200"].Headers = map[string]*huma.Param{fiber.HeaderETag: {Description: "Identifies the " +
		"result.", Schema: rpc.Text("")}}
	all["304"] = &huma.Response{Description: "The result has not changed: If-None-Match has its ETag."}
	return all
}

func resultSchema() *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString, Description: "Reason for the result."}
	for _, reason := range append(reasons[:], errorReason) {
		if !slices.Contains(s.Enum, any(reason)) {
			s.Enum = append(s.Enum, reason)
		}
	}
	return rpc.Object([]string{"enabled", "value", "payload", "reason"}, map[string]*huma.Schema{
		"enabled": {
			Type:        huma.TypeBoolean,
			Description: "Value of a boolean flag. For other types, whether the flag exists and its prerequisites are met.",
		},
		"value":   {Description: "Served value, of the flag's type; false if the flag does not exist."},
		"payload": {Description: "Payload of the variant; null if it has none or enabled is false."},
		"reason":  s,
		"variant": rpc.Text("Key of the served variant; absent if the flag does not exist."),
	})
}

func evaluateResponses() map[string]*huma.Response {
	all := named(responded(resultSchema()))
	all["500"] = &huma.Response{
		Description: "The evaluation failed; the reason is " + errorReason + ".", Content: rpc.JSON(resultSchema()),
	}
	return all
}

func bulkResponses() map[string]*huma.Response {
	return named(responded(rpc.Object([]string{"flags", "count", "timestamp"}, map[string]*huma.Schema{
		"flags": {
			Type: huma.TypeObject, AdditionalProperties: resultSchema(),
			Description: "Results by flag key. Flags that do not exist are absent.",
		},
		"count": rpc.Integer("Number of results."), "timestamp": {Type: huma.TypeString, Format: "date-time"},
	})))
}

func definitionsResponses() map[string]*huma.Response {
	object := &huma.Schema{Type: huma.TypeObject}
	return responded(rpc.Object([]string{"count", "flags", "segments"}, map[string]*huma.Schema{
		"count": rpc.Integer("How many flags there are."), "flags": rpc.ListOf(object, "As flags/get tells them."),
		"segments": rpc.ListOf(object, "As segments/get tells them."),
	}))
}
