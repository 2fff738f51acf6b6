// Package suggest finds the name that somebody meant who mistyped it: a setting,
// a query type, a field.
package suggest

import "strings"

// maxLen is the length in bytes beyond which a name is not looked at: comparing
// takes the product of two lengths.
const maxLen = 128

// minSimilarity is how alike two names must be for one to be suggested for the
// other, as a share of the longer one's length.
const minSimilarity = 0.6

// Closest returns the candidate most like name, whatever its case; empty when
// none is like it. Of equally good ones the first wins.
func Closest(name string, candidates []string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	if name == "" || len(name) > maxLen {
		return ""
	}
	best, bestScore := "", minSimilarity
	for _, c := range candidates {
		if s := similarity(name, strings.ToLower(c)); s > bestScore {
			best, bestScore = c, s
		}
	}
	return best
}

// similarity is 1 for equal strings and 0 for strings that have nothing in
// common: the share of bytes that need no edit, or of a prefix that is shared.
func similarity(a, b string) float64 {
	longer := max(len(a), len(b))
	if longer == 0 {
		return 1
	}
	s := 1 - float64(distance(a, b))/float64(longer)
	if short := min(len(a), len(b)); short >= 4 && strings.HasPrefix(b, a[:min(len(a), short)]) {
		s = max(s, minSimilarity+0.3*float64(short)/float64(longer))
	}
	return s
}

// distance is the number of insertions, deletions and replacements that turn a
// into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
