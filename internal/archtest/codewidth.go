package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxToken is how many characters may stand in a line of code without a space: what has more, such as a hash or a
// line of JSON in a comment, can be broken nowhere.
const maxToken = 100

// CheckCodeWidth returns the lines of a Go file that have more characters than those of a document may; a tab is
// one. What has no better place to end is as it is: a raw string, and so the tag of a field, a URL, one long
// token. So is what programs write.
func CheckCodeWidth(name string, source []byte) ([]string, error) {
	var wide []int
	for i, line := range bytes.Split(source, []byte("\n")) {
		if utf8.RuneCount(line) > maxWidth && !unbreakable(string(line)) {
			wide = append(wide, i+1)
		}
	}
	if len(wide) == 0 {
		return nil, nil
	}
	raw, err := rawLines(name, source)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, line := range wide {
		if !raw(line) {
			out = append(out, fmt.Sprintf("%s:%d has more than %d characters", name, line, maxWidth))
		}
	}
	return out, nil
}

// CheckScriptWidth is CheckCodeWidth of a file in TypeScript, in which a line with a URL or one long token may be
// wider.
func CheckScriptWidth(name, source string) []string {
	var out []string
	for i, line := range strings.Split(source, "\n") {
		if utf8.RuneCountInString(line) > maxWidth && !unbreakable(line) {
			out = append(out, fmt.Sprintf("%s:%d has more than %d characters", name, i+1, maxWidth))
		}
	}
	return out
}

// unbreakable says whether a line holds a URL or a token that is long by itself.
func unbreakable(line string) bool {
	long := func(token string) bool { return utf8.RuneCountInString(token) > maxToken }
	return strings.Contains(line, "://") || slices.ContainsFunc(strings.Fields(line), long)
}

// rawLines tells the lines of a file that hold text of a raw string; of a file that a program wrote, all do.
func rawLines(name string, source []byte) (func(line int) bool, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if ast.IsGenerated(file) {
		return func(int) bool { return true }, nil
	}
	raw := map[int]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if text, ok := n.(*ast.BasicLit); ok && strings.HasPrefix(text.Value, "`") {
			for line := set.Position(text.Pos()).Line; line <= set.Position(text.End()).Line; line++ {
				raw[line] = true
			}
		}
		return true
	})
	return func(line int) bool { return raw[line] }, nil
}
