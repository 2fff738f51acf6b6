// Package npm installs the packages that a lock file pins, once for all checkouts of
// this user.
//
// It promises that a folder it returns holds all of them, as the lock file's checksums
// have them, and that a folder is never changed once it is there: another lock file is
// another folder. It never runs an install script.
package npm

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/millrace/millrace/internal/platform/config"
)

// pins are the files that say what is installed.
var pins = []string{"package.json", "package-lock.json"}

// Install returns a folder that holds the node_modules of the pins in from. The name
// is for people who look into the cache. flags are npm's, such as another platform.
func Install(ctx context.Context, name string, from fs.FS, flags ...string) (string, error) {
	cache, err := config.CacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	files := map[string][]byte{}
	for _, pin := range pins {
		if files[pin], err = fs.ReadFile(from, pin); err != nil {
			return "", fmt.Errorf("reading what %s needs of npm: %w", name, err)
		}
		fmt.Fprintf(sum, "%d %s", len(files[pin]), files[pin])
	}
	fmt.Fprintf(sum, "%q", flags)
	dir := filepath.Join(cache, "npm", fmt.Sprintf("%s-%x", name, sum.Sum(nil)[:6]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "part-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	for pin, content := range files {
		if err := os.WriteFile(filepath.Join(work, pin), content, 0o600); err != nil {
			return "", err
		}
	}
	cmd := exec.CommandContext(ctx, "npm",
		append([]string{"ci", "--ignore-scripts", "--no-audit", "--no-fund"}, flags...)...)
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("installing the packages of %s with npm: %w: %s", name, err, out)
	}
	// Whoever was first wins: the folders are the same.
	if err := os.Rename(work, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return dir, nil
}
