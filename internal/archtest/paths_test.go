package archtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPathsThatDoNotExistAreFound(t *testing.T) {
	t.Parallel()
	const doc = "Look at `internal/archtest/paths.go`, `internal/archtest/*_test.go` and `internal/archtest/none.go`, " +
		"at `internal/archtest/none*.go` or at `internal/<room>/none.go`; internal/none is no code."
	want := []string{
		"a.md names internal/archtest/none.go, which does not exist",
		"a.md names internal/archtest/none*.go, which does not exist",
	}
	if diff := cmp.Diff(want, CheckPaths(root, "a.md", doc)); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

func TestNamesThatAFileDoesNotDeclareAreFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const src = "package a\n\ntype T[X any] struct{}\n\nfunc (t *T[X]) Go() {}\n\nfunc Run() {}\n\nconst one, Two = 1, 2\n"
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	const doc = "[`T`](a.go) [`T.Go`](a.go) [`Run`](a.go) [`Two`](a.go) [a word](a.go)\n" +
		"[`Go`](a.go) [`T.Run`](a.go) [`Three`](a.go)"
	want := []string{
		"a.md links to Go in a.go, which does not declare it",
		"a.md links to T.Run in a.go, which does not declare it",
		"a.md links to Three in a.go, which does not declare it",
	}
	if diff := cmp.Diff(want, CheckNames(dir, "a.md", doc)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if got := CheckNames(dir, "a.md", "[`T`](b.go)"); len(got) != 1 {
		t.Errorf("a file that is not there gives %q", got)
	}
}
