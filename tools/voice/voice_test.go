package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/platform/config"
)

// valePath returns the Vale that make prepare built.
func valePath(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short leaves out what make prepare builds")
	}
	cache, err := config.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	built, err := filepath.Glob(filepath.Join(cache, "bin", "vale-*"))
	if err != nil || len(built) == 0 {
		t.Fatalf("no Vale in %s, %v: run make prepare", cache, err)
	}
	return built[len(built)-1]
}

var ruleCases = []struct{ rule, bad, good string }{
	{"LongSentence", strings.Repeat("word ", 25) + "end.", strings.Repeat("word ", 24) + "end."},
	{"Subject", "What fails is retried.", "What fails?"},
	{"Nobody", "A lock that nobody holds is free.", "A lock without a holder is free."},
	{"None", "There is no room for it.", "The queue is full."},
	{"Verbs", "The log tells the cause.", "The log records the cause."},
	{"Terms", "The refusal has a code.", "The rejection has a code."},
	{"Before", "Before, it failed.", "Imports work."},
}

func TestRules_FindBadSentences(t *testing.T) {
	t.Parallel()
	vale, dir := valePath(t), t.TempDir()
	var docs, texts []string
	want := map[key]int{}
	for _, c := range ruleCases {
		page := filepath.Join(dir, c.rule, "CHANGELOG.md")
		content := "# Whose\n\n" + c.good + "\n\n```sh\n# What nobody tells.\n```\n\n" + c.bad + "\n"
		if err := errors.Join(os.Mkdir(filepath.Dir(page), 0o755), os.WriteFile(page, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
		docs = append(docs, page)
		want[key{page, c.rule}] = 9
		texts = append(texts, fmt.Sprintf("good.go:1: help: %s\nbad/%s.go:7: log: %s\n", c.good, c.rule, c.bad))
		if c.rule != "Before" { // is for changelogs
			want[key{"bad/" + c.rule + ".go", c.rule}] = 7
		}
	}
	found, err := check(t.Context(), vale, "../..", docs, strings.NewReader(strings.Join(texts, "")))
	if err != nil {
		t.Fatal(err)
	}
	got := map[key]int{}
	for _, f := range found {
		got[f.key] = f.line
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(key{})); diff != "" {
		t.Errorf("lines of findings (-want +got):\n%s", diff)
	}
}

func TestReport_ListsFilesOverTheBaseline(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	found := []finding{
		{key{"a.md", "Verbs"}, 2, "second"},
		{key{"a.md", "Verbs"}, 1, "first"},
		{key{"b.md", "Verbs"}, 1, "allowed"},
		{key{"b.md", "None"}, 3, "new"},
	}
	allowed := baseline{{"a.md", "Verbs"}: 1, {"b.md", "Verbs"}: 1}
	if n := report(&out, found, allowed); n != 2 {
		t.Errorf("report returned an excess of %d, want 2", n)
	}
	want := "a.md: 2 findings of Verbs; at most 1 are allowed\n  a.md:1: first\n  a.md:2: second\n" +
		"b.md: 1 findings of None; at most 0 are allowed\n  b.md:3: new\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestLowered_NeverRaises(t *testing.T) {
	t.Parallel()
	found := []finding{{key: key{"a.md", "None"}}, {key: key{"a.md", "None"}}, {key: key{"new.md", "None"}}}
	allowed := baseline{{"a.md", "None"}: 3, {"gone.md", "None"}: 1}
	if diff := cmp.Diff(baseline{{"a.md", "None"}: 2}, lowered(allowed, found, false)); diff != "" {
		t.Errorf("lowered (-want +got):\n%s", diff)
	}
	all := baseline{{"a.md", "None"}: 2, {"new.md", "None"}: 1}
	if diff := cmp.Diff(all, lowered(nil, found, true)); diff != "" {
		t.Errorf("fresh (-want +got):\n%s", diff)
	}
}

func TestBaseline_ReadsWhatItWrote(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "baseline.txt")
	if _, err := readBaseline(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	want := baseline{{"b/c.md", "Verbs"}: 2, {"a.go", "None"}: 1}
	if err := writeBaseline(name, want); err != nil {
		t.Fatal(err)
	}
	got, err := readBaseline(name)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("baseline (-want +got), %v:\n%s", err, diff)
	}
	if err := os.WriteFile(name, []byte("a.go None many\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readBaseline(name); err == nil {
		t.Error("a line without a number passes")
	}
}

func TestDocuments_LeavesOutGeneratedOnes(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{
		"README.md", "docs/guides/a.md", "docs/reference/a.md", "docs/adr/a.md", "docs/benchmarks/a.md",
		"web/node_modules/a.md", ".cache/a.md", "docs/guides/a.txt",
	} {
		file := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	docs, err := documents(root)
	if diff := cmp.Diff([]string{"README.md", "docs/guides/a.md"}, docs); diff != "" || err != nil {
		t.Errorf("documents (-want +got), %v:\n%s", err, diff)
	}
}
