package schema

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// unasked are tables that views fill and no question is answered from.
var unasked = map[string]string{
	"events_15m": "what other rollups are read against where something differs, and for people who read the tables " +
		"(docs/adr/0015)",
}

// asking are the folders whose SQL answers somebody, but for files that say what tables are
// and whether rollups agree.
const analytics = "../../../analytics"

var (
	asking  = []string{".", "../query", "../ledgerstore", "../deletion", "../insert", "../inspect", analytics}
	telling = regexp.MustCompile(`^(table_.*|table|rollups.*|.*_test)\.go$`)
)

func TestEveryRollupIsReadByAQuestion(t *testing.T) {
	t.Parallel()
	texts := askedFor(t)
	if len(texts) < 100 {
		t.Fatalf("only %d texts were found", len(texts))
	}
	for _, v := range Views {
		name := regexp.MustCompile(`\b(?:FROM|JOIN) ` + v.To + `\b|^"` + v.To + ` (?:FINAL )?WHERE`)
		switch read := slices.ContainsFunc(texts, name.MatchString); {
		case !read && unasked[v.To] == "":
			t.Errorf("%s fills %s, which no question reads: drop both", v.Name, v.To)
		case read && unasked[v.To] != "":
			t.Errorf("%s is read by a question: take it out of unasked", v.To)
		}
	}
	for table := range unasked {
		if !slices.ContainsFunc(Views, func(v View) bool { return v.To == table }) {
			t.Errorf("no view fills %s", table)
		}
	}
}

// askedFor returns the texts of the code that asks tables.
func askedFor(t *testing.T) []string {
	t.Helper()
	var texts []string
	for _, folder := range asking {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if telling.MatchString(filepath.Base(file)) && folder != analytics || strings.HasSuffix(file, "_test.go") {
				continue
			}
			texts = append(texts, textsOf(t, file)...)
		}
	}
	return texts
}

// textsOf returns the literal texts of a file. Names of tables that others read FROM are
// constants or fields of their own.
func textsOf(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			if strings.HasPrefix(n.Names[0].Name, "table") && len(n.Values) == 1 {
				texts = append(texts, tableRead(n.Values[0])...)
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "table" {
				texts = append(texts, tableRead(n.Value)...)
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				texts = append(texts, n.Value)
			}
		}
		return true
	})
	return texts
}

func tableRead(name ast.Expr) []string {
	lit, ok := name.(*ast.BasicLit)
	if !ok {
		return nil
	}
	return []string{"FROM " + strings.Trim(lit.Value, `"`)}
}
