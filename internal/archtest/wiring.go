package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// replaced are what tests and measurements replace parts of a program by, to watch it or to
// go without a lock that it has. The package that declares one hands it on; nobody else
// names it but those.
var replaced = []replacement{
	{"internal/app/sink", "Build"},
	{"internal/app/sink", "Wiring"},
	{"internal/adapter/kafka", "Fence"},
}

// replacement is a name that a package of ours declares.
type replacement struct{ folder, name string }

// CheckReplaced returns where code that is no test names what only tests replace, or fills
// it in where it is declared.
func CheckReplaced(root string, packages []Package) ([]string, error) {
	var out []string
	for _, p := range packages {
		if isTest(p.Path) || p.Path == "bench" {
			continue
		}
		files, err := filepath.Glob(filepath.Join(root, p.Path, "*.go"))
		if err != nil {
			return nil, fmt.Errorf("finding the files of %s: %w", p.Path, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			src, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			found, err := replacedIn(p.Path, string(src))
			if err != nil {
				return nil, err
			}
			for _, name := range found {
				out = append(out, fmt.Sprintf("%s/%s names %s, which only tests replace", p.Path, filepath.Base(file), name))
			}
		}
	}
	return out, nil
}

// replacedIn returns what a file of a folder names of the table.
func replacedIn(folder, src string) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), folder, src, 0)
	if err != nil {
		return nil, fmt.Errorf("reading a file of %s: %w", folder, err)
	}
	names := importNames(file)
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			of, ok := n.X.(*ast.Ident)
			if ok && of.Obj == nil && isReplaced(names[of.Name], n.Sel.Name) && !wires(folder, n.Sel.Name) {
				found = append(found, of.Name+"."+n.Sel.Name)
			}
		case *ast.CompositeLit:
			if of, ok := n.Type.(*ast.Ident); ok && isReplaced(folder, of.Name) && len(n.Elts) > 0 {
				found = append(found, of.Name)
			}
		}
		return true
	})
	return found, nil
}

// wires reports whether a folder hands on what another one declares.
func wires(folder, name string) bool { return folder == "internal/app/sink" && name == "Fence" }

func isReplaced(folder, name string) bool {
	return slices.Contains(replaced, replacement{folder, name})
}

// importNames are the folders of ours that a file imports, by the names that it has for them.
func importNames(file *ast.File) map[string]string {
	names := map[string]string{}
	for _, imp := range file.Imports {
		to := ours(strings.Trim(imp.Path.Value, `"`))
		name := filepath.Base(to)
		if imp.Name != nil {
			name = imp.Name.Name
		}
		names[name] = to
	}
	return names
}
