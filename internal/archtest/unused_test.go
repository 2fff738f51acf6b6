package archtest

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatIsExportedIsUsedByMoreThanTests(t *testing.T) {
	t.Parallel()
	packages, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	violations, err := CheckUnused(root, packages)
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range violations {
		t.Error(violation)
	}
}

func TestWhatIsExportedForTestsAloneIsFound(t *testing.T) {
	t.Parallel()
	const used = "package b\n\nimport \"" + Module + "/internal/a\"\n\n" +
		"var _ = a.Used(a.Value)\n\ntype is interface{ Asked() }\n"
	for name, tc := range map[string]struct {
		source string
		want   []string
	}{
		"functions": {"func Used(int) {}\n\nfunc Unused() {}", []string{"internal/a.Unused, in a.go, is used by tests only"}},
		"variables": {"var Value, Other = 1, 2", []string{"internal/a.Other, in a.go, is used by tests only"}},
		"types":     {"type T struct{}", []string{"internal/a.T, in a.go, is used by tests only"}},
		"methods": {
			"type t struct{}\n\nfunc (t) Used() {}\n\nfunc (*t) Asked() {}\n\nfunc (*t) Never() {}",
			[]string{"internal/a.t.Never, in a.go, is used by tests only"},
		},
		"methods that libraries call": {"type t struct{}\n\nfunc (t) MarshalJSON() {}", nil},
		"used where it is":            {"func Own() {}\n\nvar _ = Own", nil},
		"constants":                   {"const One, Two = 1, 2", nil},
		"what is not exported":        {"func own() {}", nil},
	} {
		u := newUses()
		for folder, source := range map[string]string{"internal/a": "package a\n\n" + tc.source + "\n", "internal/b": used} {
			file, err := parser.ParseFile(token.NewFileSet(), folder, source, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			u.read(folder, "a.go", file)
		}
		if diff := cmp.Diff(tc.want, u.unused()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// What is listed as kept for tests would be found otherwise.
func TestWhatIsKeptForTestsIsUsedByNothingElse(t *testing.T) {
	t.Parallel()
	packages, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	u, err := usesOf(root, packages)
	if err != nil {
		t.Fatal(err)
	}
	for name := range keptForTests {
		_, declared := u.declared[name]
		isMethod := strings.Count(name, ".") > 1
		if !declared || u.qualified[name] || isMethod && u.selected[name[strings.LastIndex(name, ".")+1:]] {
			t.Errorf("%s is no name that only tests use", name)
		}
	}
}
