// Command chartdoc writes what in the Helm chart follows from something else:
//
//   - values.schema.json and README.md, from the comments of values.yaml and from
//     the table of settings, so that neither can differ from what the templates
//     and the daemons read;
//   - files/, the copies of deploy/prometheus and deploy/grafana, since Helm reads
//     nothing outside of a chart.
//
// A value without a comment is rejected, and so is one about which the schema could
// say nothing. Called with -check it writes nothing and fails when a file is not
// as it would be written.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

const chart = "deploy/helm/millrace"

func main() {
	check := flag.Bool("check", false, "compare instead of writing")
	flag.Parse()
	if err := run(".", *check); err != nil {
		fmt.Fprintln(os.Stderr, "chartdoc:", err)
		os.Exit(1)
	}
}

// run writes or compares below the repository's root.
func run(root string, check bool) error {
	text, err := os.ReadFile(filepath.Join(root, chart, "values.yaml"))
	if err != nil {
		return err
	}
	values, err := parse(text)
	if err != nil {
		return fmt.Errorf("reading values.yaml: %w", err)
	}
	files := map[string][]byte{}
	if files["values.schema.json"], err = schema(values); err != nil {
		return err
	}
	if files["README.md"], err = readme(filepath.Join(root, chart), values); err != nil {
		return err
	}
	if err := copies(root, files); err != nil {
		return err
	}
	if check {
		return compare(filepath.Join(root, chart), files)
	}
	return write(filepath.Join(root, chart), files)
}

func write(dir string, files map[string][]byte) error {
	if err := os.RemoveAll(filepath.Join(dir, copied)); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, files[name], 0o644)); err != nil {
			return err
		}
	}
	return nil
}

func compare(dir string, files map[string][]byte) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, name)
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, files[name]) {
			errs = append(errs, fmt.Errorf("%s is out of date: run make generate", path))
		}
	}
	kept, err := filepath.Glob(filepath.Join(dir, copied, "*", "*"))
	for _, path := range kept {
		if name, err := filepath.Rel(dir, path); err != nil || files[filepath.ToSlash(name)] == nil {
			errs = append(errs, fmt.Errorf("%s is a copy of nothing: run make generate", path))
		}
	}
	return errors.Join(append(errs, err)...)
}
