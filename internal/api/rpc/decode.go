package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/wire"
)

// decode reads a body as a JSON object; an empty one is an empty object. Numbers are
// json.Number, and keep the digits that were sent; see settled.
func decode(body []byte) (map[string]any, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return map[string]any{}, nil
	}
	if !utf8.Valid(body) {
		return nil, &apierr.Error{Code: apierr.Parse, Message: "Request body is not valid UTF-8"}
	}
	v, err := valueOf(body)
	if err != nil {
		return nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, &apierr.Error{Code: apierr.Validation, Message: "The body must be a JSON object, not " + kindOf(v)}
	}
	return object, nil
}

// valueOf reads all of a body as one JSON value.
func valueOf(body []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, apierr.Wrap(apierr.Parse, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, apierr.Wrap(apierr.Parse, errors.New("the body has data after the JSON value"))
	}
	return settled(v)
}

// check holds a decoded body against the schema of an input, and returns it in
// the one form that handlers and Idempotency-Key see: each name once, in order.
// What does not fit is a Validation error with all that is wrong. Unstored names the
// texts that may hold any character.
func check(schema *jsonschema.Schema, object map[string]any, unstored []string) ([]byte, error) {
	var details []apierr.Detail
	if err := schema.Validate(object); err != nil {
		ve, ok := errors.AsType[*jsonschema.ValidationError](err)
		if !ok {
			return nil, err
		}
		details = problems(schema, object, ve)
	}
	if stored := without(object, unstored); hasNUL(stored) {
		details = append(details, nul("", stored)...)
	}
	if len(details) == 0 {
		return wire.CompactJSON(object)
	}
	if len(details) > maxDetails {
		details = details[:maxDetails]
	}
	first := details[0].Message
	if s := details[0].Suggestion; s != "" {
		first += ". " + s
	}
	return nil, &apierr.Error{Code: apierr.Validation, Message: first, Details: details}
}

// maxDetails is how many problems of a body are told.
const maxDetails = 20

// without returns an object without some members; itself where there are none.
func without(object map[string]any, names []string) map[string]any {
	if len(names) == 0 {
		return object
	}
	object = maps.Clone(object)
	for _, name := range names {
		delete(object, name)
	}
	return object
}

// hasNUL reports whether nul finds anything, at little cost.
func hasNUL(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.IndexByte(v, 0) >= 0
	case []any:
		return slices.ContainsFunc(v, hasNUL)
	case map[string]any:
		for _, item := range v {
			if hasNUL(item) {
				return true
			}
		}
	}
	return false
}

// nul finds texts with the character that PostgreSQL cannot store.
func nul(path string, v any) []apierr.Detail {
	var found []apierr.Detail
	switch v := v.(type) {
	case string:
		if strings.ContainsRune(v, 0) {
			found = append(found, detail(path, "nul", path+" must not contain the character U+0000"))
		}
	case []any:
		for i, item := range v {
			if len(found) >= maxDetails {
				break
			}
			found = append(found, nul(index(path, i), item)...)
		}
	case map[string]any:
		for _, name := range sortedKeys(v) {
			if len(found) >= maxDetails {
				break
			}
			found = append(found, nul(member(path, name), v[name])...)
		}
	}
	return found
}
