package archtest

import (
	"fmt"
	"regexp"
	"strings"
)

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
