package rpc

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/millrace/millrace/internal/tenant/auth"
)

// Stub replaces the handlers of a table by one that does nothing but say that it
// was reached.
func Stub(resources []Resource, reached func(auth.Class, *Call)) {
	for i := range resources {
		for j := range resources[i].Operations {
			o := &resources[i].Operations[j]
			o.run = func(_ context.Context, call *Call, _ []byte) (any, error) {
				reached(o.Class, call)
				return Empty{}, nil
			}
		}
	}
}

// Watch has the handlers of a table say that they were reached.
func Watch(resources []Resource, reached func()) {
	for i := range resources {
		for j := range resources[i].Operations {
			run := resources[i].Operations[j].run
			resources[i].Operations[j].run = func(ctx context.Context, call *Call, body []byte) (any, error) {
				reached()
				return run(ctx, call, body)
			}
		}
	}
}

// Check holds a decoded body against the input of an operation, as calls do.
func (d *Document) Check(path string, body map[string]any) error {
	_, err := check(d.inputs[path], body, nil)
	return err
}

// CheckByHuma is Check by the library that writes the document, in its own words.
func (d *Document) CheckByHuma(path string, body map[string]any) []error {
	r := d.api.Components.Schemas
	schema := r.SchemaFromRef(d.api.Paths[path].Post.RequestBody.Content["application/json"].Schema.Ref)
	var found huma.ValidateResult
	huma.Validate(r, schema, huma.NewPathBuffer([]byte{}, 0), huma.ModeWriteToServer, body, &found)
	return found.Errors
}
