package tools_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/httpkit/mcp"
	"github.com/millrace/millrace/internal/api/management"
	"github.com/millrace/millrace/internal/api/queryapi"
	"github.com/millrace/millrace/internal/api/queryapi/tools"
)

var update = flag.Bool("update", false, "write the golden files")

func table(t *testing.T) []mcp.Tool {
	t.Helper()
	doc, err := queryapi.Describe(&httpkit.Site{}, "", management.Resources(management.Deps{}))
	if err != nil {
		t.Fatal(err)
	}
	all, err := tools.Table(doc)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestTable_IsAsItsGoldenFiles holds each tool as clients see it against testdata/NAME.json.
func TestTable_IsAsItsGoldenFiles(t *testing.T) {
	t.Parallel()
	var names []string
	for _, tool := range table(t) {
		names = append(names, tool.Name+".json")
		text, err := json.MarshalIndent(tool.Definition(), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", tool.Name+".json")
		if *update {
			if err := os.WriteFile(file, append(text, '\n'), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(bytes.TrimSpace(want), text) {
			t.Errorf("%s differs; go test ./internal/api/queryapi/tools -update writes it:\n%s", file, text)
		}
	}
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !slices.Contains(names, f.Name()) {
			t.Errorf("testdata/%s is of no tool", f.Name())
		}
	}
}

// A client puts the list into the model's context.
func TestTable_IsSmall(t *testing.T) {
	t.Parallel()
	const most = 36_000
	all := table(t)
	var shown []any
	for i := range all {
		shown = append(shown, all[i].Definition())
	}
	text, err := json.Marshal(shown)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > most || len(all) > mcp.MaxTools {
		t.Errorf("%d tools in %d bytes, want at most %d in %d", len(all), len(text), mcp.MaxTools, most)
	}
	if !slices.IsSortedFunc(all, func(a, b mcp.Tool) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the tools are not sorted by name")
	}
	for i := range all {
		if len(all[i].Scopes) == 0 || all[i].Title == "" || all[i].Description == "" {
			t.Errorf("%s lacks a scope, a title or a description", all[i].Name)
		}
	}
}
