package archtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// failFolder is where rapid looks for what a test of a package has failed with: a folder of
// the test's name, with a file for each failure.
const failFolder = "testdata/rapid"

// CheckFailFiles finds folders of rapid's failures without their test: nobody replays them.
func CheckFailFiles(root string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		case d.Name() == ".git" || d.Name() == "node_modules":
			return filepath.SkipDir
		}
		folder, fails := strings.CutSuffix(filepath.ToSlash(path), "/"+failFolder)
		if !fails {
			return nil
		}
		found, err := strayFailures(root, folder)
		out = append(out, found...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("looking for failures of rapid: %w", err)
	}
	return out, nil
}

// strayFailures returns what is wrong with the failures of the package in a folder.
func strayFailures(root, folder string) ([]string, error) {
	tests, err := testsIn(folder)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(folder, failFolder))
	if err != nil {
		return nil, err
	}
	where, err := filepath.Rel(root, folder)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		test, _, _ := strings.Cut(e.Name(), "_") // what rapid writes for the slash before a subtest
		if !strings.Contains(tests, "func "+test+"(") {
			out = append(out, fmt.Sprintf("%s/%s/%s is of no test of its package: move it to where its test is, or remove it",
				filepath.ToSlash(where), failFolder, e.Name()))
		}
	}
	return out, nil
}

// testsIn returns the text of a folder's tests.
func testsIn(folder string) (string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		all.Write(text)
	}
	return all.String(), nil
}
