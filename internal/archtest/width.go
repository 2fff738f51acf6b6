package archtest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxWidth is how many characters a line of a document may have.
const maxWidth = 120

var (
	fence = regexp.MustCompile("^\\s*(?:(?:[*+-]|\\d+[.)])\\s+)?(?:```|~~~)")
	// writtenBy and endOfWritten enclose what a program writes into a document.
	writtenBy    = regexp.MustCompile("^<!-- .* written by ")
	endOfWritten = "<!-- /"
	// writtenWhole are the documents that programs write.
	writtenWhole = []string{"docs/reference/", "docs/benchmarks/", "deploy/helm/millrace/README.md"}
)

// CheckWidth returns the lines of a document that are too wide. Code is as it is: a command, or
// what it prints, has no better place to end; and so is what programs write.
func CheckWidth(name, document string) []string {
	written := func(place string) bool { return strings.HasPrefix(name, place) }
	if slices.ContainsFunc(writtenWhole, written) {
		return nil
	}
	var out []string
	code := false
	for i, line := range strings.Split(document, "\n") {
		switch {
		case fence.MatchString(line), writtenBy.MatchString(line), strings.HasPrefix(line, endOfWritten):
			code = !code
		case code || strings.HasPrefix(line, "    "):
		case utf8.RuneCountInString(line) > maxWidth:
			out = append(out, fmt.Sprintf("%s:%d has more than %d characters", name, i+1, maxWidth))
		}
	}
	return out
}
