package rpc

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/tenant/auth"
)

// Section is a resource as the reference tells of it.
type Section struct {
	Name, Summary string
	Entries       []Entry
}

// Entry is an operation as the reference tells of it.
type Entry struct {
	ID, Name, Method, Path, Summary, Detail string

	Facts         []Fact
	Input, Output []Line
	// Returns is the schema of data, or of its elements if Many is set; empty for none.
	Returns string
	Many    bool
}

// Fact is something that holds of an operation.
type Fact struct{ Name, Text string }

// Line is a field of a body: its path, type and rules in words.
type Line struct {
	Name, Type, Rule, Doc string
	Required              bool
	// Object is the schema of an object, or of a list's objects, whose fields follow; empty for others.
	Object string
}

// Reference returns what people read about the operations of a table that the
// document describes.
func (d *Document) Reference(resources []Resource) []Section {
	sections := make([]Section, len(resources))
	for i := range resources {
		res := &resources[i]
		sections[i] = Section{Name: res.Name, Summary: res.Summary}
		for j := range res.Operations {
			sections[i].Entries = append(sections[i].Entries, d.entry(res, &res.Operations[j]))
		}
	}
	return sections
}

func (d *Document) entry(res *Resource, o *Operation) Entry {
	op := d.api.Paths[Path(res.Name, o.Name)].Post
	e := Entry{
		ID: op.OperationID, Name: o.Name, Method: fiber.MethodPost, Path: op.Path, Summary: o.Summary, Detail: o.Detail,
		Input: d.lines("", op.RequestBody.Content[fiber.MIMEApplicationJSON].Schema, nil),
		Facts: facts(o),
	}
	if o.streamed == nil {
		response := op.Responses[strconv.Itoa(o.Status())].Content[fiber.MIMEApplicationJSON].Schema
		data := response.Properties["data"]
		e.Output = d.lines("data", data, nil)
		e.Returns, e.Many = d.object(data), d.resolve(data).Type == huma.TypeArray
	}
	return e
}

func facts(o *Operation) []Fact {
	row := o.Class.Row()
	all := []Fact{{"People", People(row)}, {"API keys", KeysOf(row)}, {"Limit", o.Limit.String()}}
	if o.Audit != "" {
		all = append(all, Fact{"Audit", o.Audit})
	}
	if o.repeats() {
		all = append(all, Fact{"Idempotency-Key", "taken"})
	}
	if o.streamed != nil {
		all = append(all, Fact{"Answer", "streamed: " + strings.Join(o.streamed.ContentTypes, ", ")})
		all = append(all, fields("Header", o.streamed.Header)...)
		all = append(all, fields("Trailer", o.streamed.Trailers)...)
	}
	return all
}

// fields are the header fields of a streamed response, by their names.
func fields(kind string, docs map[string]string) []Fact {
	var all []Fact
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		all = append(all, Fact{kind + " " + name, docs[name]})
	}
	return all
}

// People says in words which signed-in people a class admits.
func People(row *auth.ClassRow) string {
	switch {
	case row.Class == auth.Public:
		return "anybody"
	case row.Role == "":
		return "signed in"
	default:
		return string(row.Role) + " or more"
	}
}

// KeysOf says in words which API keys a class admits.
func KeysOf(row *auth.ClassRow) string {
	switch {
	case row.Class == auth.Public:
		return "any"
	case len(row.Scopes) == 0:
		return "none"
	}
	names := make([]string, len(row.Scopes))
	for i, s := range row.Scopes {
		names[i] = string(s)
	}
	text := strings.Join(names, " or ")
	if row.Global {
		text += ", for the whole organization"
	}
	return text
}

// lines flattens a schema into its fields, required ones first. above are the
// types around it, so that one that holds itself ends.
func (d *Document) lines(path string, s *huma.Schema, above []*huma.Schema) []Line {
	s = d.resolve(s)
	if slices.Contains(above, s) {
		return nil
	}
	above = append(above, s)
	switch {
	case s.Type == huma.TypeArray:
		return d.lines(path+"[]", s.Items, above)
	case s.Type != huma.TypeObject:
		return nil
	}
	names := slices.SortedFunc(maps.Keys(s.Properties), func(a, b string) int {
		return cmp.Or(cmp.Compare(optional(s, a), optional(s, b)), cmp.Compare(a, b))
	})
	var all []Line
	for _, name := range names {
		field := s.Properties[name]
		target := d.resolve(field)
		at := member(path, name)
		all = append(all, Line{
			Name: at, Type: d.typeOf(target), Rule: rulesOf(target), Required: optional(s, name) == 0,
			Doc: cmp.Or(field.Description, target.Description), Object: d.object(field),
		})
		all = append(all, d.lines(at, target, above)...)
	}
	return all
}

func optional(s *huma.Schema, name string) int {
	if slices.Contains(s.Required, name) {
		return 0
	}
	return 1
}

func (d *Document) resolve(s *huma.Schema) *huma.Schema {
	for s.Ref != "" {
		s = d.api.Components.Schemas.SchemaFromRef(s.Ref)
	}
	return s
}

// object returns the name of the schema of an object with fields, or of a list's elements; empty
// for all else.
func (d *Document) object(s *huma.Schema) string {
	resolved := d.resolve(s)
	switch {
	case resolved.Type == huma.TypeArray:
		return d.object(resolved.Items)
	case len(resolved.Properties) == 0:
		return ""
	}
	return strings.TrimPrefix(s.Ref, schemas)
}

func (d *Document) typeOf(s *huma.Schema) string {
	text := s.Type
	if s.Type == huma.TypeArray {
		text = "list of " + d.typeOf(d.resolve(s.Items))
	}
	if s.Format == "date-time" {
		text = "time"
	}
	if s.Nullable {
		text += " or null"
	}
	return cmp.Or(text, "anything")
}

// rulesOf says the bounds of a value.
func rulesOf(s *huma.Schema) string {
	var rules []string
	add := func(has bool, format string, args ...any) {
		if has {
			rules = append(rules, fmt.Sprintf(format, args...))
		}
	}
	add(len(s.Enum) > 0, "%s", choices(s.Enum))
	add(s.MinLength != nil && s.MaxLength != nil, "%d to %d characters", value(s.MinLength), value(s.MaxLength))
	add(s.MinLength == nil && s.MaxLength != nil, "at most %d characters", value(s.MaxLength))
	add(s.Minimum != nil && s.Maximum != nil, "%s to %s", plain(s.Minimum), plain(s.Maximum))
	add(s.MinItems != nil && s.MaxItems != nil, "%d to %d items", value(s.MinItems), value(s.MaxItems))
	add(s.MinItems == nil && s.MaxItems != nil, "at most %d items", value(s.MaxItems))
	add(s.Default != nil, "default %v", s.Default)
	if s.Type == huma.TypeArray {
		add(s.Items.MaxLength != nil, "each at most %d characters", value(s.Items.MaxLength))
		add(len(s.Items.Enum) > 0, "each %s", choices(s.Items.Enum))
	}
	return strings.Join(rules, "; ")
}

// plain writes a bound without an exponent.
func plain(p *float64) string { return strconv.FormatFloat(value(p), 'f', -1, 64) }

func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
