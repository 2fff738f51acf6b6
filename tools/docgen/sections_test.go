package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/api/rpc"
)

func TestRemoveStale_RemovesPagesNotRendered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"kept.md", "stale.md"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rendered := map[string]string{"kept.md": ""}
	if err := removeStale(dir, rendered, true); err == nil || !strings.Contains(err.Error(), "stale.md") {
		t.Errorf("check returned %v, want an error that names stale.md", err)
	}
	if err := removeStale(dir, rendered, false); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 || files[0].Name() != "kept.md" {
		t.Errorf("the folder holds %v, %v, want kept.md alone", files, err)
	}
}

func TestObjects_SharedOnesHaveASection(t *testing.T) {
	t.Parallel()
	address := []rpc.Line{{Name: "data.address", Type: "object", Object: "Address"}, {Name: "data.address.city"}}
	o := collect(&rpc.Section{Entries: []rpc.Entry{
		{Path: "a", Returns: "User", Output: address},
		{Path: "b", Returns: "User", Many: true, Output: []rpc.Line{
			{Name: "data[].address", Type: "object", Object: "Address"}, {Name: "data[].address.city"},
		}},
		{Path: "c", Input: []rpc.Line{
			{Name: "rules", Type: "list of object", Object: "Rule"},
			{Name: "rules[].op"},
			{Name: "rules[].all", Type: "list of object", Object: "Rule"},
			{Name: "last"},
		}},
	}})
	if diff := cmp.Diff([]string{"Rule", "User"}, o.sections()); diff != "" {
		t.Errorf("sections (-want +got):\n%s", diff)
	}
	want := []rpc.Line{{Name: "address", Type: "object", Object: "Address"}, {Name: "address.city"}}
	if diff := cmp.Diff(want, o.fields["User"]); diff != "" {
		t.Errorf("fields of User (-want +got):\n%s", diff)
	}
}

func TestInSets_LinksTheLargestSet(t *testing.T) {
	t.Parallel()
	views := analytics.Lookup("top_pages").Filters
	for _, c := range []struct {
		fields []string
		want   string
	}{
		{append([]string{"mine"}, views...), "[page view filters](README.md#page-view-filters), `mine`"},
		{filtersOf(analytics.Lookup("summary_metrics")), "[event filters](README.md#event-filters)"},
		{[]string{"mine"}, "`mine`"},
		{nil, ""},
	} {
		if got, err := inSets(c.fields, filterSets, filtersOf); got != c.want || err != nil {
			t.Errorf("inSets(%v) = %q, %v, want %q", c.fields, got, err, c.want)
		}
	}
}

func TestRequest_ListsCommonFieldsByName(t *testing.T) {
	t.Parallel()
	shared := rpc.Line{Name: "limit", Type: "integer", Doc: "Long."}
	d := newDocument("T", "x")
	d.request([]rpc.Line{{Name: "id", Type: "string", Required: true, Rule: "short"}, shared}, []rpc.Line{shared}, nil)
	want := "| `id` | string, required | short |\n\n[Common fields](README.md#common-fields): `limit`\n"
	if !strings.HasSuffix(d.String(), want) {
		t.Errorf("the page ends in %q, want %q", d.String(), want)
	}
}
