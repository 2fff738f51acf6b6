package archtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatRapidHasFailedWithIsOfATestOfItsPackage(t *testing.T) {
	t.Parallel()
	violations, err := CheckFailFiles(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range violations {
		t.Error(violation)
	}
}

func TestFailuresWithoutTheirTestAreFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, folder := range []string{
		"a/testdata/rapid/TestHere", "a/testdata/rapid/TestHere_below", "a/testdata/rapid/TestThere",
		"a/testdata/other/TestX", "b/testdata/rapid/TestHere", "none/testdata/rapid/TestGone",
	} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for file, text := range map[string]string{
		"a/a_test.go": "package a\n\nfunc TestHere(t *testing.T) {}\n\nfunc TestThereAndBack(t *testing.T) {}\n",
		"a/a.go":      "package a\n\nfunc TestThere() {}\n",
		"b/b_test.go": "package b\n\nfunc TestOther(t *testing.T) {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := CheckFailFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	const why = " is of no test of its package: move it to where its test is, or remove it"
	want := []string{
		"a/testdata/rapid/TestThere" + why, "b/testdata/rapid/TestHere" + why, "none/testdata/rapid/TestGone" + why,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}
