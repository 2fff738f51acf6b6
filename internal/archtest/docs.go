package archtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var (
	goalUsed     = regexp.MustCompile("(?m)(?:`|^ *(?:\\$ )?)make ([a-z][a-z-]*)")
	goalDeclared = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
	link         = regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]*))?\)`)
	heading      = regexp.MustCompile(`(?m)^#+ (.*)$`)
	metric       = regexp.MustCompile(`\bmillrace_[a-z0-9_]+[a-z0-9]`)
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

// CheckLinks returns the links of a document to files and to headings that do not
// exist.
func CheckLinks(root, name, document string) []string {
	var out []string
	for _, m := range link.FindAllStringSubmatch(document, -1) {
		target, anchor := m[1], m[2]
		if strings.Contains(target, ":") { // another site, not ours to check
			continue
		}
		path, text := filepath.Join(root, filepath.Dir(name), target), document
		if target != "" {
			if _, err := os.Stat(path); err != nil {
				out = append(out, fmt.Sprintf("%s links to %s, which does not exist", name, target))
				continue
			}
		}
		if anchor == "" {
			continue
		}
		if target != "" {
			b, err := os.ReadFile(path)
			if err != nil {
				out = append(out, fmt.Sprintf("%s links to %s, which cannot be read: %v", name, target, err))
				continue
			}
			text = string(b)
		}
		if !slices.Contains(anchors(text), anchor) {
			out = append(out, fmt.Sprintf("%s links to %s#%s, which is no heading", name, target, anchor))
		}
	}
	return out
}

// anchors returns the names under which a document's headings can be linked to,
// as GitHub makes them.
func anchors(document string) []string {
	var out []string
	for _, m := range heading.FindAllStringSubmatch(document, -1) {
		out = append(out, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, m[1]))
	}
	return out
}

// CheckMetrics returns the metrics that a document names and that the reference
// of metrics does not.
func CheckMetrics(reference, name, document string) []string {
	known := metric.FindAllString(reference, -1)
	var out []string
	for _, m := range metric.FindAllString(document, -1) {
		said := fmt.Sprintf("%s names %s, which is no metric", name, m)
		if !slices.Contains(known, m) && !slices.Contains(out, said) {
			out = append(out, said)
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

// CheckIndex returns the pages below docs that no chain of links from docs/README.md reaches. docs
// are the documents by their relative names.
func CheckIndex(docs map[string]string) []string {
	reached, open := map[string]bool{}, []string{"docs/README.md"}
	for len(open) > 0 {
		name := open[len(open)-1]
		open = open[:len(open)-1]
		if reached[name] || !strings.HasPrefix(name, "docs/") {
			continue
		}
		reached[name] = true
		for _, m := range link.FindAllStringSubmatch(docs[name], -1) {
			open = append(open, filepath.ToSlash(filepath.Join(filepath.Dir(name), m[1])))
		}
	}
	var out []string
	for name := range docs {
		if strings.HasPrefix(name, "docs/") && !reached[name] {
			out = append(out, "docs/README.md does not lead to "+name)
		}
	}
	slices.Sort(out)
	return out
}
