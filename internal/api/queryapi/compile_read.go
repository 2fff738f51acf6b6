package queryapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/valyala/fastjson"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/contract/apierr"
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
	{"timeUnit", "parameters[0].granularity"},
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
		return nil, uncompiled(apierr.Invalid("", "wrong_type", "The body must be an object"))
	}
	var texts map[string]json.RawMessage // as they came: fastjson would write some as no JSON
	if err := json.Unmarshal(body, &texts); err != nil {
		return nil, apierr.Wrap(apierr.Parse, err)
	}
	given := &compileInput{members: map[string]json.RawMessage{}}
	o.Visit(func(key []byte, v *fastjson.Value) {
		switch {
		case given.rejection.Full():
		case !slices.ContainsFunc(compileFields, func(f struct{ name, query string }) bool { return f.name == string(key) }):
			given.rejection.Append(unknownField(string(key)))
		case given.members[string(key)] != nil:
			given.rejection.Add(string(key), "duplicate", "%s is given twice", key)
		case v.Type() != fastjson.TypeNull:
			given.members[string(key)] = texts[string(key)]
		}
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
		return nil, err
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

// parameter is the query's only one: a type with its options.
func (in *compileInput) parameter() map[string]any {
	parameter := map[string]any{}
	if raw := in.members["options"]; raw != nil && json.Unmarshal(raw, &parameter) != nil {
		in.rejection.Add("options", "wrong_type", "options must be an object")
	}
	for _, member := range []string{"name", "id"} { // that is the type's to say, and there is nothing to label
		if _, given := parameter[member]; given {
			in.rejection.Append(unknown("field", "options."+member, nil))
		}
	}
	if unit := in.text("timeUnit"); unit != "" {
		if other := parameter["granularity"]; other != nil && other != unit {
			in.rejection.Add("options.granularity", "duplicate", "options.granularity is not what timeUnit says")
		}
		parameter["granularity"] = unit
	}
	name := in.text("type")
	if parameter["name"] = name; name == "" {
		in.rejection.Add("type", "required", "type is required")
	}
	return parameter
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
		in.rejection.Add(name, "out_of_range", "%s must be %d to %d", name, least, most)
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

// uncompiled is a rejection of a query as one of this route: the fields are called as
// in its body.
func uncompiled(err error) error {
	f, ok := errors.AsType[*apierr.Error](err)
	if !ok || f.Code != apierr.Validation {
		return err
	}
	rejected := &apierr.Error{Code: apierr.Compilation, Message: f.Message, Err: f.Err}
	for _, d := range f.Details {
		for _, field := range compileFields {
			if rest, ok := strings.CutPrefix(d.Field, field.query); ok && field.query != "" {
				if d.Field = field.name + rest; d.Field == "options" { // the parameter as such
					d.Field = "type"
				}
				break
			}
		}
		rejected.Details = append(rejected.Details, d)
	}
	return rejected
}
