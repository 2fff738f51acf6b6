package testkit

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// ModuleRoot returns the folder of the module's go.mod, looked for from the
// working directory upwards: a test runs in its package's folder.
func ModuleRoot() (string, error) { return moduleRoot() }

var moduleRoot = sync.OnceValues(func() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("looking for go.mod: run this inside the module")
		}
		dir = parent
	}
})

// Root is ModuleRoot for tests.
func Root(tb testing.TB) string {
	tb.Helper()
	root, err := ModuleRoot()
	if err != nil {
		tb.Fatal(err)
	}
	return root
}

// ShortDir returns a new folder with a short path, removed after the test. The
// path of t.TempDir carries the test's name and easily passes the 108 bytes that
// a Unix socket's address may have.
func ShortDir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "mr") //nolint:usetesting // TempDir is what is too long
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Errorf("removing the test's folder: %v", err)
		}
	})
	return dir
}
