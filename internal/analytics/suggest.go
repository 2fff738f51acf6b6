package analytics

import (
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/platform/suggest"
)

// didYouMean returns the sentence that suggests the candidate that known maps name to, else the
// candidate spelled most like it. It returns an empty string if there is neither.
func didYouMean(name string, candidates []string, known synonyms) string {
	meant := known[strings.ToLower(strings.TrimSpace(name))]
	if !slices.Contains(candidates, meant) {
		meant = suggest.Closest(name, candidates)
	}
	if meant == "" {
		return ""
	}
	return "Did you mean '" + meant + "'?"
}
