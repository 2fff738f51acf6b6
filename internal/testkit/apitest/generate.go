package apitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Generator makes requests of what a document says of its operations: such as fit, and
// such as nearly fit. The same source makes the same requests. It is for one goroutine at
// a time.
type Generator struct {
	Document *OpenAPI
	Rand     *rand.Rand
	// Samples are values for members and parameters of a name, which are taken as often as
	// made up ones: ids of records that exist, names of which a schema knows nothing.
	Samples map[string][]any
}

// Generated is a request that was made up.
type Generated struct {
	Method string
	// Path is the operation's, as in the document; Target is what to ask for.
	Path, Target string
	Header       map[string]string
	Body         []byte // nil for none
	// Spoilt says that the request need not fit the document.
	Spoilt bool
}

// deepest is how deep made up values are nested.
const deepest = 6

// Request makes a request of an operation, "POST /track".
func (g *Generator) Request(operation string) Generated {
	method, path, _ := strings.Cut(operation, " ")
	op, _ := g.Document.find("paths", path, strings.ToLower(method)).(map[string]any)
	r := Generated{Method: method, Path: path, Target: path, Header: map[string]string{}, Spoilt: g.one(2)}
	g.parameters(&r, op)
	body := g.resolve(op["requestBody"])
	content, _ := body["content"].(map[string]any)
	media, _ := content["application/json"].(map[string]any)
	if media == nil {
		return r
	}
	value := g.Value("", media["schema"], 0)
	if r.Spoilt {
		for range 1 + g.Rand.IntN(2) {
			value = g.spoil(value)
		}
	}
	text, err := json.Marshal(value)
	if err != nil { // a number that JSON does not have
		text = []byte("{")
	}
	if r.Body = text; r.Spoilt && g.one(8) {
		r.Body = g.mangle(text)
	}
	return r
}

// one is true once in n times.
func (g *Generator) one(n int) bool { return g.Rand.IntN(n) == 0 }

// pick returns one of some values.
func pick[T any](g *Generator, of []T) T { return of[g.Rand.IntN(len(of))] }

// resolve follows a reference; it is nil for what leads nowhere.
func (g *Generator) resolve(v any) map[string]any {
	object, ok := v.(map[string]any)
	for ok && object["$ref"] != nil {
		ref, _ := object["$ref"].(string)
		object, ok = g.Document.find(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...).(map[string]any)
	}
	return object
}

// parameters fills in those of the path, some of the query string, and headers.
func (g *Generator) parameters(r *Generated, op map[string]any) {
	all, _ := op["parameters"].([]any)
	query := url.Values{}
	for _, each := range all {
		p := g.resolve(each)
		name, _ := p["name"].(string)
		text := fmt.Sprint(g.Value(name, p["schema"], 0))
		if r.Spoilt && g.one(6) {
			text = fmt.Sprint(pick(g, odd))
		}
		switch {
		case p["in"] == "path":
			r.Target = strings.ReplaceAll(r.Target, "{"+name+"}", url.PathEscape(text))
		case p["required"] != true && g.one(2):
		case p["in"] == "query":
			query.Set(name, text)
		case p["in"] == "header":
			r.Header[name] = strings.Map(printable, text)
		}
	}
	if r.Spoilt && g.one(10) {
		query.Set(g.text(1, 12), g.text(0, 12))
	}
	if len(query) > 0 {
		r.Target += "?" + query.Encode()
	}
}

// printable leaves out what no client lets stand in a header.
func printable(c rune) rune {
	if c < ' ' || c > '~' {
		return -1
	}
	return c
}

// Value makes a value of a schema for a member of a name.
func (g *Generator) Value(name string, of any, depth int) any {
	if samples := g.Samples[name]; len(samples) > 0 && !g.one(3) {
		return pick(g, samples)
	}
	s := g.resolve(of)
	for _, either := range []string{"oneOf", "anyOf"} {
		if all, ok := s[either].([]any); ok && len(all) > 0 {
			return g.Value(name, pick(g, all), depth)
		}
	}
	if enum, ok := s["enum"].([]any); ok && len(enum) > 0 {
		return pick(g, enum)
	}
	if s["const"] != nil {
		return s["const"]
	}
	switch g.typeOf(s) {
	case "object":
		return g.object(s, depth)
	case "array":
		return g.array(name, s, depth)
	case "string":
		return g.stringOf(s)
	case "integer":
		return float64(int64(g.number(s)))
	case "number":
		return g.number(s)
	case "boolean":
		return g.one(2)
	case "null":
		return nil
	}
	return pick(g, odd)
}

// typeOf is the type of a value of a schema, one of them where it has several.
func (g *Generator) typeOf(s map[string]any) string {
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		name, _ := pick(g, t).(string)
		return name
	}
	if s["properties"] != nil {
		return "object"
	}
	return ""
}

func (g *Generator) object(s map[string]any, depth int) any {
	object := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if slices.Contains(required, any(name)) || depth < deepest && g.one(3) {
			object[name] = g.Value(name, properties[name], depth+1)
		}
	}
	if more := s["additionalProperties"]; more != nil && more != false && depth < deepest {
		for range g.Rand.IntN(4) {
			name := g.text(1, 10)
			object[name] = g.Value(name, more, depth+1)
		}
	}
	return object
}

func (g *Generator) array(name string, s map[string]any, depth int) any {
	least, most := int(bound(s, "minItems", 0)), int(bound(s, "maxItems", 4))
	n := least
	if depth < deepest {
		n += g.Rand.IntN(max(1, min(most, least+3)-least+1))
	}
	list := make([]any, n)
	for i := range list {
		list[i] = g.Value(name+"[]", s["items"], depth+1)
	}
	return list
}

func (g *Generator) stringOf(s map[string]any) string {
	at := time.Unix(g.Rand.Int64N(4_000_000_000), 0).UTC()
	switch s["format"] {
	case "date-time":
		return at.Format(time.RFC3339)
	case "date":
		return at.Format(time.DateOnly)
	case "email":
		return g.text(3, 9) + "@example.com"
	}
	least, most := int(bound(s, "minLength", 0)), int(bound(s, "maxLength", 40))
	if g.one(4) { // at the bound
		return g.text(most, most)
	}
	return g.text(least, max(least, min(most, least+20)))
}

func (g *Generator) number(s map[string]any) float64 {
	least, most := bound(s, "minimum", -1000), bound(s, "maximum", 1000)
	switch g.Rand.IntN(4) {
	case 0:
		return least
	case 1:
		return most
	}
	return least + float64(int64(g.Rand.Float64()*min(most-least, 1000)))
}

// bound reads a number of a schema.
func bound(s map[string]any, name string, none float64) float64 {
	switch n := s[name].(type) {
	case json.Number:
		if f, err := n.Float64(); err == nil {
			return f
		}
	case float64:
		return n
	}
	return none
}

// letters are of all sorts; the first ones are the usual ones.
var letters = []rune("abcdefghijklmnopqrstuvwxyz0123456789-_./ABCXYZ äß漢😀\u202e\u0301'\"\\%{}")

// text makes a text of so many characters.
func (g *Generator) text(least, most int) string {
	usual := 40
	if g.one(3) {
		usual = len(letters)
	}
	text := make([]rune, least+g.Rand.IntN(most-least+1))
	for i := range text {
		text[i] = letters[g.Rand.IntN(usual)]
	}
	return string(text)
}
