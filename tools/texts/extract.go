package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// text is a text of the product and its place. It has no line break.
type text struct {
	path string
	line int
	kind string
	text string
}

// Kinds of texts.
const (
	logText   = "log"
	errorText = "error"
	helpText  = "help"
	docText   = "doc"
	cliText   = "cli"
	otherText = "text" // a literal that is a sentence, in none of the places above
)

// fieldKinds are the kinds of texts by the field of a composite literal.
var fieldKinds = map[string]string{
	"Help": helpText, "Short": cliText, "Long": cliText, "Message": errorText,
	"Summary": docText, "Detail": docText, "Description": docText, "Doc": docText, "Note": docText,
	"Means": docText, "Meaning": docText, "Fix": docText, "Covers": docText, "Grants": docText,
}

// callKinds are the kinds of texts by the function that gets them. The text is the first argument
// that is a literal, from the given index on.
var callKinds = map[string]struct {
	kind string
	from int
}{
	"Debug": {logText, 0}, "Info": {logText, 0}, "Warn": {logText, 0}, "Error": {logText, 0},
	"DebugContext": {logText, 1}, "InfoContext": {logText, 1}, "WarnContext": {logText, 1},
	"ErrorContext": {logText, 1}, "Log": {logText, 2}, "LogAttrs": {logText, 2},
	"errors.New": {errorText, 0}, "fmt.Errorf": {errorText, 0}, "apierr.Invalid": {errorText, 2},
	"problem": {errorText, 2}, "Add": {errorText, 2}, "add": {errorText, 2},
}

// flagCall matches the methods of a flag set that declare a flag. Their last argument is its usage.
var flagCall = regexp.MustCompile(`^(?:Bool|Duration|Int64|Int|Uint64|Uint|String|StringArray|StringSlice|Var)(?:Var)?P?$`)

// words matches a literal with a space and a word; "%s: %w" has none.
var words = regexp.MustCompile(` .*[A-Za-z]{2}|[A-Za-z]{2}.* `)

// sentence matches a literal of at least four words that starts and ends as a sentence does.
var sentence = regexp.MustCompile(`^[A-Z][^\n{}=|]*(?: [^\s]+){3,}\.$`)

// textsBelow returns the texts of a folder's Go files, in order. Tests and their helpers have none.
func textsBelow(root string) ([]text, error) {
	var all []text
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (name == "testdata" || name == "testkit" || strings.HasSuffix(name, "test")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		all = append(all, textsOf(set, file)...)
		return nil
	})
	return all, err
}

// textsOf returns the texts of a file.
func textsOf(set *token.FileSet, file *ast.File) []text {
	var all []text
	seen := map[ast.Expr]bool{} // inside a text that was added
	add := func(kind string, e ast.Expr, literal string) {
		if literal = strings.Join(strings.Fields(literal), " "); words.MatchString(literal) {
			at := set.Position(e.Pos())
			all = append(all, text{filepath.ToSlash(at.Filename), at.Line, kind, literal})
		}
	}
	addExpr := func(kind string, e ast.Expr) {
		if literal, ok := valueOf(e); ok {
			seen[e] = true
			add(kind, e, literal)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			if n.Tag == nil {
				return true
			}
			seen[n.Tag] = true
			if tag, err := strconv.Unquote(n.Tag.Value); err == nil {
				add(helpText, n.Tag, reflect.StructTag(tag).Get("help"))
				add(docText, n.Tag, reflect.StructTag(tag).Get("doc"))
			}
		case *ast.KeyValueExpr:
			if name, ok := n.Key.(*ast.Ident); ok && fieldKinds[name.Name] != "" {
				addExpr(fieldKinds[name.Name], n.Value)
			}
		case *ast.CallExpr:
			if kind, e := textOfCall(n); e != nil {
				addExpr(kind, e)
			}
		case ast.Expr:
			if seen[n] {
				return false
			}
			if literal, ok := valueOf(n); ok && sentence.MatchString(literal) {
				add(otherText, n, literal)
				return false
			}
		}
		return true
	})
	return all
}

// textOfCall returns the argument of a call that is a text; nil for none.
func textOfCall(call *ast.CallExpr) (kind string, arg ast.Expr) {
	name := nameOf(call.Fun)
	known, ok := callKinds[name]
	if _, method, found := strings.Cut(name, "."); found && !ok {
		known, ok = callKinds[method]
		if last := len(call.Args) - 1; !ok && last >= 2 && flagCall.MatchString(method) {
			return cliText, call.Args[last]
		}
	}
	if !ok {
		return "", nil
	}
	for _, arg := range call.Args[min(known.from, len(call.Args)):] {
		if _, ok := valueOf(arg); ok {
			return known.kind, arg
		}
	}
	return "", nil
}

// nameOf returns the name of a function, with that of its package or ".method" for a method.
func nameOf(fun ast.Expr) string {
	switch fun := fun.(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		if x, ok := fun.X.(*ast.Ident); ok {
			return x.Name + "." + fun.Sel.Name
		}
		return "." + fun.Sel.Name
	}
	return ""
}

// valueOf returns the value of a string literal, or of a concatenation with one. "…" stands for what is
// not a literal.
func valueOf(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		value, err := strconv.Unquote(e.Value)
		return value, e.Kind == token.STRING && err == nil
	case *ast.ParenExpr:
		return valueOf(e.X)
	case *ast.BinaryExpr:
		left, hasLeft := valueOf(e.X)
		right, hasRight := valueOf(e.Y)
		if e.Op != token.ADD || !hasLeft && !hasRight {
			return "", false
		}
		if !hasLeft {
			left = "…"
		}
		if !hasRight {
			right = "…"
		}
		return left + right, true
	}
	return "", false
}
