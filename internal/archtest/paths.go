package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
)

var (
	// pathSaid is a file or folder, or a pattern of files, in a document's code.
	pathSaid = regexp.MustCompile("`((?:bench|cmd|deploy|docs|internal|schemas|sdk|tests|tools|web)/[-\\w./*]*)`")
	// nameLinked is a link by the name of what stands in a file of code.
	nameLinked = regexp.MustCompile("\\[`([A-Za-z][\\w.]*)`\\]\\(([^)#\\s]*\\.go)\\)")
)

// CheckPaths returns the files and folders that a document names and that are not there.
func CheckPaths(root, name, document string) []string {
	var out []string
	for _, m := range pathSaid.FindAllStringSubmatch(document, -1) {
		found, err := filepath.Glob(filepath.Join(root, m[1]))
		if said := fmt.Sprintf("%s names %s, which does not exist", name, m[1]); err != nil || len(found) == 0 {
			out = append(out, said)
		}
	}
	return out
}

// CheckNames returns the links of a document by the name of a function, a method such as
// Service.Create, a type or a value, to a file of code that does not declare it.
func CheckNames(root, name, document string) []string {
	var out []string
	for _, m := range nameLinked.FindAllStringSubmatch(document, -1) {
		declared, err := declarations(filepath.Join(root, filepath.Dir(name), m[2]))
		switch {
		case err != nil:
			out = append(out, fmt.Sprintf("%s links to %s, which cannot be read: %v", name, m[2], err))
		case !slices.Contains(declared, m[1]):
			out = append(out, fmt.Sprintf("%s links to %s in %s, which does not declare it", name, m[1], m[2]))
		}
	}
	return out
}

// declarations returns the names that a file declares at its top, methods with their type.
func declarations(path string) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("reading what %s declares: %w", path, err)
	}
	var names []string
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names = append(names, receiver(d)+d.Name.Name)
		case *ast.GenDecl:
			names = append(names, namesOf(d)...)
		}
	}
	return names, nil
}

// receiver returns the type of a method and a point; "" of a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	t := f.Recv.List[0].Type
	if pointer, ok := t.(*ast.StarExpr); ok {
		t = pointer.X
	}
	switch generic := t.(type) {
	case *ast.IndexExpr:
		t = generic.X
	case *ast.IndexListExpr:
		t = generic.X
	}
	if name, ok := t.(*ast.Ident); ok {
		return name.Name + "."
	}
	return ""
}

func namesOf(d *ast.GenDecl) []string {
	var names []string
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			names = append(names, s.Name.Name)
		case *ast.ValueSpec:
			for _, n := range s.Names {
				names = append(names, n.Name)
			}
		}
	}
	return names
}
