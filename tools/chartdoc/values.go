package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// value is one key of values.yaml.
type value struct {
	path     string
	comment  string         // without the lines for the schema
	override map[string]any // what the @schema line says
	node     *yaml.Node
	children []value
}

// marker begins the line of a comment that is for the schema.
const marker = "@schema "

// parse reads values.yaml.
func parse(text []byte) ([]value, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	return below("", doc.Content[0])
}

// below returns the keys of a mapping. A mapping in braces is one value, described
// by the comment in front of it.
func below(path string, node *yaml.Node) ([]value, error) {
	var values []value
	var errs []error
	for i := 0; i < len(node.Content); i += 2 {
		key, content := node.Content[i], node.Content[i+1]
		v := value{path: strings.TrimPrefix(path+"."+key.Value, "."), node: content}
		if err := v.describe(key.HeadComment); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", v.path, err))
		}
		if content.Kind == yaml.MappingNode && content.Style&yaml.FlowStyle == 0 {
			var err error
			v.children, err = below(v.path, content)
			errs = append(errs, err)
		}
		values = append(values, v)
	}
	return values, errors.Join(errs...)
}

func (v *value) describe(comment string) error {
	var words []string
	for line := range strings.Lines(comment) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "#"))
		if rules, ok := strings.CutPrefix(line, marker); ok {
			if err := json.Unmarshal([]byte(rules), &v.override); err != nil {
				return fmt.Errorf("reading its @schema line: %w", err)
			}
			continue
		}
		words = append(words, line)
	}
	v.comment = strings.TrimSpace(strings.Join(words, " "))
	if v.comment == "" {
		return errors.New("has no comment")
	}
	return nil
}

// walk calls f for v and everything below it.
func (v *value) walk(f func(*value)) {
	f(v)
	for i := range v.children {
		v.children[i].walk(f)
	}
}
