// Command dashboards writes deploy/grafana: one file for each dashboard, from the
// tables of panels beside it. Called with -check it writes nothing and fails when
// a file is not as it would be written, or is none of these.
//
// The tables say what is shown; how Grafana wants it said stands in grafana.go
// alone. Queries never name a data source: a variable does.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

const folder = "deploy/grafana"

var boards = []board{overview, edge, links, topics, sink, query, tenants}

func main() {
	check := flag.Bool("check", false, "compare instead of writing")
	flag.Parse()
	if err := run(folder, *check); err != nil {
		fmt.Fprintln(os.Stderr, "dashboards:", err)
		os.Exit(1)
	}
}

func run(dir string, check bool) error {
	expected := map[string]bool{}
	var errs []error
	for i := range boards {
		text, err := encode(boards[i].render())
		if err != nil {
			return err
		}
		path := filepath.Join(dir, boards[i].name+".json")
		expected[path] = true
		if check {
			errs = append(errs, compare(path, text))
			continue
		}
		errs = append(errs, os.WriteFile(path, text, 0o644))
	}
	there, err := filepath.Glob(filepath.Join(dir, "*.json"))
	for _, path := range there {
		if !expected[path] {
			errs = append(errs, fmt.Errorf("%s is no dashboard of tools/dashboards: remove it", path))
		}
	}
	return errors.Join(append(errs, err)...)
}

func encode(d *dashboard) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(d); err != nil {
		return nil, fmt.Errorf("writing dashboard %s: %w", d.UID, err)
	}
	return b.Bytes(), nil
}

func compare(path string, want []byte) error {
	got, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%s is out of date: run make generate", path)
	}
	return nil
}
