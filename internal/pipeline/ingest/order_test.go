package ingest

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/api/httpkit"
)

// The steps, those of the package comment, and those that the reference tells of are the
// same ones in the same order.
func TestTheStepsAreThoseOfTheTableOfChecksAndOfThePackageComment(t *testing.T) {
	t.Parallel()
	var taken, table, told []string
	for _, s := range acceptSteps {
		taken = append(taken, s.name)
	}
	for _, c := range httpkit.ChecksOf(httpkit.Intake) {
		if c.Name != "route" && c.Name != "body" { // which are the surface's
			table = append(table, c.Name)
		}
	}
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^//  \d\. (\w+)[.,]`).FindAllStringSubmatch(string(text), -1) {
		told = append(told, strings.ToLower(m[1]))
	}
	if diff := cmp.Diff(table, taken); diff != "" {
		t.Errorf("steps (-table of checks +acceptSteps):\n%s", diff)
	}
	if diff := cmp.Diff(taken, told); diff != "" {
		t.Errorf("steps (-acceptSteps +package comment):\n%s", diff)
	}
}
