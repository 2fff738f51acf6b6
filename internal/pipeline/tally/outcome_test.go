package tally

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/testkit"
)

// Readers of the topic and of its table learn from these what a name may be; codes are
// listed elsewhere.
func TestTheOutcomesThatAreNoRejectionsAreDescribed(t *testing.T) {
	t.Parallel()
	var words []string
	for o := range firstRejection {
		words = append(words, o.String())
	}
	want := ": " + strings.Join(words, ", ") + ", or the "
	for _, file := range []string{"schemas/topics/ingestion.v1.json", "docs/reference/tables.md"} {
		text, err := os.ReadFile(filepath.Join(testkit.Root(t), file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%s does not say %q", file, want)
		}
	}
}
