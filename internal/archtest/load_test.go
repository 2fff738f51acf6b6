package archtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLoadReadsPackagesOfThisModuleOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, src := range map[string]string{
		"a/a.go":             "// Package a is documented.\npackage a\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n",
		"a/b.go":             "package a\n",
		"a/a_test.go":        "package a_test\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n",
		"b/main.go":          "//go:build linux\n\npackage main\n\nfunc main() {\n}\n",
		"a/testdata/x.go":    "not Go",
		".cache/x.go":        "not Go",
		"sdk/go/go.mod":      "module x\n",
		"sdk/go/x.go":        "package x\n",
		"node_modules/x.go":  "not Go",
		"documents/other.md": "# Title\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []Package{
		{Path: "a", Name: "a", Documented: true, Imports: []string{"fmt", "os"}, TestImports: []string{"testing"}},
		{Path: "b", Name: "main", MainLines: 6},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("packages (-want +got):\n%s", diff)
	}
}
