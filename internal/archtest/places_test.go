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
