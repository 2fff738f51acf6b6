package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"

	"github.com/millrace/millrace/internal/adapter/embedded/chlibrary"
	"github.com/millrace/millrace/tools/npm"
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
	pins := os.DirFS(filepath.Join(r.root, "internal", "adapter", "embedded", "chlibrary", "npm"))
	dir, err := npm.Install(ctx, "clickhouse-linux-"+arch, pins, "--os=linux", "--libc=glibc", "--cpu="+npmCPU[arch])
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "node_modules", filepath.FromSlash(pkg), "libchdb.so")
	_, err = os.Stat(path)
	return path, err
}
