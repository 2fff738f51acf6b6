package archtest

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNoNameOfAFileHasARetiredWord(t *testing.T) {
	t.Parallel()
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == ".cache" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		files++
		for _, violation := range CheckFileName(path) {
			t.Error(violation)
		}
		return nil
	})
	if err != nil || files < 1000 {
		t.Errorf("%d files, %v", files, err)
	}
}

func TestNoNameAndNoMessageHasARetiredWord(t *testing.T) {
	t.Parallel()
	err := Texts(root, func(name, text string) {
		if !strings.HasSuffix(name, ".go") {
			return
		}
		violations, err := CheckParts(name, text)
		if err != nil {
			t.Error(err)
		}
		for _, violation := range violations {
			t.Error(violation)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

func TestRetiredWordsInNamesAndMessagesAreFound(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		file, source string
		want         []string
	}{
		"of a function": {
			"a.go", "func allRefusals() {}",
			[]string{"a.go calls something allRefusals: it is rejections"},
		},
		"of a parameter": {
			"a.go", "func f(laneName int) {}",
			[]string{"a.go calls something laneName: it is pipeline"},
		},
		"of a field": {
			"a.go", "type t struct{ IsStuck bool }",
			[]string{"a.go calls something IsStuck: it is halted"},
		},
		"of a variable": {
			"a.go", "func f() { answer := 1 }",
			[]string{"a.go calls something answer: it is response or result"},
		},
		"within another word": {"a.go", "var plane, heartbeat int", nil},
		"a sentence":          {"a_test.go", "func TestWhatIsRefused() {}", nil},
		"for a reason":        {"internal/tenant/org/a.go", "type t struct{ Lanes int }", nil},
		"the same elsewhere": {
			"internal/tenant/a.go", "type t struct{ Lanes int }",
			[]string{"internal/tenant/a.go calls something Lanes: it is pipelines"},
		},
		"an error": {
			"a.go", `var e = errors.New("writing an answer")`,
			[]string{`a.go says "an answer" in "writing an answer"`},
		},
		"one of several": {
			"a.go", `var e = fmt.Errorf("a" + "lane %s", f("the answer"))`,
			[]string{`a.go says "lane" in "lane %s"`},
		},
		"a line of the log": {
			"a.go", `var e = log.Warn("the key is refused")`,
			[]string{`a.go says "is refused" in "the key is refused"`},
		},
		"plain English":      {"a.go", `var e = errors.New("the server does not answer and refuses to start")`, nil},
		"something else":     {"a.go", `var e = f("an answer")`, nil},
		"an error of a test": {"a_test.go", `var e = errors.New("an answer")`, nil},
	} {
		got, err := CheckParts(tc.file, "package p\n\n"+tc.source+"\n")
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	if _, err := CheckParts("a.go", "not Go"); err == nil {
		t.Error("a file that is no program is not an error")
	}
	want := []string{`tests/query_answers.txtar has "answers" in its name: it is responses or results`}
	if diff := cmp.Diff(want, CheckFileName("tests/query_answers.txtar")); diff != "" {
		t.Errorf("the name of a file (-want +got):\n%s", diff)
	}
	if got := CheckFileName("docs/lane/control-plane.md"); got != nil {
		t.Errorf("the name of a file without one: %q", got)
	}
}

func TestEachWordingIsUsed(t *testing.T) {
	t.Parallel()
	unused := map[string]bool{}
	for _, w := range wordings {
		unused[w.where+" "+w.name] = true
	}
	err := Texts(root, func(name, text string) {
		for _, w := range wordings {
			if filepath.ToSlash(filepath.Dir(name)) == w.where && strings.Contains(text, w.name) {
				delete(unused, w.where+" "+w.name)
			}
		}
	})
	if err != nil || len(unused) > 0 {
		t.Errorf("nothing is called %v any more, error %v", unused, err)
	}
}
