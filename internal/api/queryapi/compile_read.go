package queryapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/valyala/fastjson"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/wire"
	"github.com/millrace/millrace/internal/platform/suggest"
)

// Bounds of a compiled query.
const (
	maxCompileLimit  = 1000                                   // rows
	maxCompileOffset = analytics.MaxLimit * analytics.MaxPage // rows left out
)

// compileFields are the members of the body, and what they are called in a query.
var compileFields = []struct{ name, query string }{
	{"projectId", ""},
	{"timeUnit", ""}, // see compileInput.unit
	{"options", "parameters[0]"},
	{"type", "parameters[0].name"},
	{"from", "startDate"},
	{"to", "endDate"},
	{"filters", "filters"},
	{"groupBy", "groupBy"},
	{"orderBy", "sortBy"},
	{"orderBy", "sortOrder"},
	{"limit", "limit"},
	{"offset", "offset"},
}

// compileInput are the members of a body that are known, and what is wrong with them.
type compileInput struct {
	members   map[string]json.RawMessage
	rejection apierr.Rejection
	unit      string // what tells the length of buckets: timeUnit, or an option
}

// compileMembers reads the members of a body; null stands for one that is not there. The
// error is a Parse error, or a Compilation error for what is no object.
func compileMembers(body []byte) (*compileInput, error) {
	v, err := analytics.Parse(body)
	if err != nil {
		return nil, err
	}
	o, err := v.Object()
	if err != nil {
		return nil, uncompiled(apierr.Invalid("", "wrong_type", "The body must be a JSON object"))
	}
	var texts map[string]json.RawMessage // as they came: fastjson would write some as no JSON
	if err := json.Unmarshal(body, &texts); err != nil {
		return nil, apierr.Wrap(apierr.Parse, err)
	}
	given, seen := &compileInput{members: map[string]json.RawMessage{}, unit: "timeUnit"}, map[string]bool{}
	o.Visit(func(key []byte, v *fastjson.Value) {
		name := string(key)
		switch {
		case given.rejection.Full():
		case !slices.ContainsFunc(compileFields, func(f struct{ name, query string }) bool { return f.name == name }):
			given.rejection.Append(unknownField(name))
		case seen[name]:
			given.rejection.Add(name, "duplicate", "%s must be given only once", name)
		case v.Type() != fastjson.TypeNull:
			given.members[name] = texts[name]
		}
		seen[name] = true
	})
	return given, nil
}

// project is what the body says that the query is about; empty for nothing. What is no
// text is for requests to reject.
func (in *compileInput) project() (ref string) {
	if json.Unmarshal(in.members["projectId"], &ref) != nil {
		return ""
	}
	return ref
}

// requests are the members as the query that they stand for, so that the rules are
// those of queries. The error is a Validation error with the names of queries' fields.
func (in *compileInput) requests() ([]analytics.Request, error) {
	query := in.query()
	in.text("projectId")
	limit, offset := in.number("limit", 1, maxCompileLimit), in.number("offset", 0, maxCompileOffset)
	if err := in.rejection.Err(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(query)
	if err != nil {
		return nil, err
	}
	requests, _, err := analytics.Decode(text)
	if err != nil {
		return nil, in.ofQuery(err)
	}
	requests[0].Limit, requests[0].Offset = limit, offset
	return requests, nil
}

// query is the body of the query, but for what that has no member for.
func (in *compileInput) query() map[string]any {
	query := map[string]any{"parameters": []any{in.parameter()}}
	for _, field := range []struct{ from, to string }{{"from", "startDate"}, {"to", "endDate"}} {
		if query[field.to] = in.text(field.from); query[field.to] == "" {
			in.rejection.Add(field.from, "required", "%s is required", field.from)
		}
	}
	if by := in.text("orderBy"); by != "" {
		field, order, _ := strings.Cut(by, " ")
		query["sortBy"] = field
		if order != "" {
			query["sortOrder"] = strings.ToLower(order)
		}
	}
	for _, field := range []string{"filters", "groupBy"} {
		if raw := in.members[field]; raw != nil {
			query[field] = raw
		}
	}
	return query
}

// parameter is the query's only one: a type with its options. These go on as they came, so
// that they are read as those of a query are, also what is given twice.
func (in *compileInput) parameter() json.RawMessage {
	text := []byte{'{'}
	add := func(name string, value []byte) {
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(append(wire.AppendHTMLSafe(text, name), ':'), value...)
	}
	unit, units := in.text("timeUnit"), 0
	for _, o := range in.options() {
		switch {
		case o.name == "name" || o.name == "id": // that is the type's to say, and there is nothing to label
			in.rejection.Append(unknown("field", "options."+o.name, nil))
		case o.name == "granularity" && unit != "":
			if units++; units > 1 {
				in.rejection.Add("options.granularity", "duplicate", "granularity must be given only once")
			}
			if other := unit; json.Unmarshal(o.value, &other) != nil || other != unit {
				in.rejection.Add("options.granularity", "duplicate", "options.granularity must equal timeUnit")
			}
		default:
			if o.name == "granularity" {
				in.unit = "options.granularity"
			}
			add(o.name, o.value)
		}
	}
	if unit != "" {
		add("granularity", in.members["timeUnit"])
	}
	if in.text("type") == "" {
		in.rejection.Add("type", "required", "type is required")
	} else {
		add("name", in.members["type"])
	}
	return append(text, '}')
}

// member is one of an object.
type member struct {
	name  string
	value json.RawMessage
}

// options are the members of options as they came, those that are given twice too.
func (in *compileInput) options() (all []member) {
	raw := in.members["options"]
	if raw == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		in.rejection.Add("options", "wrong_type", "options must be an object")
		return nil
	}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil { // which the body's parser has ruled out
			return all
		}
		text, _ := name.(string)
		all = append(all, member{text, value})
	}
	return all
}

// text reads a text; empty where it is not given.
func (in *compileInput) text(name string) (text string) {
	if raw := in.members[name]; raw != nil && json.Unmarshal(raw, &text) != nil {
		in.rejection.Add(name, "wrong_type", "%s must be a string", name)
	}
	return text
}

// number reads an integer; 0 where it is not given.
func (in *compileInput) number(name string, least, most int) (n int) {
	raw := in.members[name]
	switch {
	case raw == nil:
	case json.Unmarshal(raw, &n) != nil:
		in.rejection.Add(name, "wrong_type", "%s must be an integer", name)
	case n < least || n > most:
		in.rejection.Add(name, "out_of_range", "%s must be from %d to %d", name, least, most)
	}
	return n
}

func unknownField(name string) apierr.Detail {
	names := make([]string, len(compileFields))
	for i := range compileFields {
		names[i] = compileFields[i].name
	}
	return unknown("field", name, names)
}

// unknown is a name that none of what is known by its kind has.
func unknown(kind, name string, names []string) apierr.Detail {
	d := apierr.Detail{
		Index:   apierr.NoIndex,
		Field:   fmt.Sprintf("%.64s", name),
		Rule:    "unknown_field",
		Message: fmt.Sprintf("Unknown %s: %.64s", kind, name),
	}
	if near := suggest.Closest(name, names); near != "" {
		d.Suggestion = "Did you mean '" + near + "'?"
	}
	return d
}

// uncompiled is a rejection as one of this route.
func uncompiled(err error) error {
	f, ok := errors.AsType[*apierr.Error](err)
	if !ok || f.Code != apierr.Validation {
		return err
	}
	rejected := *f
	rejected.Code = apierr.Compilation
	return &rejected
}

// ofQuery is what is wrong with the query that the body stands for, by the names of the body.
func (in *compileInput) ofQuery(err error) error {
	f, ok := errors.AsType[*apierr.Error](err)
	if !ok || f.Code != apierr.Validation || len(f.Details) == 0 {
		return err
	}
	var renamed apierr.Rejection
	for _, d := range f.Details {
		asked := d.Field
		d.Field = in.named(asked)
		d.Message = inMessage(d.Message, asked, d.Field)
		if d.Rule == "empty_range" {
			d.Message = "to must not be before from"
		}
		renamed.Append(d)
	}
	return renamed.Err()
}

// named is what the body calls a field of a query.
func (in *compileInput) named(field string) string {
	switch field {
	case "parameters[0]":
		return "type"
	case "granularity", "parameters[0].granularity":
		return in.unit
	}
	for _, f := range compileFields {
		if rest, ok := strings.CutPrefix(field, f.query); ok && f.query != "" {
			return f.name + rest
		}
	}
	return field
}

// inMessage is a message that begins with a field's name, or with that it is invalid, with
// another name. What else a message says may be the caller's own text.
func inMessage(message, from, to string) string {
	for _, before := range []string{"", "Invalid "} {
		if rest, ok := strings.CutPrefix(message, before+from); ok && from != "" {
			return before + to + rest
		}
	}
	return message
}
