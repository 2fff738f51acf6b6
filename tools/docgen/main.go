// Command docgen writes the pages of docs/reference from the tables that the
// code itself reads, so that they cannot differ. Called with -check it writes
// nothing and fails when a page is not as it would be written.
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

const folder = "docs/reference"

// page is one file of the reference. Root is the repository's folder.
type page struct {
	name   string
	render func(root string) (string, error)
}

var pages = []page{
	{"cli.md", commandsPage},
	{"config.md", configPage},
	{"errors.md", errorsPage},
	{"flags.md", flagsPage},
	{"ingestion.md", ingestionPage},
	{"licences.md", licencesPage},
	{"limits.md", limitsPage},
	{"mcp-tools.md", mcpToolsPage},
	{"metrics.md", metricsPage},
	{"query-requests.md", queryRequestsPage},
	{"scopes.md", scopesPage},
	{"tables.md", tablesPage},
	{"topics.md", topicsPage},
}

// section is a folder of the reference with nothing but generated pages. Its pages are returned by name.
type section struct {
	name   string
	render func() (map[string]string, error)
}

var sections = []section{{"operations", operationPages}, {"query-types", queryTypePages}}

func main() {
	check := flag.Bool("check", false, "compare instead of writing")
	flag.Parse()
	if err := run(".", *check); err != nil {
		fmt.Fprintln(os.Stderr, "docgen:", err)
		os.Exit(1)
	}
}

func run(root string, check bool) error {
	var errs []error
	put := func(name, text string) {
		path := filepath.Join(root, folder, name)
		if check {
			errs = append(errs, compare(path, text))
			return
		}
		errs = append(errs, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
	}
	for _, p := range pages {
		text, err := p.render(root)
		if err != nil {
			errs = append(errs, fmt.Errorf("making %s: %w", p.name, err))
			continue
		}
		put(p.name, text)
	}
	for _, s := range sections {
		rendered, err := s.render()
		if err != nil {
			errs = append(errs, fmt.Errorf("making %s: %w", s.name, err))
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(rendered)) {
			put(filepath.Join(s.name, name), rendered[name])
		}
		errs = append(errs, removeStale(filepath.Join(root, folder, s.name), rendered, check))
	}
	return errors.Join(errs...)
}

// removeStale removes the files of a section's folder that are not rendered any more. With check
// it reports them instead.
func removeStale(dir string, rendered map[string]string, check bool) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("listing pages: %w", err)
	}
	var errs []error
	for _, f := range files {
		path := filepath.Join(dir, f.Name())
		switch _, ok := rendered[f.Name()]; {
		case ok:
		case check:
			errs = append(errs, fmt.Errorf("%s is not generated any more: run make generate", path))
		default:
			errs = append(errs, os.Remove(path))
		}
	}
	return errors.Join(errs...)
}

func compare(path, want string) error {
	got, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading a page: %w", err)
	}
	if !bytes.Equal(got, []byte(want)) {
		return fmt.Errorf("%s is out of date: run make generate", path)
	}
	return nil
}
