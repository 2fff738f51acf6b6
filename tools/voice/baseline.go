package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// key is a rule in a file.
type key struct{ path, rule string }

// baseline holds the number of findings that a file may have of a rule.
type baseline map[key]int

func count(found []finding) baseline {
	counts := baseline{}
	for _, f := range found {
		counts[f.key]++
	}
	return counts
}

// lowered returns the baseline with no more than what was found. A fresh one allows all of it.
func lowered(allowed baseline, found []finding, fresh bool) baseline {
	counts := count(found)
	if fresh {
		return counts
	}
	lower := baseline{}
	for k, n := range allowed {
		if n = min(n, counts[k]); n > 0 {
			lower[k] = n
		}
	}
	return lower
}

// readBaseline reads lines of path, rule and number.
func readBaseline(name string) (baseline, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("reading the baseline: %w", err)
	}
	allowed := baseline{}
	for line := range strings.Lines(string(content)) {
		var k key
		var n int
		if _, err := fmt.Sscan(line, &k.path, &k.rule, &n); err != nil {
			return nil, fmt.Errorf("reading the baseline: %q: %w", line, err)
		}
		allowed[k] = n
	}
	return allowed, nil
}

func writeBaseline(name string, allowed baseline) error {
	lines := make([]string, 0, len(allowed))
	for k := range maps.Keys(allowed) {
		lines = append(lines, fmt.Sprintf("%s %s %d\n", k.path, k.rule, allowed[k]))
	}
	slices.Sort(lines)
	if err := os.WriteFile(name, []byte(strings.Join(lines, "")), 0o644); err != nil {
		return fmt.Errorf("writing the baseline: %w", err)
	}
	return nil
}
