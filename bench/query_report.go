package main

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/platform/buildinfo"
)

// slowestShown is how many types are shown with their SQL.
const slowestShown = 5

// pass reports whether every gate holds.
func (f *queryFigures) pass() bool {
	return !slices.ContainsFunc(f.gates, func(g gate) bool { return !g.holds() })
}

// markdown renders the page.
func (f *queryFigures) markdown() string {
	var b strings.Builder
	b.WriteString("# Questions\n\n")
	b.WriteString("Written by `go run ./bench -only query`; do not edit. What is asked is the product as `millrace " +
		"standalone` runs it, its ClickHouse\n" +
		"and broker beside it, and the load, all on the same cores. Fresh answers are no copies of earlier ones " +
		"(`Cache-Control: no-cache, no-store`).\n" +
		"How each figure is found is told in [README.md](README.md#questions).\n\n")
	fmt.Fprintf(&b, "%s, version %s, %s, %s, %d cores, %s of memory, load average before %s.\n",
		f.began.UTC().Format(time.DateOnly), buildinfo.Version(), runtime.Version(), processor(), runtime.NumCPU(), memory(),
		f.load)
	fmt.Fprintf(&b,
		"The data set has %d rows of events of %d websites over the twelve months until %s, %d of them of the largest "+
			"website in its last 30 days.\n\n",
		f.count, len(f.set.Websites), f.set.Until.Format(time.DateOnly), f.recent)
	options := ""
	if len(f.measures) > 0 {
		options = " -measures " + strings.Join(f.measures, ",")
	}
	if f.asIs {
		options += " -as-is"
	}
	fmt.Fprintf(&b, "    go run ./bench -fill -data DIR -data-rows %d\n    go run ./bench -only query -data DIR%s\n\n",
		f.set.Rows, options)
	b.WriteString("| Gate | Measure | Found | Wanted | |\n|---|---|---|---|---|\n")
	for i := range f.gates {
		g := &f.gates[i]
		verdict, wanted := "holds", fmt.Sprintf("≤ %.2f %s", g.most, g.unit)
		if g.atLeast {
			wanted = fmt.Sprintf("≥ %.2f %s", g.most, g.unit)
		}
		if !g.holds() {
			verdict = "**missed**"
		}
		fmt.Fprintf(&b, "| %s | %s | %.2f %s | %s | %s |\n", g.name, g.help, g.value, g.unit, wanted, verdict)
	}
	for _, n := range f.notes {
		b.WriteString("\n- " + n)
	}
	if len(f.types) == 0 {
		b.WriteString("\n")
		return b.String()
	}
	b.WriteString("\n\n## Each type alone\n\nThirty days of the largest website, medians, the slowest first; beside it " +
		"the SQL that `/v1/query/compile` says, through ch-go.\n\n" +
		"| Type | `/v1/query` ms | SQL ms | Allowed ms | Rows read |\n|---|---|---|---|---|\n")
	for i := range f.types {
		t := &f.types[i]
		fmt.Fprintf(&b, "| `%s` | %.2f | %.2f | %.2f | %d |\n", t.name, t.ours.at(0.5), t.bare.at(0.5), t.allowed(), t.read)
	}
	fmt.Fprintf(&b, "\n## The SQL of the slowest %d\n", slowestShown)
	for i := range f.types[:min(slowestShown, len(f.types))] {
		t := &f.types[i]
		fmt.Fprintf(&b, "\n`%s`:\n\n```sql\n%s\n```\n\n", t.name, strings.TrimSpace(t.compiled.SQL))
		for _, name := range slices.Sorted(maps.Keys(t.compiled.Params)) {
			fmt.Fprintf(&b, "    %s = %.120s\n", name, t.compiled.Params[name])
		}
	}
	return b.String()
}

// processor is what the machine calls its processor.
func processor() string { return lineOf("/proc/cpuinfo", "model name", "an unknown processor") }

// memory is how much the machine has.
func memory() string {
	kib, err := strconv.Atoi(strings.TrimSuffix(lineOf("/proc/meminfo", "MemTotal", ""), " kB"))
	if err != nil {
		return "an unknown amount"
	}
	return fmt.Sprintf("%d GiB", kib>>20)
}

// lineOf returns what a line of a file says.
func lineOf(file, name, otherwise string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return otherwise
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return otherwise
}
