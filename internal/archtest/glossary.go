package archtest

import (
	"fmt"
	"regexp"
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
