// Command topicgen writes what programs that tap the topics read: the AsyncAPI
// document and the types of the records, from the same tables and JSON Schemas
// that the service is held against, so that they cannot differ. Called with
// -check it writes nothing and fails when a file is not as it would be written.
//
// A topic without a schema is an error: each new one brings its contract along.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// output is one generated file. Contract is what all of them are made from.
type output struct {
	path   string
	render func(c *contract) ([]byte, error)
}

var outputs = []output{
	{"schemas/asyncapi/asyncapi.yaml", asyncAPI},
	{"sdk/topics/go/names.go", goNames},
	{"sdk/topics/go/values.go", goValues},
	{"sdk/topics/typescript/topics.ts", typeScript},
}

func main() {
	check := flag.Bool("check", false, "compare instead of writing")
	flag.Parse()
	if err := run(".", *check); err != nil {
		fmt.Fprintln(os.Stderr, "topicgen:", err)
		os.Exit(1)
	}
}

// run makes every file below root.
func run(root string, check bool) error {
	c, err := readContract(root)
	if err != nil {
		return err
	}
	var errs []error
	for _, o := range outputs {
		text, err := o.render(c)
		if err != nil {
			errs = append(errs, fmt.Errorf("making %s: %w", o.path, err))
			continue
		}
		path := filepath.Join(root, filepath.FromSlash(o.path))
		if check {
			errs = append(errs, compare(path, text))
			continue
		}
		errs = append(errs, os.WriteFile(path, text, 0o644))
	}
	return errors.Join(errs...)
}

func compare(path string, want []byte) error {
	got, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading what was generated: %w", err)
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%s is out of date: run make generate", path)
	}
	return nil
}
