package thirdparty

import (
	"fmt"
	"strings"
)

// Texts writes the licences and notices of parts, one after the other, as they are
// passed on with the programs. A text that several share is written once.
func Texts(parts []Part) string {
	var b strings.Builder
	b.WriteString("What of others is in the programs of Millrace, and under which licences.\n")
	first := map[string]string{}
	for _, p := range parts {
		fmt.Fprintf(&b, "\n%s\n%s %s\n%s\n", strings.Repeat("=", 78), p.Name, p.Version, strings.Join(p.Licences, ", "))
		for _, text := range p.Texts {
			text = strings.TrimSpace(text)
			if seen, ok := first[text]; ok {
				fmt.Fprintf(&b, "\nThe text is the same as that of %s.\n", seen)
				continue
			}
			first[text] = p.Name
			fmt.Fprintf(&b, "\n%s\n", text)
		}
	}
	return b.String()
}
