// Package chlibrary finds and fetches the library that the embedded ClickHouse
// runs from: libchdb, the whole server engine as one shared library, published
// on npm for Linux (glibc) and macOS.
//
// It promises that a library it returns has the pinned version and was installed
// completely, and that npm compared it with the committed checksum where
// npm/package-lock.json has one. It never runs an install script, and never
// writes anywhere but the folder it is given and npm's own cache.
package chlibrary

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/millrace/millrace/internal/platform/config"
)

const (
	// Version is the pinned version of the npm packages.
	Version = "26.7.3-stable.1"
	// EngineVersion is what a person calls it; `SELECT version()` says it whole, which is
	// not the package's.
	EngineVersion = "26.7"
	// downloadMB and unpackedMB are rough sizes, for progress lines.
	downloadMB, unpackedMB = 170, 570
)

// packages lists the npm package of each platform.
var packages = map[string]string{
	"linux/amd64":  "@chdb/lib-linux-x64-gnu",
	"linux/arm64":  "@chdb/lib-linux-arm64-gnu",
	"darwin/amd64": "@chdb/lib-darwin-x64",
	"darwin/arm64": "@chdb/lib-darwin-arm64",
}

// names are what the packages call the library.
var names = []string{"libchdb.so", "libchdb.dylib"}

// ErrMissing says that no folder holds the library.
var ErrMissing = errors.New("the ClickHouse library is not installed")

// Package returns the npm package for a platform such as linux/amd64.
func Package(goos, goarch string) (string, error) {
	name, ok := packages[goos+"/"+goarch]
	if !ok {
		return "", fmt.Errorf("no embedded ClickHouse exists for %s/%s, only for linux and darwin on amd64 and arm64; "+
			"install ClickHouse and set MILLRACE_CLICKHOUSE_ADDR", goos, goarch)
	}
	return name, nil
}

// Find returns the path of the library. A setting is binding: it is a library
// file, or a folder that npm installed into. Without one these are searched: the
// program's own folder, and Folder.
func Find(setting string) (string, error) {
	if setting != "" {
		return fromSetting(setting)
	}
	for _, dir := range searched() {
		if path, err := in(dir); err == nil {
			return path, nil
		}
	}
	return "", ErrMissing
}

func fromSetting(setting string) (string, error) {
	info, err := os.Stat(setting)
	switch {
	case err != nil:
		return "", fmt.Errorf("MILLRACE_EMBEDDED_CLICKHOUSE_LIBRARY: %w", err)
	case !info.IsDir():
		return filepath.Abs(setting)
	}
	path, err := in(setting)
	if err != nil {
		return "", fmt.Errorf("MILLRACE_EMBEDDED_CLICKHOUSE_LIBRARY: %s contains no ClickHouse library of version %s",
			setting, Version)
	}
	return path, nil
}

// searched lists the folders in which Find looks, nearest first.
func searched() []string {
	var dirs []string
	if exe, err := os.Executable(); err == nil {
		dirs = append(dirs, filepath.Dir(exe))
	}
	if dir, err := Folder(); err == nil {
		dirs = append(dirs, dir)
	}
	return dirs
}

// Folder is where the library of this version is kept for all checkouts and programs
// of this user.
func Folder() (string, error) {
	dir, err := config.CacheDir()
	return filepath.Join(dir, "clickhouse-"+Version), err
}

// in returns the library in a folder: directly, or where npm puts it.
func in(dir string) (string, error) {
	for _, name := range names {
		if path, ok := file(filepath.Join(dir, name)); ok {
			return path, nil
		}
	}
	pkg, err := Package(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return "", err
	}
	root := filepath.Join(dir, "node_modules", filepath.FromSlash(pkg))
	if installedVersion(root) != Version {
		return "", ErrMissing
	}
	for _, name := range names {
		if path, ok := file(filepath.Join(root, name)); ok {
			return path, nil
		}
	}
	return "", ErrMissing
}

func file(path string) (string, bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	abs, err := filepath.Abs(path)
	return abs, err == nil
}

// installedVersion reads the version of an installed npm package; empty when
// there is none.
func installedVersion(root string) string {
	data, err := os.ReadFile(filepath.Join(root, "package.json"))
	if err != nil {
		return ""
	}
	var manifest struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		return ""
	}
	return manifest.Version
}
