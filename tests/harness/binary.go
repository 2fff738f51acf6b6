package harness

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/programs"
)

// Binary returns the path of a program of cmd/: one that whoever runs the tests has
// built, else one that is built for this test binary, with the race detector when the
// test has it.
func Binary(tb testing.TB, name string) string {
	tb.Helper()
	dir, err := binaries()
	if err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(dir, name)
}

var ownBinaries string

var binaries = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv(programs.FolderEnv); dir != "" { //nolint:forbidigo // whoever runs the tests has built them
		return dir, nil
	}
	root, err := testkit.ModuleRoot()
	if err != nil {
		return "", err
	}
	ownBinaries, err = programs.Build(context.Background(), root, "", Raced)
	return ownBinaries, err
})

// removeBinaries is for the end of the test binary.
func removeBinaries() error {
	if ownBinaries == "" {
		return nil
	}
	return os.RemoveAll(ownBinaries)
}
