// Package programs builds what is in cmd/ for tests that run it as processes.
//
// All test binaries and checkouts share a folder in the user's cache, because linking
// the programs costs more than most of the tests that run them: the go command links
// only what changed there. Whoever runs them gets a copy, so that nobody who builds
// others meanwhile changes what runs.
package programs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/millrace/millrace/internal/adapter/embedded/filelock"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
)

// FolderEnv is the folder of programs that whoever runs the tests has built.
const FolderEnv = "MILLRACE_TEST_PROGRAMS"

// linkTimeout bounds the wait for somebody else who builds the programs.
const linkTimeout = 15 * time.Minute

// Build returns a new folder below parent, or where temporary files lie if that is empty,
// with the programs of the module at root, with the race detector or without. The caller
// removes it.
func Build(ctx context.Context, root, parent string, race bool) (dir string, err error) {
	cache, err := config.CacheDir()
	if err != nil {
		return "", err
	}
	kept := filepath.Join(cache, "programs", "plain")
	if race {
		kept = filepath.Join(cache, "programs", "race")
	}
	if err := os.MkdirAll(kept, 0o755); err != nil {
		return "", err
	}
	var lock *os.File
	err = testkit.WaitFor(linkTimeout, func() error {
		lock, err = filelock.Lock(kept + ".lock")
		return err
	})
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := Into(ctx, root, kept, race); err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp(parent, "millrace-bin-"); err != nil {
		return "", err
	}
	return dir, copyAll(dir, kept, filepath.Join(root, "cmd"))
}

// Into brings the programs in a folder up to date. flags are of go build.
func Into(ctx context.Context, root, dir string, race bool, flags ...string) error {
	args := append([]string{"build", "-o", dir + string(filepath.Separator)}, flags...)
	if race {
		args = append(args, "-race")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/...")...)
	cmd.Dir = root
	cgo := "CGO_ENABLED=0"
	if race {
		cgo = "CGO_ENABLED=1" // which the race detector needs
	}
	cmd.Env = append(cmd.Environ(), cgo)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the daemons: %w\n%s", err, out)
	}
	return nil
}

// copyAll copies the programs whose sources there are: others are of other times.
func copyAll(to, from, sources string) error {
	entries, err := os.ReadDir(sources)
	for _, e := range entries {
		err = errors.Join(err, copyFile(filepath.Join(to, e.Name()), filepath.Join(from, e.Name())))
	}
	return err
}

func copyFile(to, from string) error {
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
