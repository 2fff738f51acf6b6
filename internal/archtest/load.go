package archtest

import (
	"bytes"
	"cmp"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Package is what the rules know of one package.
type Package struct {
	// Path is the folder relative to the module, such as "internal/contract/event".
	Path string
	// Name is the package clause's.
	Name string
	// Documented says that a file has a comment on the package.
	Documented bool
	// MainLines is the length of main.go; 0 when there is none.
	MainLines int
	// Imports are the paths that the package itself imports, TestImports those
	// of its tests only; both sorted.
	Imports, TestImports []string
}

// Load reads every package of the module in root, sorted by path. Folders of
// other modules, of test data, and those whose name begins with a dot or an
// underscore are left out.
func Load(root string) ([]Package, error) {
	found := map[string]*draft{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && skip(path, d.Name()):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		dir = filepath.ToSlash(dir)
		if found[dir] == nil {
			found[dir] = &draft{imports: map[string]bool{}, testImports: map[string]bool{}}
		}
		return found[dir].read(path)
	})
	if err != nil {
		return nil, fmt.Errorf("reading the packages of %s: %w", root, err)
	}
	packages := make([]Package, 0, len(found))
	for dir, d := range found {
		packages = append(packages, d.finish(dir))
	}
	slices.SortFunc(packages, func(a, b Package) int { return cmp.Compare(a.Path, b.Path) })
	return packages, nil
}

func skip(path, name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "node_modules" {
		return true
	}
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil
}

type draft struct {
	name                 string
	documented           bool
	mainLines            int
	imports, testImports map[string]bool
}

func (d *draft) read(path string) error {
	src, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, src, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return err
	}
	into := d.imports
	if strings.HasSuffix(path, "_test.go") {
		into = d.testImports
	}
	if d.name == "" || !strings.HasSuffix(path, "_test.go") {
		d.name = strings.TrimSuffix(file.Name.Name, "_test")
	}
	d.documented = d.documented || file.Doc != nil && strings.TrimSpace(file.Doc.Text()) != ""
	if filepath.Base(path) == "main.go" {
		d.mainLines = bytes.Count(src, []byte("\n"))
	}
	for _, imp := range file.Imports {
		name, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			return err
		}
		into[name] = true
	}
	return nil
}

func (d *draft) finish(dir string) Package {
	for name := range d.imports {
		delete(d.testImports, name)
	}
	return Package{
		Path: dir, Name: d.name, Documented: d.documented, MainLines: d.mainLines,
		Imports: slices.Sorted(maps.Keys(d.imports)), TestImports: slices.Sorted(maps.Keys(d.testImports)),
	}
}
