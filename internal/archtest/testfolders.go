package archtest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

var (
	// kindTold is a row of the guide's table of the folders of tests/, folderTold an item of
	// its lists, which say what each folder proves.
	kindTold   = regexp.MustCompile("(?m)^\\| `(tests/[\\w/]+)` \\|")
	folderTold = regexp.MustCompile("(?m)^\\* `(tests/[\\w/]+)`:")
)

// CheckTestFolders compares the folders of tests/, and those one below, with the kinds of
// tests and with what the guide to the tests tells of them.
func CheckTestFolders(root, name, document string) ([]string, error) {
	top, err := folders(root, "tests/*")
	if err != nil {
		return nil, err
	}
	below, err := folders(root, "tests/*/*")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, folder := range top {
		if !slices.Contains(testKinds, folder) {
			out = append(out, fmt.Sprintf("%s is no kind of tests: move it below one of %v", folder, testKinds))
		}
	}
	if told := all(kindTold, document); !slices.Equal(told, testKinds) {
		out = append(out, fmt.Sprintf("%s has rows for %v, want %v in this order", name, told, testKinds))
	}
	return append(out, compareFolders(name, below, all(folderTold, document))...), nil
}

// compareFolders compares folders with those that a document tells of. One of the kinds may be
// told of besides, where it holds tests itself.
func compareFolders(name string, there, told []string) []string {
	var out []string
	for _, folder := range there {
		if !slices.Contains(told, folder) {
			out = append(out, fmt.Sprintf("%s does not tell of %s: say what it proves", name, folder))
		}
	}
	for _, folder := range told {
		if !slices.Contains(there, folder) && !slices.Contains(testKinds, folder) {
			out = append(out, fmt.Sprintf("%s tells of %s, which is no folder of tests", name, folder))
		}
	}
	return out
}

// folders returns those that a pattern below root matches, without test data.
func folders(root, pattern string) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil {
		return nil, fmt.Errorf("looking for %s: %w", pattern, err)
	}
	var out []string
	for _, path := range found {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("looking at %s: %w", path, err)
		}
		if folder, err := filepath.Rel(root, path); err == nil && info.IsDir() && info.Name() != "testdata" {
			out = append(out, filepath.ToSlash(folder))
		}
	}
	return out, nil
}

// all returns the first group of every match.
func all(pattern *regexp.Regexp, document string) []string {
	var out []string
	for _, m := range pattern.FindAllStringSubmatch(document, -1) {
		out = append(out, m[1])
	}
	return out
}
