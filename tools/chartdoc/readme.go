package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"text/template"

	"go.yaml.in/yaml/v3"
)

// section is what the README says of one key at the top.
type section struct {
	Name, Comment string
	Rows          []row
}

type row struct{ Key, Default, Comment string }

// readme fills in README.tmpl of the chart.
func readme(dir string, values []value) ([]byte, error) {
	t, err := template.ParseFiles(filepath.Join(dir, "README.tmpl"))
	if err != nil {
		return nil, err
	}
	var general section
	sections := []section{}
	for i := range values {
		v := &values[i]
		if v.children == nil {
			general.Rows = append(general.Rows, rowOf(v))
			continue
		}
		s := section{Name: v.path, Comment: v.comment}
		for j := range v.children {
			v.children[j].walk(func(c *value) {
				if c.children == nil {
					s.Rows = append(s.Rows, rowOf(c))
				}
			})
		}
		sections = append(sections, s)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, map[string]any{"General": general, "Sections": sections}); err != nil {
		return nil, fmt.Errorf("filling in README.tmpl: %w", err)
	}
	return out.Bytes(), nil
}

func rowOf(v *value) row {
	return row{Key: v.path, Default: shown(v.node), Comment: strings.ReplaceAll(v.comment, "|", `\|`)}
}

// shown is a default as one would write it in a line.
func shown(node *yaml.Node) string {
	var x any
	if err := node.Decode(&x); err != nil {
		return node.Value
	}
	text, err := json.Marshal(x)
	if err != nil {
		return node.Value
	}
	return string(text)
}
