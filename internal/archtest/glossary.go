package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// term is an entry of the glossary, with the lines that belong to it.
var term = regexp.MustCompile(`(?m)^- \*\*(.+?)\*\*(.*\n(?:  .*\n)*)`)

// CheckGlossary returns what is wrong with a glossary: terms that are there twice or not in
// the order of the alphabet, and those that do not say where the thing is.
func CheckGlossary(name, document string) []string {
	var out []string
	last := ""
	terms := term.FindAllStringSubmatch(document, -1)
	for _, m := range terms {
		if strings.Compare(m[1], last) <= 0 {
			out = append(out, fmt.Sprintf("%s has %q behind %q", name, m[1], last))
		}
		if !nameLinked.MatchString(m[2]) {
			out = append(out, fmt.Sprintf("%s does not say where %q is", name, m[1]))
		}
		last = m[1]
	}
	if len(terms) == 0 {
		out = append(out, name+" has no terms")
	}
	return out
}

// meaning is a row of the words that mean several things: the word, and a folder where it does.
var meaning = regexp.MustCompile("(?m)^\\| ([a-z]+) \\| `(internal/[a-z/]+)` \\|")

// CheckMeanings returns the rows of a glossary about words that mean several things whose folder
// declares nothing that is called so, and is not called so itself.
func CheckMeanings(root, name, document string) ([]string, error) {
	var out []string
	for _, m := range meaning.FindAllStringSubmatch(document, -1) {
		word, folder := m[1], m[2]
		declares, err := declaresWord(filepath.Join(root, folder), word)
		if err != nil {
			return nil, fmt.Errorf("looking for %s: %w", word, err)
		}
		if !declares && !strings.Contains(folder, "/"+word) {
			out = append(out, fmt.Sprintf("%s says what %q means in %s, which declares nothing of the name", name, word, folder))
		}
	}
	return out, nil
}

// declaresWord reports whether a file of a folder that is no test declares a name with a word, or
// more of them, in it.
func declaresWord(folder, word string) (bool, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return false, err
	}
	found := false
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return false, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			for _, declared := range declaredBy(n) {
				parts := partsOf(declared.Name)
				found = found || slices.Contains(parts, word) || slices.Contains(parts, word+"s")
			}
			return !found
		})
	}
	return found, nil
}
