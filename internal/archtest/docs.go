package archtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	goalUsed     = regexp.MustCompile("(?m)(?:`|^ *(?:\\$ )?)make ([a-z][a-z-]*)")
	goalDeclared = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
	link         = regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)\s]*)?\)`)
)

// CheckGoals returns the make goals that a document tells a reader to call and
// that the Makefile does not have.
func CheckGoals(makefile, name, document string) []string {
	var declared []string
	for _, m := range goalDeclared.FindAllStringSubmatch(makefile, -1) {
		declared = append(declared, m[1])
	}
	var out []string
	for _, m := range goalUsed.FindAllStringSubmatch(document, -1) {
		if !slices.Contains(declared, m[1]) {
			out = append(out, fmt.Sprintf("%s says make %s, which is no goal", name, m[1]))
		}
	}
	return out
}

// CheckLinks returns the links of a document to files that do not exist.
func CheckLinks(root, name, document string) []string {
	var out []string
	for _, m := range link.FindAllStringSubmatch(document, -1) {
		if strings.Contains(m[1], ":") { // another site, not ours to check
			continue
		}
		if _, err := os.Stat(filepath.Join(root, filepath.Dir(name), m[1])); err != nil {
			out = append(out, fmt.Sprintf("%s links to %s, which does not exist", name, m[1]))
		}
	}
	return out
}

// Documents returns the Markdown files below root by their relative names.
func Documents(root string) (map[string]string, error) {
	docs := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && skip(path, d.Name()):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".md"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		docs[name] = string(text)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the documents: %w", err)
	}
	return docs, nil
}
