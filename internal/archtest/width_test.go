package archtest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNoDocumentIsTooWide(t *testing.T) {
	t.Parallel()
	docs, err := Documents(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range docs {
		for _, violation := range CheckWidth(name, text) {
			t.Error(violation)
		}
	}
}

func TestWideLinesAreFound(t *testing.T) {
	t.Parallel()
	fits, wide := strings.Repeat("é", maxWidth)+"\n", strings.Repeat("é", maxWidth+1)+"\n"
	for name, tc := range map[string]struct {
		document string
		want     []string
	}{
		"as wide as a page":     {fits, nil},
		"one more":              {fits + wide, []string{"a.md:2 has more than 120 characters"}},
		"code":                  {"```\n" + wide + "```\n    " + wide, nil},
		"code of an item":       {"1. ```sh\n" + wide + "   ```\n", nil},
		"behind code":           {"```\n```\n" + wide, []string{"a.md:3 has more than 120 characters"}},
		"what a program writes": {"<!-- table: written by `x` -->\n" + wide + "<!-- /table -->\n", nil},
		"behind what it writes": {
			"<!-- table: written by `x` -->\n<!-- /table -->\n" + wide, []string{"a.md:3 has more than 120 characters"},
		},
		"a comment is no program": {"<!-- note -->\n" + wide, []string{"a.md:2 has more than 120 characters"}},
	} {
		if diff := cmp.Diff(tc.want, CheckWidth("a.md", tc.document)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := CheckWidth("docs/reference/a.md", wide); got != nil {
		t.Errorf("a page of the reference: %q", got)
	}
}
