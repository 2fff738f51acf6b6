package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// aModule writes a module with a package each of tests that pass, fail, fail beside any
// test, and hang.
func aModule(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	for file, text := range map[string]string{
		"go.mod":     "module " + modulePath[:len(modulePath)-1] + "\n\ngo 1.26\n",
		"good/a.txt": "beside the test",
		"good/a_test.go": "package good\nimport (\"os\"; \"testing\")\nfunc TestA(t *testing.T) { if _, err := " +
			"os.Stat(\"a.txt\"); err != nil { t.Fatal(err) } }\nfunc TestB(t *testing.T) {}\n",
		"bad/a_test.go": "package bad\nimport \"testing\"\nfunc TestA(t *testing.T) { t.Run(\"part\", func(t " +
			"*testing.T) { t.Error(\"seen\") }) }\nfunc TestB(t *testing.T) {}\n",
		"worse/a_test.go": "package worse\nimport (\"testing\"; \"os\")\nfunc TestMain(m *testing.M) { m.Run(); " +
			"os.Exit(3) }\nfunc TestA(t *testing.T) {}\n",
		"hung/a_test.go": "package hung\nimport \"testing\"\nfunc TestA(t *testing.T) { select {} }\n",
	} {
		file = filepath.Join(root, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// told runs what link has built, and returns what its events come to.
func told(t *testing.T, l linked, args ...string) (found outcome, failed bool) {
	t.Helper()
	var events bytes.Buffer
	passed := l.runAll(t.Context(), args, &events)
	found, err := judge(&events)
	if err != nil {
		t.Fatal(err)
	}
	return found, !passed
}

func TestTestsThatAreBuiltBeforeTellWhatGoTestWould(t *testing.T) {
	t.Parallel()
	s := stage{name: "x y", timeout: time.Minute, count: 2}
	for _, p := range []string{"good", "bad", "worse", "hung"} {
		s.packages = append(s.packages, modulePath+p)
	}
	l, err := s.link(t.Context(), aModule(t), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l.timeout = 2 * time.Second
	for _, tc := range []struct {
		args   []string
		tests  int
		failed []string
	}{
		{[]string{modulePath + "good"}, 2, nil},
		{s.packages, 6, []string{modulePath + "bad\tTestA/part", modulePath + "hung\tTestA", modulePath + "worse"}},
		{append(slices.Clone(s.packages), "-test.run=^TestB$", modulePath+"bad"), 1, nil},
		{
			append(slices.Clone(s.packages), "-test.run=^TestA$/^part$", modulePath+"bad"), 1,
			[]string{modulePath + "bad\tTestA/part"},
		},
	} {
		found, failed := told(t, l, tc.args...)
		var names []string
		for _, f := range found.failed {
			names = append(names, f.String())
		}
		slices.Sort(names)
		if diff := cmp.Diff(tc.failed, names); diff != "" || failed != (len(tc.failed) > 0) || found.tests != tc.tests {
			t.Errorf("%q: %d tests, want %d; failed %v (-want +got):\n%s", tc.args, found.tests, tc.tests, failed, diff)
		}
	}
}

func TestTestsThatDoNotBuildAreNamed(t *testing.T) {
	t.Parallel()
	root := aModule(t)
	if err := os.WriteFile(filepath.Join(root, "bad", "b_test.go"),
		[]byte("package bad\nvar x = nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := stage{name: "x", packages: []string{modulePath + "bad"}}
	if _, err := s.link(t.Context(), root, t.TempDir()); err == nil ||
		!bytes.Contains([]byte(err.Error()), []byte("undefined: nothing")) {
		t.Errorf("link() = %v", err)
	}
}

func TestLinesOfSeveralWritersStayWhole(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	whole := &lines{to: &out}
	a, b := &line{lines: whole}, &line{lines: whole}
	for _, w := range []struct {
		to   *line
		text string
	}{{a, "one "}, {b, "two\nthree"}, {a, "line\nand"}, {b, "\n"}, {a, " more\n"}} {
		if n, err := w.to.Write([]byte(w.text)); n != len(w.text) || err != nil {
			t.Errorf("Write(%q) = %d, %v", w.text, n, err)
		}
	}
	if diff := cmp.Diff("two\none line\nthree\nand more\n", out.String()); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
}
