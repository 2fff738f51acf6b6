package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// budgetFile holds a line for each stage: its name, a tab, and the seconds that it takes at most on
// the reference machine, two cores that do nothing else, with warm caches.
const budgetFile = "tools/suite/budget.txt"

// report collects what a run found, for its last lines.
type report struct {
	folder    string
	unchanged []string
	all       []outcome
}

func (r *report) add(found ...outcome) { r.all = append(r.all, found...) }

// printUnchanged lists the packages that do not run.
func (r *report) printUnchanged(out io.Writer) {
	for _, pkg := range r.unchanged {
		fmt.Fprintf(out, "== %s: unchanged, passed before\n", strings.TrimPrefix(pkg, modulePath))
	}
}

// conclude prints times, slow tests, flaky tests and failed tests, and returns errRed unless all
// passed.
func (r *report) conclude(out io.Writer, budgetFile string) error {
	budget, err := readBudget(budgetFile)
	if err != nil {
		return err
	}
	r.printTimes(out, budget)
	var red bool
	for _, o := range r.all {
		for _, t := range o.flaky {
			fmt.Fprintf(out, "FLAKY\t%s\t%s\n", t, t.keep(r.folder))
		}
	}
	for _, o := range r.all {
		red = red || o.red || len(o.failed)+len(o.undeclared) > 0
		for _, t := range o.failed {
			fmt.Fprintf(out, "FAIL\t%s\t%s\n", t, t.keep(r.folder))
		}
		for _, u := range o.undeclared {
			fmt.Fprintf(out, "FAIL\t%s\treads %d files that tools/suite/inputs.go does not list, such as %s\n",
				u.pkg, len(u.files), strings.Join(u.files[:min(len(u.files), 3)], ", "))
		}
		if o.red && len(o.failed) == 0 {
			fmt.Fprintf(out, "FAIL\t%s failed outside its tests: see above\n", o.stage)
		}
	}
	if red {
		return errRed
	}
	return nil
}

// Escape sequences of a terminal (ECMA-48, SGR).
const (
	colorRed   = "\x1b[31m"
	colorReset = "\x1b[0m"
)

// printTimes prints the time of each stage, in red where it is over twice its budget, and the
// slowest tests.
func (r *report) printTimes(out io.Writer, budget map[string]time.Duration) {
	var tests []timed
	fmt.Fprintln(out, "== times")
	for _, o := range r.all {
		tests = append(tests, o.slowest...)
		line := fmt.Sprintf("%8s  %s", rounded(o.took), o.stage)
		if limit, ok := budget[o.stage]; ok {
			line += fmt.Sprintf(" (budget %s)", limit)
			if o.took > 2*limit {
				line = colorRed + line + ": over twice its budget" + colorReset
			}
		}
		fmt.Fprintln(out, line)
	}
	for i, t := range slowest(tests) {
		if i == 0 {
			fmt.Fprintln(out, "== slowest tests")
		}
		fmt.Fprintf(out, "%7.1fs  %s %s\n", t.took.Seconds(), strings.TrimPrefix(t.pkg, modulePath), t.test)
	}
	if n := len(r.unchanged); n > 0 {
		fmt.Fprintf(out, "== %d packages unchanged, passed before; ALL=1 runs them too\n", n)
	}
}

// readBudget reads the budget of each stage.
func readBudget(file string) (map[string]time.Duration, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the budget: %w", err)
	}
	budget := map[string]time.Duration{}
	for line := range strings.Lines(string(text)) {
		stage, seconds, _ := strings.Cut(strings.TrimSpace(line), "\t")
		n, err := strconv.Atoi(seconds)
		if err != nil {
			return nil, fmt.Errorf("reading the budget: %q must be a stage, a tab and seconds", strings.TrimSpace(line))
		}
		budget[stage] = time.Duration(n) * time.Second
	}
	return budget, nil
}
