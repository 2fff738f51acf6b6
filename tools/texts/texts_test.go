package main

import (
	"go/parser"
	"go/token"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const source = `package x

import "a sentence of four words."

type body struct {
	A string ` + "`json:\"a b\" help:\"Address of it.\" doc:\"The id of it.\"`" + `
}

var cmd = command{Short: "Do it", Use: "do it", Long: "Do " +
	"it now"}

func f() {
	log.ErrorContext(ctx, "it failed", slog.String("a b", "c d"))
	log.LogAttrs(ctx, level, "it was slow")
	_ = fmt.Errorf("reading %s of it: %w", "a b", errors.New("no such thing"))
	_ = apierr.Invalid("a", "rule", "a must be short")
	r.Add("b", "rule", "b is " + x + " long")
	cmd.Flags().StringVar(&v, "name", "a default", "name of it")
	gauge("a", "Rows that are waiting.")
	_ = "SELECT a FROM b"
	_ = fmt.Errorf("%s: %w", a, b)
}
`

func TestTextsOf_FindsTextsByTheirPlace(t *testing.T) {
	t.Parallel()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "x.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	want := []text{
		{"x.go", 6, helpText, "Address of it."},
		{"x.go", 6, docText, "The id of it."},
		{"x.go", 9, cliText, "Do it"},
		{"x.go", 9, cliText, "Do it now"},
		{"x.go", 13, logText, "it failed"},
		{"x.go", 14, logText, "it was slow"},
		{"x.go", 15, errorText, "reading %s of it: %w"},
		{"x.go", 15, errorText, "no such thing"},
		{"x.go", 16, errorText, "a must be short"},
		{"x.go", 17, errorText, "b is … long"},
		{"x.go", 18, cliText, "name of it"},
		{"x.go", 19, otherText, "Rows that are waiting."},
	}
	if diff := cmp.Diff(want, textsOf(set, file), cmp.AllowUnexported(text{})); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
}

func TestChoose_IsTheSameForASeed(t *testing.T) {
	t.Parallel()
	all := func() []text { return []text{{line: 1}, {line: 2}, {line: 3}, {line: 4}, {line: 5}} }
	if diff := cmp.Diff(choose(all(), 3, 7), choose(all(), 3, 7), cmp.AllowUnexported(text{})); diff != "" {
		t.Errorf("two choices differ:\n%s", diff)
	}
	if n := len(choose(all(), 9, 7)); n != 5 {
		t.Errorf("a sample of 9 has %d texts, want all 5", n)
	}
	if diff := cmp.Diff(all(), choose(all(), 0, 7), cmp.AllowUnexported(text{})); diff != "" {
		t.Errorf("no sample:\n%s", diff)
	}
}
