package rpc

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/suggest"
)

// problems tells what a validator found, in the order of the fields. A message
// names the field and the rule, and never repeats a value: it may be a password.
//
// No more is told than maxDetails of the first places, however much is wrong: to word a
// problem costs far more than to find it.
func problems(schema *jsonschema.Schema, instance any, ve *jsonschema.ValidationError) []apierr.Detail {
	var leaves []*jsonschema.ValidationError
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) == 0 {
			leaves = append(leaves, e)
		}
	}
	walk(ve)
	var found []apierr.Detail
	for _, e := range least(leaves, func(a, b *jsonschema.ValidationError) int {
		return slices.Compare(a.InstanceLocation, b.InstanceLocation)
	}) {
		found = append(found, tell(schema, instance, e)...)
	}
	slices.SortStableFunc(found, func(a, b apierr.Detail) int { return cmp.Compare(a.Field, b.Field) })
	return found
}

// least returns the maxDetails least items, in order; equal ones stay in theirs.
func least[T any](items []T, compare func(a, b T) int) []T {
	kept := make([]T, 0, min(len(items), maxDetails+1))
	for _, item := range items {
		if len(kept) == maxDetails && compare(item, kept[maxDetails-1]) >= 0 {
			continue
		}
		at := sort.Search(len(kept), func(i int) bool { return compare(kept[i], item) > 0 })
		kept = slices.Insert(kept, at, item)
		kept = kept[:min(len(kept), maxDetails)]
	}
	return kept
}

// tell says one problem; several for a kind that names several fields.
func tell(schema *jsonschema.Schema, instance any, e *jsonschema.ValidationError) []apierr.Detail {
	path := pathOf(instance, e.InstanceLocation)
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return each(path, k.Missing, func(field string) apierr.Detail {
			return detail(field, "required", field+" is required")
		})
	case *kind.AdditionalProperties:
		known := slices.Sorted(maps.Keys(at(schema, e.InstanceLocation).Properties))
		return each(path, k.Properties, func(field string) apierr.Detail {
			d := detail(field, "unknown", "Unknown field: "+field)
			name := field[strings.LastIndexByte(field, '.')+1:]
			if meant := suggest.Closest(name, known); meant != "" {
				d.Suggestion = "Did you mean '" + meant + "'?"
			}
			return d
		})
	}
	rule, must := ruleOf(e.ErrorKind, instance, e.InstanceLocation)
	whole := path
	if whole == "" {
		whole = "The body"
	}
	return []apierr.Detail{detail(path, rule, whole+" "+must)}
}

func each(path string, names []string, say func(field string) apierr.Detail) []apierr.Detail {
	var found []apierr.Detail
	for _, name := range least(names, strings.Compare) {
		found = append(found, say(member(path, shortened(name))))
	}
	return found
}

// ruleOf returns a stable word for the rule broken, and the rule as the rest of
// a sentence that begins with the field.
func ruleOf(e jsonschema.ErrorKind, instance any, location []string) (rule, must string) {
	switch k := e.(type) {
	case *kind.Type:
		return "type", "must be " + typesOf(k.Want) + ", not " + kindOf(valueAt(instance, location))
	case *kind.MinLength:
		return "too_short", "must have at least " + count(k.Want, "character")
	case *kind.MaxLength:
		return "too_long", "must have at most " + count(k.Want, "character")
	case *kind.MinItems:
		return "too_few", "must have at least " + count(k.Want, "item")
	case *kind.MaxItems:
		return "too_many", "must have at most " + count(k.Want, "item")
	case *kind.MinProperties:
		return "too_few", "must have at least " + count(k.Want, "field")
	case *kind.MaxProperties:
		return "too_many", "must have at most " + count(k.Want, "field")
	case *kind.UniqueItems:
		return "repeated", "must not have the same item twice"
	case *kind.Minimum:
		return "too_small", "must be at least " + number(k.Want)
	case *kind.Maximum:
		return "too_large", "must be at most " + number(k.Want)
	case *kind.MultipleOf:
		return "step", "must be a multiple of " + number(k.Want)
	case *kind.Enum:
		return "choice", "must be one of " + choices(k.Want)
	case *kind.Const:
		return "choice", "must be " + choices([]any{k.Want})
	case *kind.Pattern:
		return "pattern", "must match the pattern " + k.Want
	case *kind.Format:
		return "format", "must be " + formatName(k.Want)
	default:
		return "invalid", "does not fit the schema in /openapi.json"
	}
}

func detail(field, rule, message string) apierr.Detail {
	return apierr.Detail{Index: apierr.NoIndex, Field: field, Rule: rule, Message: message}
}

// formatName says what a value of a format looks like.
func formatName(format string) string {
	switch format {
	case "date-time":
		return "a time such as 2026-01-02T15:04:05.000Z"
	case "date":
		return "a date such as 2026-01-02"
	case "email":
		return "an e-mail address"
	case "uri":
		return "a URL"
	default:
		return "of the format " + format
	}
}

func choices(values []any) string {
	words := make([]string, len(values))
	for i, v := range values {
		text, err := json.Marshal(v)
		if err != nil {
			continue
		}
		words[i] = strings.Trim(string(text), `"`)
	}
	return strings.Join(words, ", ")
}

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

func number(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// articles are the JSON types as they stand in a sentence.
var articles = map[string]string{
	"array": "a list", "boolean": "true or false", "integer": "a whole number", "null": "null",
	"number": "a number", "object": "an object", "string": "a string",
}

func typesOf(names []string) string {
	names = slices.SortedFunc(slices.Values(names), func(a, b string) int { // null last
		return cmp.Or(cmp.Compare(nullness(a), nullness(b)), cmp.Compare(a, b))
	})
	words := make([]string, len(names))
	for i, n := range names {
		words[i] = articles[n]
	}
	return strings.Join(words, " or ")
}

func nullness(typeName string) int {
	if typeName == "null" {
		return 1
	}
	return 0
}

// kindOf says what a decoded value is.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	default:
		return "a number"
	}
}

// pathOf writes a location as callers know it: settings.allowedOrigins[2].
func pathOf(instance any, location []string) string {
	path := ""
	for _, token := range location {
		list, ok := instance.([]any)
		if i, err := strconv.Atoi(token); ok && err == nil && i < len(list) {
			path, instance = index(path, i), list[i]
			continue
		}
		path = member(path, shortened(token))
		if object, ok := instance.(map[string]any); ok {
			instance = object[token]
		}
	}
	return path
}

func valueAt(instance any, location []string) any {
	for _, token := range location {
		switch v := instance.(type) {
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i >= len(v) {
				return nil
			}
			instance = v[i]
		case map[string]any:
			instance = v[token]
		}
	}
	return instance
}

// at finds the schema of a location; an empty one where none is declared.
func at(schema *jsonschema.Schema, location []string) *jsonschema.Schema {
	for i := 0; ; i++ {
		for schema != nil && schema.Ref != nil {
			schema = schema.Ref
		}
		switch {
		case schema == nil:
			return &jsonschema.Schema{}
		case i == len(location):
			return schema
		case schema.Items2020 != nil:
			schema = schema.Items2020
		default:
			schema = schema.Properties[location[i]]
		}
	}
}

func member(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// maxNameLen is how much of a caller's own field name is repeated, in bytes.
const maxNameLen = 64

func shortened(name string) string {
	if len(name) <= maxNameLen {
		return name
	}
	end := maxNameLen
	for !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end] + "…"
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
