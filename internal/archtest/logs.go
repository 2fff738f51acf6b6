package archtest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// goesOn is where a string goes on in the next line of the source.
var goesOn = regexp.MustCompile(`"\s*\+\n\s*"`)

// logQuoted is what a document quotes of the log: text in double quotes a few words behind the word.
var logQuoted = regexp.MustCompile(`\b[Ll]ogs?\b[^".|]{0,60}"([^"]+)"`)

// CheckLogs returns the messages that a document quotes of the log and that no program writes.
func CheckLogs(source, name, document string) []string {
	var out []string
	for _, m := range logQuoted.FindAllStringSubmatch(strings.Join(strings.Fields(document), " "), -1) {
		if !strings.Contains(source, m[1]) {
			out = append(out, fmt.Sprintf("%s quotes %q of the log, which nothing writes", name, m[1]))
		}
	}
	return out
}

// Source returns the code of packages, without tests.
func Source(root string, packages []Package) (string, error) {
	var source strings.Builder
	for _, p := range packages {
		files, err := filepath.Glob(filepath.Join(root, p.Path, "*.go"))
		if err != nil {
			return "", err
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return "", fmt.Errorf("reading the code: %w", err)
			}
			source.WriteString(inOneLine(string(text)))
		}
	}
	return source.String(), nil
}

// inOneLine is a source in which the strings that are written over several lines are in one.
func inOneLine(source string) string { return goesOn.ReplaceAllString(source, "") }
