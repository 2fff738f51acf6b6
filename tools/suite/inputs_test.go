package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// aCheckout makes a committed module in which tests of top use mid, which uses low, tests of runs
// start the program cmd/sink, and all tests read docs/a.md. It returns the module's folder.
func aCheckout(t *testing.T) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	test := func(name string) string {
		return "package " + name + "\nimport (\"os\"; \"testing\")\nfunc TestA(t *testing.T) " +
			"{ if os.Getenv(\"FAIL\") == \"" + name + "\" { t.Fatal(\"seen\") }; _, _ = os.ReadFile(\"../docs/a.md\") }\n"
	}
	imports := func(name, of string) string {
		return "package " + name + "\nimport _ \"" + modulePath + of + "\"\n"
	}
	for file, text := range map[string]string{
		"go.mod":                               "module " + strings.TrimSuffix(modulePath, "/") + "\n\ngo 1.26\n",
		"Makefile":                             "all:\n",
		"docs/a.md":                            "text",
		"low/low.go":                           "package low\n",
		"low/low_test.go":                      test("low"),
		"mid/mid.go":                           imports("mid", "low"),
		"mid/embed.go":                         "package mid\nimport _ \"embed\"\n//go:embed mid.txt\nvar text string\n",
		"mid/mid.txt":                          "embedded",
		"top/top_test.go":                      test("top"),
		"top/imports_test.go":                  imports("top", "mid"),
		"top/testdata/deep/a.txt":              "data",
		"runs/runs_test.go":                    test("runs"),
		"runs/imports_test.go":                 imports("runs", "internal/testkit/programs"),
		"internal/testkit/programs/program.go": "package programs\n",
		"cmd/sink/main.go":                     imports("main", "served") + "func main() {}\n",
		"served/served.go":                     "package served\n",
	} {
		write(t, filepath.Join(root, file), text)
	}
	git(t, root, "init", "-q")
	commit(t, root)
	return root
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func git(t *testing.T, root string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=n", "-c", "user.email=e"}, args...)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func commit(t *testing.T, root string) {
	t.Helper()
	git(t, root, "add", ".")
	git(t, root, "commit", "-q", "-m", "state")
}

// inputsOf reads the inputs of a checkout with marks in a folder beside it.
func inputsOf(t *testing.T, root string) *inputs {
	t.Helper()
	src := &sources{root: root, packages: map[string]pkgSource{}, tested: map[string][]string{}}
	if err := src.read(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	in, err := readInputs(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	in.folder = root + ".passed"
	return in
}

func everyPackage(in *inputs) *stage { return &stage{packages: in.tested[""]} }

// short returns import paths as folders.
func short(pkgs []string) string {
	var out []string
	for _, p := range pkgs {
		out = append(out, strings.TrimPrefix(p, modulePath))
	}
	return strings.Join(out, " ")
}

func TestInputs_RunPackagesThatSeeAChange(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ file, runs string }{
		{"low/low.go", "low top"},
		{"low/low_test.go", "low"},
		{"low/other.md", "low"},
		{"mid/mid.txt", "top"},
		{"top/testdata/deep/a.txt", "top"},
		{"top/testdata/new.txt", "top"},
		{"served/served.go", "runs"},
		{"docs/a.md", ""},
		{"go.mod", "low runs top"},
		{"tools/suite/budget.txt", "low runs top"},
		{"sdk/go/go.sum", "low runs top"},
	} {
		t.Run(tc.file, func(t *testing.T) {
			t.Parallel()
			root := aCheckout(t)
			before := inputsOf(t, root)
			all := everyPackage(before)
			if unchanged := before.drop(everyPackage(before)); len(unchanged) > 0 {
				t.Fatalf("unchanged before the first run: %v", unchanged)
			}
			if err := before.record(t.Context(), all, all.packages); err != nil {
				t.Fatal(err)
			}
			again := everyPackage(before)
			if unchanged := before.drop(again); !slices.Equal(unchanged, all.packages) || len(again.packages) > 0 {
				t.Errorf("unchanged after a pass: %v; runs %v", unchanged, again.packages)
			}
			text, _ := os.ReadFile(filepath.Join(root, tc.file))
			write(t, filepath.Join(root, tc.file), string(text)+"\n")
			runs := func(state string) {
				in := inputsOf(t, root)
				s := everyPackage(in)
				in.drop(s)
				if got := short(s.packages); got != tc.runs {
					t.Errorf("%s: runs %q, want %q", state, got, tc.runs)
				}
				if err := in.record(t.Context(), s, s.packages); err != nil {
					t.Error(err)
				}
			}
			runs("not committed")
			runs("not committed, after a pass")
			commit(t, root)
			runs("committed")
		})
	}
}

func TestInputs_RunPackagesThatPassedOtherwise(t *testing.T) {
	t.Parallel()
	in := inputsOf(t, aCheckout(t))
	if err := in.record(t.Context(), everyPackage(in), in.tested[""]); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*stage, *inputs){
		"with the race detector": func(s *stage, _ *inputs) { s.raced = true },
		"with other settings":    func(s *stage, _ *inputs) { s.env = []string{"A=1"} },
		"with another Go":        func(_ *stage, in *inputs) { in.base += "go1.99" },
	} {
		other, s := *in, everyPackage(in)
		change(s, &other)
		if unchanged := other.drop(s); len(unchanged) > 0 {
			t.Errorf("%s: unchanged %v", name, unchanged)
		}
	}
}

func TestInputs_AreUnknownWithoutGit(t *testing.T) {
	t.Parallel()
	in, err := readInputs(t.Context(), &sources{root: t.TempDir()})
	if in != nil || err == nil || !strings.Contains(err.Error(), "not a git repository") {
		t.Errorf("readInputs() = %v, %v", in, err)
	}
}

// A package that does not parse is go test's to report.
func TestSources_ListPackagesThatDoNotParse(t *testing.T) {
	t.Parallel()
	root := aCheckout(t)
	write(t, filepath.Join(root, "low", "low.go"), "package low\nfunc {\n")
	if in := inputsOf(t, root); short(in.tested[""]) != "low runs top" {
		t.Errorf("tested are %v", in.tested)
	}
}

func TestInputs_RecordNothingOfACheckoutThatChanged(t *testing.T) {
	t.Parallel()
	root := aCheckout(t)
	in := inputsOf(t, root)
	write(t, filepath.Join(root, "low", "low.go"), "package low // changed while its tests ran\n")
	commit(t, root)
	if err := in.record(t.Context(), everyPackage(in), in.tested[""]); err != nil {
		t.Fatal(err)
	}
	if unchanged := in.drop(everyPackage(in)); len(unchanged) > 0 {
		t.Errorf("unchanged %v", unchanged)
	}
}

func TestInputs_ForgetOldMarks(t *testing.T) {
	t.Parallel()
	in := inputsOf(t, aCheckout(t))
	old, used := filepath.Join(in.folder, "old-1"), filepath.Join(in.folder, "used-1")
	write(t, old, "")
	write(t, used, "")
	then := time.Now().Add(-keepFor - time.Hour)
	if err := os.Chtimes(old, then, then); err != nil {
		t.Fatal(err)
	}
	if err := in.record(t.Context(), everyPackage(in), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old mark: %v", err)
	}
	if _, err := os.Stat(used); err != nil {
		t.Errorf("the mark in use: %v", err)
	}
}

func TestInputs_NameFilesThatAreNotDeclared(t *testing.T) {
	t.Parallel()
	root := aCheckout(t)
	in := inputsOf(t, root)
	log := strings.Join([]string{
		"# test log", "getenv HOME", "open top_test.go", "open testdata", "stat ../docs", "stat ../go.mod",
		"open ../docs/a.md", "open ../docs",
		"open " + filepath.Join(root, "mid", "mid.go"), "stat " + filepath.Join(root, "served", "served.go"),
		"open /etc/passwd", "open ../nothing", "chdir ../served", "open served.go", "open ../low/low_test.go",
	}, "\n")
	want := []string{"docs/", "docs/a.md", "low/low_test.go", "served/served.go"}
	if diff := cmp.Diff(want, in.undeclared(modulePath+"top", []byte(log))); diff != "" {
		t.Errorf("undeclared (-want +got):\n%s", diff)
	}
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == runBinary {
		fmt.Fprintln(os.Stderr, execBinary(os.Args[2:]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestExecBinary_LogsOpenedFiles(t *testing.T) {
	t.Parallel()
	root, logs := aCheckout(t), t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	runner := strings.Join([]string{self, runBinary, logs}, " ")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-exec", runner, "./top", "./low")
	cmd.Dir, cmd.Env = root, append(cmd.Environ(), "FAIL=low")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "ok") {
		t.Errorf("one package passes and one fails: %v\n%s", err, out)
	}
	log, err := os.ReadFile(logOf(logs, filepath.Join(root, "top")))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"docs/a.md"}, inputsOf(t, root).undeclared(modulePath+"top", log)); diff != "" {
		t.Errorf("undeclared (-want +got):\n%s", diff)
	}
}
