package apitest

import (
	"bytes"
	_ "embed"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// metaSchema is the OpenAPI Initiative's own schema of OpenAPI 3.1 documents
// (https://spec.openapis.org/oas/3.1/schema), under the Apache License 2.0.
//
//go:embed testdata/openapi-3.1.json
var metaSchema []byte

const documentURL = "file:///openapi.json"

// OpenAPI is a document that answers are held against. It is safe for concurrent
// use.
type OpenAPI struct {
	compiler *jsonschema.Compiler
	parsed   map[string]any

	mu      sync.Mutex
	schemas map[string]*jsonschema.Schema // by place in the document
}

// ParseOpenAPI reads a document and holds it against the schema of OpenAPI 3.1.
func ParseOpenAPI(text []byte) (*OpenAPI, error) {
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("reading the document: %w", err)
	}
	meta, err := jsonschema.UnmarshalJSON(bytes.NewReader(metaSchema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("meta.json", meta); err != nil {
		return nil, err
	}
	schema, err := c.Compile("meta.json")
	if err != nil {
		return nil, err
	}
	if err := schema.Validate(parsed); err != nil {
		return nil, fmt.Errorf("the document is no OpenAPI 3.1: %w", err)
	}
	if err := c.AddResource(documentURL, parsed); err != nil {
		return nil, err
	}
	object, _ := parsed.(map[string]any) // says the schema
	return &OpenAPI{compiler: c, parsed: object, schemas: map[string]*jsonschema.Schema{}}, nil
}

// Operations returns the method and path of every operation, such as "POST
// /track".
func (d *OpenAPI) Operations() []string {
	var all []string
	paths, _ := d.parsed["paths"].(map[string]any)
	for path, item := range paths {
		methods, _ := item.(map[string]any)
		for method := range methods {
			all = append(all, strings.ToUpper(method)+" "+path)
		}
	}
	return all
}

// Check says what of a response the document does not describe; nil when it fits.
// A response from a path or with a method that is in no document must be an
// error.
func (d *OpenAPI) Check(method, path string, status int, header http.Header, body []byte) error {
	if method == http.MethodOptions && status == http.StatusNoContent {
		return nil // browsers ask so, and no document has it
	}
	path = d.described(path)
	operation := d.find("paths", path, strings.ToLower(method))
	if operation == nil {
		if status < http.StatusBadRequest {
			return fmt.Errorf("%s %s answers %d and is not in the document", method, path, status)
		}
		return nil
	}
	place := []string{"paths", path, strings.ToLower(method), "responses", strconv.Itoa(status)}
	if d.find(place...) == nil {
		if status < http.StatusBadRequest {
			return fmt.Errorf("%s %s answers %d, which the document does not have", method, path, status)
		}
		place[4] = "default"
	}
	if ref, ok := d.find(append(place, "$ref")...).(string); ok {
		place = strings.Split(strings.TrimPrefix(ref, "#/"), "/")
	}
	if d.find(append(place, "content")...) == nil && len(body) == 0 {
		return nil // neither has one
	}
	media, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		return fmt.Errorf("%s %s: content type %q: %w", method, path, header.Get("Content-Type"), err)
	}
	if content, ok := d.find(append(place, "content", media)...).(map[string]any); ok && content["schema"] == nil {
		return nil // no JSON
	}
	schema, err := d.schema(append(place, "content", media, "schema"))
	if err != nil {
		return fmt.Errorf("%s %s answers %d: %w", method, path, status, err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s %s answers no JSON: %w", method, path, err)
	}
	if err := schema.Validate(parsed); err != nil {
		return fmt.Errorf("%s %s answers %d against the document: %w", method, path, status, err)
	}
	return nil
}

// parameter is one in a path, as regexp.QuoteMeta leaves it.
var parameter = regexp.MustCompile(`\\\{\w+\\\}`)

// described returns the path under which the document has that of a request: itself, or
// one with parameters that it fits.
func (d *OpenAPI) described(path string) string {
	paths, _ := d.parsed["paths"].(map[string]any)
	if paths[path] != nil {
		return path
	}
	for with := range paths {
		pattern := parameter.ReplaceAllString(regexp.QuoteMeta(with), "[^/]+")
		if regexp.MustCompile("^" + pattern + "$").MatchString(path) {
			return with
		}
	}
	return path
}

// find returns what stands at a place; nil for nothing.
func (d *OpenAPI) find(place ...string) any {
	var v any = d.parsed
	for _, name := range place {
		object, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = object[name]
	}
	return v
}

var escape = strings.NewReplacer("~", "~0", "/", "~1")

func (d *OpenAPI) schema(place []string) (*jsonschema.Schema, error) {
	if d.find(place...) == nil {
		return nil, fmt.Errorf("nothing at %s of the document", strings.Join(place, " "))
	}
	escaped := make([]string, len(place))
	for i, name := range place {
		escaped[i] = escape.Replace(name)
	}
	pointer := documentURL + "#/" + strings.Join(escaped, "/")
	d.mu.Lock()
	defer d.mu.Unlock()
	if s, ok := d.schemas[pointer]; ok {
		return s, nil
	}
	s, err := d.compiler.Compile(pointer)
	if err != nil {
		return nil, err
	}
	d.schemas[pointer] = s
	return s, nil
}

// Compile makes every schema of the document's components ready, which shows
// those that are none.
func (d *OpenAPI) Compile() error {
	components, _ := d.find("components", "schemas").(map[string]any)
	for name := range components {
		if _, err := d.schema([]string{"components", "schemas", name}); err != nil {
			return fmt.Errorf("compiling %s: %w", name, err)
		}
	}
	return nil
}
