// Command docgen writes the pages of docs/reference from the tables that the
// code itself reads, so that they cannot differ. Called with -check it writes
// nothing and fails when a page is not as it would be written.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
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
	{"metrics.md", metricsPage},
	{"operations.md", operationsPage},
	{"query-types.md", queryTypesPage},
	{"query-requests.md", queryRequestsPage},
	{"scopes.md", scopesPage},
	{"tables.md", tablesPage},
	{"topics.md", topicsPage},
}

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
	for _, p := range pages {
		text, err := p.render(root)
		if err != nil {
			errs = append(errs, fmt.Errorf("making %s: %w", p.name, err))
			continue
		}
		path := filepath.Join(root, folder, p.name)
		if check {
			errs = append(errs, compare(path, text))
			continue
		}
		errs = append(errs, os.WriteFile(path, []byte(text), 0o644))
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
