package archtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheGuideSaysWhereThingsGo(t *testing.T) {
	t.Parallel()
	const guide = "docs/guides/where-things-go.md"
	text, err := os.ReadFile(filepath.Join(root, guide))
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range CheckPlaces(root, guide, string(text)) {
		t.Error(violation)
	}
}

func TestTheArchitectureSaysWhereThingsGo(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "\n## Where do I put …\n")
	if rows := place.FindAllString(table, -1); !found || len(rows) < len(questions) {
		t.Fatalf("the table has %d rows", len(rows))
	}
	for _, violation := range CheckRows(root, page, table) {
		t.Error(violation)
	}
}

func TestFilesWithoutAFolderAreFoundWhereTheirHeadingSays(t *testing.T) {
	t.Parallel()
	lost := func(file string) []string {
		return []string{"a.md names " + file + ", which is in no place that is named with it"}
	}
	const headed = "# Rules: `internal/archtest`\n"
	for name, tc := range map[string]struct {
		document string
		want     []string
	}{
		"under its heading":         {headed + "\nThe table stands in `table.go`.\n", nil},
		"in a folder of the line":   {headed + "- `internal/contract/record/day.go` and `hash.go`\n", nil},
		"of another part":           {headed + "`hash.go`\n", lost("hash.go")},
		"of the part before":        {headed + "# Records: `internal/contract/record`\n`rules.go`\n", lost("rules.go")},
		"of the document":           {"# Rules\n`rules.go`\n# Where\n`internal/archtest/table.go`\n", nil},
		"nowhere in the document":   {"# Rules\n`none.go`, `internal/archtest`\n", lost("none.go")},
		"where nothing is named":    {"# Rules\n`rules.go`\n", nil},
		"and there is no such file": {"# Rules\n`none.go`\n", lost("none.go")},
	} {
		if diff := cmp.Diff(tc.want, CheckBareFiles(root, "a.md", tc.document)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestThingsThatHaveNoPlaceAreFound(t *testing.T) {
	t.Parallel()
	known := "| What | Where |\n|---|---|\n| " + strings.Join(questions, " | `internal/archtest` |\n| ") +
		" | `internal/archtest` |\n"
	for name, tc := range map[string]struct {
		rows string
		want []string
	}{
		"a file beside another one": {"| a rule | `internal/archtest/rules.go`, its test in `rules_test.go` |\n", nil},
		"one below a folder":        {"| a rule | the table in `table.go`, in `internal` |\n", nil},
		"one somewhere":             {"| a metric | `metrics.go` of the package |\n", nil},
		"a guide":                   {"| a noun | what [the guide](adding-a-noun.md) lists |\n", nil},
		"no place":                  {"| a rule | wherever you like |\n", []string{"a.md names no place for a rule"}},
		"a file that is elsewhere": {
			"| a rule | `internal/archtest/rules.go`, its code in `code.go` |\n",
			[]string{"a.md names code.go for a rule, which is not in [internal/archtest/rules.go]"},
		},
		"a file that is nowhere": {
			"| a rule | `none.go` |\n", []string{"a.md names none.go for a rule, which is not in [internal]"},
		},
	} {
		if diff := cmp.Diff(tc.want, CheckPlaces(root, "a.md", known+tc.rows)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := CheckPlaces(root, "a.md", "no table"); len(got) != len(questions) {
		t.Errorf("a guide without a table lacks %q", got)
	}
}
