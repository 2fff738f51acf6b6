package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/millrace/millrace/internal/platform/config"
)

// ownPlaces are settings that are no part of config: the chart decides about
// listeners and files of standalone mode, and names the sink's members.
var ownPlaces = []string{
	"data.", "embedded.", "link.listen", "admin.", "ingest.listen", "query.listen", "sink.instance_id",
}

func hasOwnPlace(f *config.Field) bool {
	return f.Secret || slices.ContainsFunc(ownPlaces, func(p string) bool { return strings.HasPrefix(f.Key, p) })
}

// settingsSchema is the schema of config: every setting at its place.
func settingsSchema() map[string]any {
	root := object("Settings of all daemons, as in docs/reference/config.md.")
	fields := config.Fields()
	for i := range fields {
		f := &fields[i]
		if hasOwnPlace(f) {
			continue
		}
		parts := strings.Split(f.Key, ".")
		at := root
		for _, part := range parts[:len(parts)-1] {
			below := at["properties"].(map[string]any)
			if below[part] == nil {
				below[part] = object("")
			}
			at = below[part].(map[string]any)
		}
		at["properties"].(map[string]any)[parts[len(parts)-1]] = settingSchema(f)
	}
	return root
}

func object(description string) map[string]any {
	o := map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{}}
	if description != "" {
		o["description"] = description
	}
	return o
}

func settingSchema(f *config.Field) map[string]any {
	s := map[string]any{"description": f.Help}
	low, high, ranged := f.Range()
	switch f.Type {
	case "integer", "number":
		s["type"] = f.Type
		if ranged {
			s["minimum"], s["maximum"] = number(low), number(high)
		}
	case "boolean":
		s["type"] = "boolean"
	case "list":
		s["type"], s["items"] = "array", map[string]any{"type": "string"}
	case "duration":
		s["type"], s["pattern"] = "string", `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`
	default:
		s["type"] = "string"
		if words := f.Words(); len(words) > 0 {
			s["enum"] = words
		}
	}
	return s
}

func number(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64) // a test of internal/platform/config reads every bound
	return n
}

// checkReferences demands that secrets names every secret setting and nothing else,
// and files every file of TLS.
func checkReferences(values []value) error {
	want := map[string]bool{}
	for _, f := range config.Fields() {
		if f.Secret {
			want["secrets."+f.Key] = true
		}
		if strings.HasSuffix(f.Key, "_file") && strings.Contains(f.Key, ".tls.") {
			want["files."+f.Key] = true
		}
	}
	var errs []error
	for i := range values {
		if values[i].path != "secrets" && values[i].path != "files" {
			continue
		}
		values[i].walk(func(v *value) {
			if v.children == nil && !want[v.path] {
				errs = append(errs, fmt.Errorf("%s is no setting of that kind", v.path))
			}
			delete(want, v.path)
		})
	}
	for path := range want {
		errs = append(errs, fmt.Errorf("values.yaml lacks %s, which is a setting", path))
	}
	return errors.Join(errs...)
}
