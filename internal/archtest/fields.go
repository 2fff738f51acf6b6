package archtest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// FieldsRead returns for each of the files of the module in root, named as in
// "internal/tenant/org/org.go", the fields that it selects of the structures that packages of
// ours declare, as in "internal/tenant/org.Organization.Name". A field of an embedded structure is
// one of the structure that declares it.
func FieldsRead(ctx context.Context, root string, files ...string) (map[string]map[string]bool, error) {
	folders := map[string]bool{}
	for _, file := range files {
		folders[filepath.ToSlash(filepath.Dir(file))] = true
	}
	exports, err := exportsOf(ctx, root, slices.Sorted(maps.Keys(folders)))
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	from := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	read := map[string]map[string]bool{}
	for folder := range folders {
		if err := selectedIn(set, from, root, folder, read); err != nil {
			return nil, fmt.Errorf("reading the types of %s: %w", folder, err)
		}
	}
	return read, nil
}

// exportsOf returns the files that say what the packages of folders, and all that they import,
// export; the go command compiles what it has not compiled yet.
func exportsOf(ctx context.Context, root string, folders []string) (map[string]string, error) {
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}
	for _, folder := range folders {
		args = append(args, "./"+folder)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing what %s export: %w", folders, err)
	}
	exports := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		path, file, _ := strings.Cut(lines.Text(), " ")
		exports[path] = file
	}
	return exports, nil
}

// selectedIn adds what the files of one folder select to read.
func selectedIn(
	set *token.FileSet, from types.Importer, root, folder string, read map[string]map[string]bool,
) error {
	paths, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		return err
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
	if _, err := (&types.Config{Importer: from}).Check(Module+"/"+folder, set, files, info); err != nil {
		return err
	}
	for at, selection := range info.Selections {
		field, ok := selection.Obj().(*types.Var)
		if !ok {
			continue
		}
		name := folder + "/" + filepath.Base(set.Position(at.Pos()).Filename)
		if read[name] == nil {
			read[name] = map[string]bool{}
		}
		read[name][fieldName(field)] = true
	}
	return nil
}

// fieldName returns the name of a field with its structure; of a structure that has no name, the
// field's alone.
func fieldName(field *types.Var) string {
	scope := field.Pkg().Scope()
	for _, name := range scope.Names() {
		of, ok := scope.Lookup(name).(*types.TypeName)
		if !ok {
			continue
		}
		structure, ok := of.Type().Underlying().(*types.Struct)
		if ok && slices.Contains(slices.Collect(structure.Fields()), field) {
			return ours(field.Pkg().Path()) + "." + name + "." + field.Name()
		}
	}
	return field.Name()
}
