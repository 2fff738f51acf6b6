package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Input checks inputs that have no operation of their own as those of operations are checked.
type Input struct {
	// Schema is the JSON schema, an object; nil for the input of an operation.
	Schema   json.RawMessage
	members  map[string]*huma.Schema
	compiled *jsonschema.Schema
}

// NewInput returns the input of a schema without references.
func NewInput(s *huma.Schema) (*Input, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(documentURL, parsed); err != nil {
		return nil, err
	}
	compiled, err := c.Compile(documentURL)
	if err != nil {
		return nil, fmt.Errorf("compiling an input: %w", err)
	}
	return &Input{text, s.Properties, compiled}, nil
}

// Input returns the input of an operation.
func (d *Document) Input(path string) *Input {
	body := d.resolve(d.api.Paths[path].Post.RequestBody.Content[fiber.MIMEApplicationJSON].Schema)
	return &Input{members: body.Properties, compiled: d.inputs[path]}
}

// Has reports whether inputs may have a member.
func (in *Input) Has(member string) bool { return in.members[member] != nil }

// Check decodes a body and returns its members. For a body that does not fit the schema, it returns a
// Validation error with all problems. For a body that is no JSON, it returns a Parse error.
func (in *Input) Check(body []byte) (map[string]any, error) {
	object, err := decode(body)
	if err != nil {
		return nil, err
	}
	_, err = check(in.compiled, object, nil)
	return object, err
}

// Body returns the schema of the body of a route, with references resolved in its members down to a
// depth; deeper objects are open. Of a body with a choice it is the first.
func (d *Document) Body(path string, depth int) *huma.Schema {
	item := d.api.Paths[path]
	if item == nil || item.Post == nil {
		return nil
	}
	s := d.resolve(item.Post.RequestBody.Content[fiber.MIMEApplicationJSON].Schema)
	if len(s.OneOf) > 0 {
		s = d.resolve(s.OneOf[0])
	}
	return d.reduce(s, depth)
}

// reduce copies a schema, without what a reader of the whole reference needs only.
func (d *Document) reduce(s *huma.Schema, depth int) *huma.Schema {
	if s == nil {
		return nil
	}
	s = d.resolve(s)
	to := &huma.Schema{
		Type: s.Type, Nullable: s.Nullable, Description: s.Description, Format: s.Format, Enum: s.Enum, Minimum: s.Minimum,
		Maximum: s.Maximum, MinLength: s.MinLength, MaxLength: s.MaxLength, MinItems: s.MinItems, MaxItems: s.MaxItems,
		Required: s.Required, OneOf: s.OneOf,
	}
	if depth == 0 {
		if s.Type == huma.TypeObject || s.Type == huma.TypeArray {
			return &huma.Schema{Type: s.Type, Nullable: s.Nullable, Description: s.Description}
		}
		return to
	}
	to.Items, to.OneOf = d.reduce(s.Items, depth-1), nil
	for _, one := range s.OneOf {
		to.OneOf = append(to.OneOf, d.reduce(one, depth-1))
	}
	if s.Type == huma.TypeObject {
		to.AdditionalProperties, to.Properties = s.AdditionalProperties, map[string]*huma.Schema{}
		for name, p := range s.Properties {
			to.Properties[name] = d.reduce(p, depth-1)
		}
	}
	return to
}
