package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// chartDir is the chart's folder in the repository.
const chartDir = "deploy/helm/millrace"

// chartVersions are the lines of Chart.yaml that a release sets.
var chartVersions = regexp.MustCompile(`(?m)^(version|appVersion):.*$`)

// packageChart makes millrace-1.2.3.tgz, as helm package does, with the release's
// version for the chart and for the programs.
func packageChart(_ context.Context, r *release) error {
	dir := filepath.Join(r.root, filepath.FromSlash(chartDir))
	ignored, err := ignoreFile(dir)
	if err != nil {
		return fmt.Errorf("reading the chart: %w", err)
	}
	var entries []entry
	err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || file == dir:
			return err
		case ignored(d) && d.IsDir():
			return filepath.SkipDir
		case ignored(d) || d.IsDir():
			return nil
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		e := entry{name: path.Join("millrace", filepath.ToSlash(rel)), from: file, mode: 0o644}
		if rel == "Chart.yaml" {
			if e.text, err = setVersions(file, r.version); err != nil {
				return err
			}
			e.from = ""
		}
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading the chart: %w", err)
	}
	return writeArchive(r.path("millrace-"+r.version+".tgz"), r.time, entries)
}

// ignoreFile reads what .helmignore leaves out: names and patterns of names, of
// folders where a slash follows. Hidden files are left out besides.
func ignoreFile(dir string) (ignored func(fs.DirEntry) bool, err error) {
	text, err := os.ReadFile(filepath.Join(dir, ".helmignore"))
	if err != nil {
		return nil, err
	}
	return func(d fs.DirEntry) bool {
		for line := range strings.Lines(string(text)) {
			pattern, onlyDir := strings.CutSuffix(strings.TrimSpace(line), "/")
			if hit, err := path.Match(pattern, d.Name()); err == nil && hit && (d.IsDir() || !onlyDir) {
				return true
			}
		}
		return strings.HasPrefix(d.Name(), ".")
	}, nil
}

// setVersions returns Chart.yaml with a release's versions.
func setVersions(file, version string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if n := len(chartVersions.FindAll(text, -1)); n != 2 {
		return "", fmt.Errorf("%s has %d lines that begin with version: or appVersion:, not 2", file, n)
	}
	return string(chartVersions.ReplaceAll(text, []byte(`$1: "`+version+`"`))), nil
}
