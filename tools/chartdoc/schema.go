package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"go.yaml.in/yaml/v3"
)

// rules are what the schema demands of several values together.
//
//go:embed rules.json
var rules []byte

// schema writes values.schema.json: nothing that values.yaml does not name is
// allowed anywhere, except in what is handed on to Kubernetes as it is.
func schema(values []value) ([]byte, error) {
	properties, err := propertiesOf(values)
	if err != nil {
		return nil, err
	}
	if err := checkReferences(values); err != nil {
		return nil, err
	}
	properties["config"] = settingsSchema()
	// Helm hands it to every chart that another one includes.
	properties["global"] = map[string]any{"type": "object"}
	var together any
	if err := json.Unmarshal(rules, &together); err != nil {
		return nil, fmt.Errorf("reading rules.json: %w", err)
	}
	out, err := json.MarshalIndent(map[string]any{
		"$schema": "http://json-schema.org/draft-07/schema#", // what Helm 3 of all ages understands
		"title":   "Values of the chart millrace", "type": "object",
		"properties": properties, "additionalProperties": false, "allOf": together,
	}, "", "  ")
	return append(out, '\n'), err
}

func propertiesOf(values []value) (map[string]any, error) {
	properties := map[string]any{}
	var errs []error
	for i := range values {
		v := &values[i]
		s, err := v.schema()
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", v.path, err))
		}
		properties[v.path[lastDot(v.path):]] = s
	}
	return properties, errors.Join(errs...)
}

func lastDot(path string) int {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '.' {
			return i + 1
		}
	}
	return 0
}

// schema is what may stand in place of the value: the type of what stands there,
// and what its @schema line says, which wins.
func (v *value) schema() (map[string]any, error) {
	s, err := typeOf(v.node)
	if err != nil {
		return nil, err
	}
	if v.node.Kind == yaml.MappingNode && v.children != nil {
		if s["properties"], err = propertiesOf(v.children); err != nil {
			return nil, err
		}
	}
	if extra, free := v.override["additionalProperties"]; free && extra != false {
		delete(s, "properties")
	}
	maps.Copy(s, v.override)
	s["description"] = v.comment
	switch {
	case s["type"] == "array" && s["items"] == nil:
		return nil, errors.New("is a list, and no @schema line says of what")
	case s["type"] == "object" && s["additionalProperties"] == false && s["properties"] == nil:
		return nil, errors.New("is an empty mapping, and no @schema line says of what")
	}
	return s, nil
}

var typesOfTags = map[string]string{"!!str": "string", "!!int": "integer", "!!float": "number", "!!bool": "boolean"}

func typeOf(node *yaml.Node) (map[string]any, error) {
	switch node.Kind {
	case yaml.SequenceNode:
		return map[string]any{"type": "array"}, nil
	case yaml.MappingNode:
		s := map[string]any{"type": "object", "additionalProperties": false}
		if node.Style&yaml.FlowStyle == 0 || len(node.Content) == 0 {
			return s, nil
		}
		properties := map[string]any{}
		for i := 0; i < len(node.Content); i += 2 {
			p, err := typeOf(node.Content[i+1])
			if err != nil {
				return nil, err
			}
			properties[node.Content[i].Value] = p
		}
		s["properties"] = properties
		return s, nil
	default:
		t, ok := typesOfTags[node.Tag]
		if !ok {
			return nil, fmt.Errorf("%q has no type", node.Value)
		}
		return map[string]any{"type": t}, nil
	}
}
