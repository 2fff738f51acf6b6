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

// unwordy are folders and files whose words are not ours to choose: they are generated, measured,
// or tell what was.
var unwordy = []string{
	"CHANGELOG.md", "docs/reference", "docs/benchmarks", "internal/archtest/retired.go", "internal/archtest/words_test.go",
	"web",
}

// spoken are the kinds of files whose words are checked.
var spoken = []string{".go", ".md"}

// retired finds the phrases, over the ends of lines and whatever stands at the beginning of them.
var retired = func() *regexp.Regexp {
	var all []string
	for phrase := range retiredPhrases {
		all = append(all, strings.ReplaceAll(regexp.QuoteMeta(phrase), " ", `(?: |\s*\n\s*(?://)? *)`))
	}
	slices.Sort(all)
	return regexp.MustCompile(`(?i)\b(?:` + strings.Join(all, "|") + `)\b`)
}()

// CheckWords returns the retired names and phrases of a text, each once.
func CheckWords(name, text string) []string {
	var out []string
	note := func(said, instead string) {
		if v := fmt.Sprintf("%s says %s: it is %s", name, said, instead); !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	for said := range strings.FieldsFuncSeq(text,
		func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if instead, ok := retiredNames[said]; ok {
			note(said, instead)
		}
	}
	for _, said := range retired.FindAllString(text, -1) {
		phrase := strings.ToLower(strings.Join(strings.Fields(strings.ReplaceAll(said, "//", " ")), " "))
		note(phrase, retiredPhrases[phrase])
	}
	return out
}

// Texts gives do each file below root whose words are ours to choose.
func Texts(root string, do func(name, text string)) error {
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		switch {
		case slices.Contains(unwordy, name) && d.IsDir(), d.IsDir() && path != root && skip(path, d.Name()):
			return filepath.SkipDir
		case d.IsDir(), slices.Contains(unwordy, name), !slices.Contains(spoken, filepath.Ext(name)):
			return nil
		}
		text, err := os.ReadFile(path)
		do(name, string(text))
		return err
	})
	if err != nil {
		return fmt.Errorf("reading the texts of %s: %w", root, err)
	}
	return nil
}
