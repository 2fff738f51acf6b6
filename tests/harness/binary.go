package harness

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/millrace/millrace/internal/testkit"
)

// Binary returns the path of a program of cmd/. All of them are built once for a
// test binary, with the race detector when the test has it.
func Binary(tb testing.TB, name string) string {
	tb.Helper()
	dir, err := binaries()
	if err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(dir, name)
}

var binaryDir string

var binaries = sync.OnceValues(func() (string, error) {
	root, err := testkit.ModuleRoot()
	if err != nil {
		return "", err
	}
	if binaryDir, err = os.MkdirTemp("", "millrace-bin-"); err != nil {
		return "", err
	}
	args := []string{"build", "-o", binaryDir + string(filepath.Separator)}
	if raceEnabled {
		args = append(args, "-race")
	}
	cmd := exec.CommandContext(context.Background(), "go", append(args, "./cmd/...")...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the daemons: %w\n%s", err, out)
	}
	return binaryDir, nil
})

// removeBinaries is for the end of the test binary.
func removeBinaries() error {
	if binaryDir == "" {
		return nil
	}
	return os.RemoveAll(binaryDir)
}
