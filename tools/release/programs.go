package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/archtest"
)

const (
	// programsDir holds the programs of each platform that go into archives.
	programsDir = "programs"
	// staticDir holds those that go into the image without a C library.
	staticDir = "static"
	// noLibrary is the tag that leaves out the embedded ClickHouse, for which
	// even a program without cgo is linked with the C library.
	noLibrary = "nolibrary"
)

// buildPrograms compiles the commands for every platform, and for linux once more
// without the embedded ClickHouse.
func buildPrograms(ctx context.Context, r *release) error {
	if err := checkTracker(ctx, r); err != nil {
		return err
	}
	for _, platform := range r.platforms {
		if err := r.compile(ctx, platform, r.path(programsDir, platform), ""); err != nil {
			return err
		}
		if strings.HasPrefix(platform, "linux/") && len(r.images) > 0 {
			if err := r.compile(ctx, platform, r.path(staticDir, platform), noLibrary); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkTracker makes sure that pages may name this version's script for ever.
func checkTracker(ctx context.Context, r *release) error {
	cmd := exec.CommandContext(ctx, "go", "run", "./tools/tracker", "-kept")
	cmd.Dir = r.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s", strings.TrimSpace(string(out)))
	}
	return nil
}

// compile builds all commands for a platform into a folder.
func (r *release) compile(ctx context.Context, platform, dir, tags string) error {
	goos, goarch, ok := strings.Cut(platform, "/")
	if !ok {
		return fmt.Errorf("%q is no platform such as linux/arm64", platform)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(abs, 0o755); err != nil {
		return err
	}
	version := archtest.Module + "/internal/platform/buildinfo.version=" + r.tag()
	args := slices.Concat([]string{"build", "-buildvcs=false", "-tags", tags}, r.buildFlags,
		[]string{"-ldflags", "-s -w -X " + version, "-o", abs + string(filepath.Separator), "./cmd/..."})
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compiling for %s: %w\n%s", platform, err, out)
	}
	return nil
}

// commandNames lists the programs, sorted.
func (r *release) commandNames() ([]string, error) {
	folders, err := archtest.Commands(r.root)
	for i, f := range folders {
		folders[i] = path.Base(f)
	}
	return folders, err
}
