package archtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheGuideTellsWhatGoesIntoEachFolderOfTests(t *testing.T) {
	t.Parallel()
	const guide = "docs/guides/running-the-tests.md"
	text, err := os.ReadFile(filepath.Join(root, guide))
	if err != nil {
		t.Fatal(err)
	}
	violations, err := CheckTestFolders(root, guide, string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range violations {
		t.Error(violation)
	}
}

func TestFoldersOfTestsThatNobodyTellsOfAreFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, folder := range []string{
		"tests/fault/proxy", "tests/fault/testdata", "tests/misc/thing", "tests/system/quota",
	} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	rows := "| `" + strings.Join(testKinds, "` | x |\n| `") + "` | x |\n"
	for name, tc := range map[string]struct {
		document string
		want     []string
	}{
		"all is told but what lies in the wrong place": {
			rows + "* `tests/fault`: x\n* `tests/fault/proxy`: x\n* `tests/misc/thing`: x\n* `tests/system/quota`: x\n",
			nil,
		},
		"a folder is not told of": {
			rows + "* `tests/fault/proxy`: x\n* `tests/misc/thing`: x\n",
			[]string{"a.md does not tell of tests/system/quota: say what it proves"},
		},
		"a folder is told of that is not there": {
			rows + "* `tests/fault/proxy`: x\n* `tests/misc/thing`: x\n* `tests/system/quota`: x\n* `tests/model/none`: x\n",
			[]string{"a.md tells of tests/model/none, which is no folder of tests"},
		},
	} {
		got, err := CheckTestFolders(dir, "a.md", tc.document)
		if err != nil {
			t.Fatal(err)
		}
		misplaced := "tests/misc is no kind of tests: move it below one of [" + strings.Join(testKinds, " ") + "]"
		if diff := cmp.Diff(append([]string{misplaced}, tc.want...), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got, err := CheckTestFolders(dir, "a.md", "no table"); err != nil || len(got) != 5 {
		t.Errorf("a guide without a table has %q, %v", got, err)
	}
}
