package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/millrace/millrace/tools/npm"
)

// sources are what of web/tracker is needed to build and check it.
var sources = []string{
	"build.mjs", "eslint.config.js", "package.json", "package-lock.json", "tsconfig.json", "src", "test",
}

// workshop is a copy of the sources beside the packages they are built with. The
// packages stay in the user's cache, out of the tree that Go's commands walk.
type workshop struct{ dir string }

// openWorkshop makes a workshop for the repository at root; the packages are
// installed once for each lock file.
func openWorkshop(root string) (*workshop, error) {
	packages, err := npm.Install(context.Background(), "tracker", os.DirFS(filepath.Join(root, home)))
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(packages, "work-")
	if err != nil {
		return nil, err
	}
	w := &workshop{dir}
	for _, name := range sources {
		if err := copyTo(filepath.Join(dir, name), filepath.Join(root, home, name)); err != nil {
			w.Close()
			return nil, err
		}
	}
	return w, nil
}

// Close removes the copy of the sources.
func (w *workshop) Close() error { return os.RemoveAll(w.dir) }

// run runs a program in the workshop; its output is part of the error.
func (w *workshop) run(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = w.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("running %s %q: %w\n%s", name, args, err, out)
	}
	return nil
}

// tool runs a program of one of the packages.
func (w *workshop) tool(name string, args ...string) error {
	return w.run("node", slices.Insert(args, 0, filepath.Join("..", "node_modules", name))...)
}

// copyTo copies a file or a folder.
func copyTo(to, from string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.CopyFS(to, os.DirFS(from))
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}
