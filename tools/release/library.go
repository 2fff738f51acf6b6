package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/millrace/millrace/internal/embedded/chlibrary"
)

// npmCPU are npm's names of architectures.
var npmCPU = map[string]string{"amd64": "x64", "arm64": "arm64"}

// library returns the embedded ClickHouse for an architecture: this machine's own
// where it fits, else one that npm fetches once into the cache.
func (r *release) library(ctx context.Context, arch string) (string, error) {
	if runtime.GOOS == "linux" && runtime.GOARCH == arch {
		return chlibrary.Find("")
	}
	pkg, err := chlibrary.Package("linux", arch)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(r.root, filepath.FromSlash(chlibrary.Folder)+"-linux-"+arch)
	path := filepath.Join(dir, "node_modules", filepath.FromSlash(pkg), "libchdb.so")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	pins := os.DirFS(filepath.Join(r.root, "internal", "embedded", "chlibrary", "npm"))
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := os.CopyFS(dir, pins); err != nil {
		return "", fmt.Errorf("preparing npm: %w", err)
	}
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund",
		"--os=linux", "--libc=glibc", "--cpu="+npmCPU[arch])
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("fetching ClickHouse for linux/%s with npm: %w\n%s", arch, err, out)
	}
	_, err = os.Stat(path)
	return path, err
}
