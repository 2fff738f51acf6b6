package archtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheGlossaryIsInOrderAndSaysWhere(t *testing.T) {
	t.Parallel()
	const glossary = "docs/glossary.md"
	text, err := os.ReadFile(filepath.Join(root, glossary))
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range CheckGlossary(glossary, string(text)) {
		t.Error(violation)
	}
	meanings, err := CheckMeanings(root, glossary, string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range meanings {
		t.Error(violation)
	}
	const wrong = "- **b**: what b is. [`B`](b.go)\n- **a**: what a is,\n  at length. [`A`](a.go)\n- **a**: again\n"
	want := []string{`g.md has "a" behind "b"`, `g.md has "a" behind "a"`, `g.md does not say where "a" is`}
	if diff := cmp.Diff(want, CheckGlossary("g.md", wrong)); diff != "" {
		t.Errorf("a wrong glossary (-want +got):\n%s", diff)
	}
	if got := CheckGlossary("g.md", "# Glossary\n"); len(got) != 1 {
		t.Errorf("an empty glossary gives %q", got)
	}
}

func TestMeaningsOfWordsThatNothingHasAreFound(t *testing.T) {
	t.Parallel()
	const rows = "| room | `internal/archtest` | a folder |\n| rooms | `internal/archtest` | folders |\n" +
		"| contract | `internal/contract` | of its own name |\n| hall | `internal/archtest` | is none |\n"
	got, err := CheckMeanings(root, "g.md", rows)
	want := []string{`g.md says what "hall" means in internal/archtest, which declares nothing of the name`}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}
