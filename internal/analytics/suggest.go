package analytics

import "github.com/millrace/millrace/internal/platform/suggest"

// didYouMean words a suggestion; empty when no candidate is like name.
func didYouMean(name string, candidates []string) string {
	if c := suggest.Closest(name, candidates); c != "" {
		return "Did you mean '" + c + "'?"
	}
	return ""
}
