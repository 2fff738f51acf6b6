package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// calledByOthers are methods that libraries call by interfaces of theirs.
var calledByOthers = []string{"LogValue", "Logf", "MarshalJSON", "MarshalText", "OnBrokerConnect", "OnBrokerE2E"}

// keptForTests are names that tests of several packages need, of what they cannot reach.
var keptForTests = map[string]string{
	"internal/api/httpkit.ChecksOf":        "the order of checks, which tests and the reference are held against",
	"internal/contract/id.Valid":           "the form of what New makes",
	"internal/contract/record.AppendEvent": "writes what DecodeEvent reads, as an edge of another version might",
	"internal/contract/record.Hash.Hex":    "writes what ParseHash reads",
	"internal/contract/record.Types":       "the kinds of events of a topic, which is what decoding goes by",
}

// CheckUnused returns the exported names of internal that no code but tests uses: functions, types,
// variables, and methods, of which it knows the name alone, so that a method is used where one of the
// name is. Constants are left out: one of a set is there for the others, and a limit for the tag
// that says it again.
func CheckUnused(root string, packages []Package) ([]string, error) {
	u, err := usesOf(root, packages)
	if err != nil {
		return nil, err
	}
	return u.unused(), nil
}

// usesOf reads the packages that are no tests', and those that build and measure.
func usesOf(root string, packages []Package) (*uses, error) {
	u := newUses()
	for _, p := range packages {
		if isTest(p.Path) && !within(p.Path, "tools") && !within(p.Path, "bench") {
			continue
		}
		files, err := filepath.Glob(filepath.Join(root, p.Path, "*.go"))
		if err != nil {
			return nil, fmt.Errorf("finding the files of %s: %w", p.Path, err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, fmt.Errorf("looking for what %s uses: %w", path, err)
			}
			u.read(p.Path, filepath.Base(path), file)
		}
	}
	return u, nil
}

// uses are what files declare and use. A name of a package is kept behind its folder and a point,
// a method's also behind its type.
type uses struct {
	declared  map[string]string // the name of the file
	qualified map[string]bool   // by their folder
	selected  map[string]bool   // behind any point, or as a method of an interface
}

func newUses() *uses {
	return &uses{declared: map[string]string{}, qualified: map[string]bool{}, selected: map[string]bool{}}
}

// read adds what a file of a folder declares and uses.
func (u *uses) read(folder, name string, file *ast.File) {
	declaring := map[*ast.Ident]bool{}
	if within(folder, "internal") && !isTest(folder) {
		for _, d := range file.Decls {
			u.declare(folder, name, d, declaring)
		}
	}
	imported := importNames(file)
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			u.selected[n.Sel.Name] = true
			if of, ok := n.X.(*ast.Ident); ok {
				u.qualified[imported[of.Name]+"."+n.Sel.Name] = true
			}
		case *ast.InterfaceType:
			for _, method := range n.Methods.List {
				for _, name := range method.Names {
					u.selected[name.Name] = true
				}
			}
		case *ast.Ident:
			if !declaring[n] {
				u.qualified[folder+"."+n.Name] = true
			}
		}
		return true
	})
}

// declare adds the exported names of a declaration.
func (u *uses) declare(folder, file string, d ast.Decl, declaring map[*ast.Ident]bool) {
	add := func(of string, name *ast.Ident) {
		declaring[name] = true
		if name.IsExported() {
			u.declared[folder+"."+of+name.Name] = file
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		add(receiver(d), d.Name)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				add("", s.Name)
			case *ast.ValueSpec:
				for _, name := range s.Names {
					if declaring[name] = true; d.Tok == token.VAR {
						add("", name)
					}
				}
			}
		}
	}
}

// unused returns the declared names that are not used, sorted.
func (u *uses) unused() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(u.declared)) {
		_, inFolder, _ := strings.Cut(name[strings.LastIndex(name, "/")+1:], ".")
		_, method, isMethod := strings.Cut(inFolder, ".")
		used := u.qualified[name]
		if isMethod {
			used = u.selected[method] || slices.Contains(calledByOthers, method)
		}
		if !used && keptForTests[name] == "" {
			out = append(out, fmt.Sprintf("%s, in %s, is used by tests only", name, u.declared[name]))
		}
	}
	return out
}
