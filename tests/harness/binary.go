package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/embedded/filelock"
	"github.com/millrace/millrace/internal/testkit"
)

// linkTimeout bounds the wait for another test binary that builds the programs.
const linkTimeout = 15 * time.Minute

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

var binaries = sync.OnceValues(func() (dir string, err error) {
	root, err := testkit.ModuleRoot()
	if err != nil {
		return "", err
	}
	// All test binaries share a folder: linking four programs costs more than most of
	// the tests that run them.
	kept := filepath.Join(root, ".cache", "programs", "plain")
	if Raced {
		kept = filepath.Join(root, ".cache", "programs", "race")
	}
	if err := os.MkdirAll(kept, 0o755); err != nil {
		return "", err
	}
	lock, err := lockPrograms(kept + ".lock")
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := build(root, kept); err != nil {
		return "", err
	}
	// A copy, so that nobody who builds others meanwhile changes what runs here.
	if binaryDir, err = os.MkdirTemp("", "millrace-bin-"); err != nil {
		return "", err
	}
	return binaryDir, copyPrograms(binaryDir, kept)
})

func lockPrograms(path string) (lock *os.File, err error) {
	err = testkit.WaitFor(linkTimeout, func() error {
		lock, err = filelock.Lock(path)
		return err
	})
	return lock, err
}

// build brings the programs in a folder up to date: the go command links only what
// changed there.
func build(root, into string, flags ...string) error {
	args := append([]string{"build", "-o", into + string(filepath.Separator)}, flags...)
	if Raced {
		args = append(args, "-race")
	}
	cmd := exec.CommandContext(context.Background(), "go", append(args, "./cmd/...")...)
	cmd.Dir = root
	if Raced {
		cmd.Env = append(cmd.Environ(), "CGO_ENABLED=1") // which the race detector needs
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the daemons: %w\n%s", err, out)
	}
	return nil
}

func copyPrograms(to, from string) error {
	entries, err := os.ReadDir(from)
	for _, e := range entries {
		err = errors.Join(err, copyProgram(filepath.Join(to, e.Name()), filepath.Join(from, e.Name())))
	}
	return err
}

func copyProgram(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// removeBinaries is for the end of the test binary.
func removeBinaries() error {
	if binaryDir == "" {
		return nil
	}
	return os.RemoveAll(binaryDir)
}
