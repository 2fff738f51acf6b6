package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/millrace/millrace/internal/tenant/auth"
)

// schemas is where a document keeps the types that it names.
const schemas = "#/components/schemas/"

// documentURL stands for the document while its schemas are compiled.
const documentURL = "file:///openapi.json"

// Document is the OpenAPI 3.1 description of a table of resources, and the
// schemas in it made ready to check bodies.
type Document struct {
	Text []byte // JSON

	info   Info
	api    *huma.OpenAPI
	inputs map[string]*jsonschema.Schema // by path
}

// arraysAreNeverNull sets huma's only switch for it, which is a variable.
var arraysAreNeverNull = sync.OnceFunc(func() { huma.DefaultArrayNullable = false })

// Route is what the document says about a route outside the registry.
type Route func(huma.Registry) *huma.Operation

// Describe makes the document of a table and of the routes beside it. It fails
// for a table with two operations of one name and for types that have no schema.
func Describe(info Info, resources []Resource, routes ...Route) (doc *Document, err error) {
	arraysAreNeverNull()
	defer func() { // huma panics about types that it cannot describe
		if p := recover(); p != nil {
			err = fmt.Errorf("describing the operations: %v", p)
		}
	}()
	doc = &Document{info: info, api: info.openapi(), inputs: map[string]*jsonschema.Schema{}}
	for _, route := range routes {
		doc.api.AddOperation(route(doc.api.Components.Schemas))
	}
	for i := range resources {
		for j := range resources[i].Operations {
			doc.api.AddOperation(describe(doc.api.Components.Schemas, &resources[i], &resources[i].Operations[j]))
		}
		doc.api.Tags = append(doc.api.Tags, &huma.Tag{Name: resources[i].Name, Description: resources[i].Summary})
	}
	for _, s := range doc.api.Components.Schemas.Map() {
		allowNull(s)
	}
	if doc.Text, err = json.Marshal(doc.api); err != nil {
		return nil, fmt.Errorf("writing the OpenAPI document: %w", err)
	}
	if err := doc.compile(); err != nil {
		return nil, err
	}
	return doc, nil
}

// allowNull lets null be a choice wherever null may be: of a field with both tags, huma
// says that its type may be null and that its value is one of the choices.
func allowNull(s *huma.Schema) {
	if s == nil {
		return
	}
	if s.Nullable && len(s.Enum) > 0 && !slices.Contains(s.Enum, nil) {
		s.Enum = append(s.Enum, nil)
	}
	allowNull(s.Items)
	for _, p := range s.Properties {
		allowNull(p)
	}
}

// Info returns what the document was made with.
func (d *Document) Info() Info { return d.info }

// compile makes the schemas of the inputs ready.
func (d *Document) compile() error {
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(d.Text))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(documentURL, parsed); err != nil {
		return err
	}
	for path, item := range d.api.Paths {
		if !strings.HasPrefix(path, prefix) {
			continue
		}
		ref := item.Post.RequestBody.Content[fiber.MIMEApplicationJSON].Schema.Ref
		if d.inputs[path], err = c.Compile(documentURL + ref); err != nil {
			return fmt.Errorf("compiling the input of %s: %w", path, err)
		}
	}
	return nil
}

// describe is what the document says about an operation.
func describe(r huma.Registry, res *Resource, o *Operation) *huma.Operation {
	op := &huma.Operation{
		Method: http.MethodPost, Path: Path(res.Name, o.Name), OperationID: res.Name + "." + o.Name,
		Tags: []string{res.Name}, Summary: o.Summary, Description: o.Detail,
		RequestBody: &huma.RequestBody{Content: JSON(r.Schema(o.in, true, ""))},
		Responses:   map[string]*huma.Response{},
		Security:    security(o.Class.Row()),
	}
	if o.repeats() {
		op.Parameters = []*huma.Param{{Ref: "#/components/parameters/IdempotencyKey"}}
	}
	if o.streamed != nil {
		op.Responses[strconv.Itoa(o.Status())] = o.streamed.response()
	} else {
		op.Responses[strconv.Itoa(o.Status())] = &huma.Response{Description: "Success.", Content: JSON(responseSchema(r, o))}
	}
	op.Responses["default"] = &huma.Response{Ref: "#/components/responses/Error"}
	return op
}

// security says which credentials an operation takes.
func security(row *auth.ClassRow) []map[string][]string {
	if row == nil || row.Class == auth.Public {
		return []map[string][]string{{}}
	}
	all := []map[string][]string{{"session": {}}}
	if len(row.Scopes) > 0 {
		scopes := make([]string, len(row.Scopes))
		for i, s := range row.Scopes {
			scopes[i] = string(s)
		}
		all = append(all, map[string][]string{"key": scopes}, map[string][]string{"bearer": scopes})
	}
	return all
}

// Object is the schema of an object with these fields and no others.
func Object(required []string, fields map[string]*huma.Schema) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: false, Required: required, Properties: fields}
}

// Text is the schema of a string.
func Text(doc string) *huma.Schema { return &huma.Schema{Type: huma.TypeString, Description: doc} }

// Integer is the schema of a whole number.
func Integer(doc string) *huma.Schema { return &huma.Schema{Type: huma.TypeInteger, Description: doc} }

// Boolean is the schema of a boolean that is always the same.
func Boolean(value bool) *huma.Schema {
	return &huma.Schema{Type: huma.TypeBoolean, Enum: []any{value}}
}

// ListOf is the schema of an array.
func ListOf(items *huma.Schema, doc string) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Items: items, Description: doc}
}

// responseSchema is the envelope around an operation's output.
func responseSchema(r huma.Registry, o *Operation) *huma.Schema {
	s := Object([]string{"success", "data", "requestId"}, map[string]*huma.Schema{
		"success": Boolean(true), "requestId": Text("Id of the request, as in the header X-Request-ID."),
	})
	if item, ok := itemOf(o.out); ok {
		s.Properties["data"] = ListOf(r.Schema(item, true, ""), "")
		s.Properties["pagination"] = r.Schema(reflect.TypeFor[pagination](), true, "")
		s.Required = append(s.Required, "pagination")
		return s
	}
	s.Properties["data"] = r.Schema(o.out, true, "")
	return s
}

// itemOf returns the record type of a list.
func itemOf(out reflect.Type) (reflect.Type, bool) {
	if !reflect.PointerTo(out).Implements(reflect.TypeFor[page]()) {
		return nil, false
	}
	f, _ := out.FieldByName("Items")
	return f.Type.Elem(), true
}

// JSON is the content of a body of a schema.
func JSON(s *huma.Schema) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{fiber.MIMEApplicationJSON: {Schema: s}}
}
