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

// questions are what a newcomer asks first: where such a thing is added.
var questions = []string{
	"a query type", "an operation", "a topic", "a column", "a limit", "a setting", "an alert",
}

var (
	// place is a row of two cells: what is added, and where.
	place = regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \|$`)
	// bareFile is a file of code that is named without its folder.
	bareFile = regexp.MustCompile("`(\\w+\\.go)`")
)

// CheckPlaces looks at the tables of a document that say where things go: each question has a
// row, each row names a place or links to a guide, and a file that is named without its folder
// is in one of the places of its row, or, where there are none, somewhere in internal.
func CheckPlaces(root, name, document string) []string {
	var out []string
	rows := place.FindAllStringSubmatch(document, -1)
	for _, q := range questions {
		if !slices.ContainsFunc(rows, func(row []string) bool { return strings.HasPrefix(row[1], q) }) {
			out = append(out, fmt.Sprintf("%s does not say where %s goes", name, q))
		}
	}
	return append(out, CheckRows(root, name, document)...)
}

// CheckRows looks at each row of such a table by itself.
func CheckRows(root, name, document string) []string {
	var out []string
	for _, row := range place.FindAllStringSubmatch(document, -1) {
		if row[1] != "What" && row[1] != "…" && strings.Trim(row[1], "-") != "" {
			out = append(out, checkPlace(root, name, row[1], row[2])...)
		}
	}
	return out
}

// checkPlace looks at one row. Whether the places exist is for CheckPaths to say.
func checkPlace(root, name, what, where string) []string {
	var out []string
	places := all(pathSaid, where)
	files := all(bareFile, where)
	if len(places) == 0 && len(files) == 0 && !link.MatchString(where) {
		return []string{fmt.Sprintf("%s names no place for %s", name, what)}
	}
	if len(places) == 0 {
		places = []string{"internal"}
	}
	for _, file := range files {
		if !slices.ContainsFunc(places, func(p string) bool { return holds(filepath.Join(root, p), file) }) {
			out = append(out, fmt.Sprintf("%s names %s for %s, which is not in %s", name, file, what, places))
		}
	}
	return out
}

// CheckBareFiles returns the files of code that a document names without a folder and that are
// neither in nor below what their heading names, or their line; where their heading names nothing,
// what the whole document names will do, or the whole of internal.
func CheckBareFiles(root, name, document string) []string {
	var out []string
	whole := all(pathSaid, document)
	if len(whole) == 0 {
		whole = []string{"internal"}
	}
	headed := whole
	for line := range strings.SplitSeq(document, "\n") {
		places := all(pathSaid, line)
		if heading.MatchString(line) {
			if headed = places; len(places) == 0 {
				headed = whole
			}
		}
		for _, file := range all(bareFile, line) {
			in := func(p string) bool { return holds(filepath.Join(root, p), file) }
			if !slices.ContainsFunc(slices.Concat(places, headed), in) {
				out = append(out, fmt.Sprintf("%s names %s, which is in no place that is named with it", name, file))
			}
		}
	}
	return out
}

// holds reports whether a folder, or the folder of a file, has a file of a name in or below it.
func holds(path, file string) (found bool) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		path = filepath.Dir(path)
	}
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		found = found || err == nil && d.Name() == file
		return err
	})
	return found
}
