package archtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheDocumentsNameThingsThatExist(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	docs, err := Documents(root)
	if err != nil || len(docs) == 0 {
		t.Fatalf("%d documents, error %v", len(docs), err)
	}
	for name, text := range docs {
		violations := slices.Concat(CheckGoals(string(makefile), name, text), CheckLinks(root, name, text),
			CheckPaths(root, name, text), CheckNames(root, name, text))
		if strings.HasPrefix(name, "docs/runbooks/") || strings.HasPrefix(name, "docs/architecture/") {
			violations = append(violations, CheckMetrics(docs["docs/reference/metrics.md"], name, text)...)
		}
		for _, violation := range violations {
			t.Error(violation)
		}
	}
}

func TestDocs_IndexLeadsToEveryPage(t *testing.T) {
	t.Parallel()
	docs, err := Documents(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range CheckIndex(docs) {
		t.Error(violation)
	}
	docs["docs/guides/new.md"] = "# New\n"
	if got := CheckIndex(docs); len(got) != 1 || got[0] != "docs/README.md does not lead to docs/guides/new.md" {
		t.Errorf("with a page that nothing links to: %q", got)
	}
}

func TestGoalsAndLinksThatDoNotExistAreFound(t *testing.T) {
	t.Parallel()
	const doc = "Call `make run`, then `make dance`. We make sense.\n\n    make test-short\n\n```\n$ make sing\n```\n"
	got := CheckGoals("run: build ## Run\ntest-short:\n", "README.md", doc)
	if diff := cmp.Diff(
		[]string{"README.md says make dance, which is no goal", "README.md says make sing, which is no goal"},
		got); diff != "" {
		t.Errorf("goals (-want +got):\n%s", diff)
	}
	const links = "# Where: it_is, now\n[a](docs/adr/README.md#decisions) [b](docs/none.md) " +
		"[c](https://example.com/x#y) [d](#where-it_is-now)\n" +
		"[e](docs/adr/README.md#none) [f](#here)"
	if diff := cmp.Diff([]string{
		"README.md links to docs/none.md, which does not exist",
		"README.md links to docs/adr/README.md#none, which is no heading",
		"README.md links to #here, which is no heading",
	}, CheckLinks(root, "README.md", links)); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
}

func TestMetricsThatDoNotExistAreFound(t *testing.T) {
	t.Parallel()
	got := CheckMetrics("| `millrace_sink_lag_seconds` | Age |\n", "a.md",
		"`max(millrace_sink_lag_seconds)`, `millrace_sink_lag`, `millrace_sink_lag`")
	if diff := cmp.Diff([]string{"a.md names millrace_sink_lag, which is no metric"}, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}
