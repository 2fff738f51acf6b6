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

// figures are the results of all rounds.
type figures struct {
	settings
	began  time.Time
	load   string // load average before the first run
	done   int    // rounds that have ended
	rates  map[string]series
	micros map[string]series // processor time per event, in microseconds
	failed []string          // what could not be measured, and why
	notes  []string
}

// series are the values of a measure by the rounds that it was measured in.
type series map[int]float64

func (s series) values() []float64 { return slices.Collect(maps.Values(s)) }

func (s series) median() float64 { return median(s.values()) }

// note adds a value to a series by its name.
func note(all map[string]series, name string, round int, v float64) {
	if all[name] == nil {
		all[name] = series{}
	}
	all[name][round] = v
}

func newFigures(s settings) *figures {
	return &figures{
		settings: s, began: time.Now(), load: loadAverage(), rates: map[string]series{}, micros: map[string]series{},
	}
}

// fail notes that a measure has no figure of a round.
func (f *figures) fail(m *measure, round int, err error) {
	f.failed = append(f.failed, fmt.Sprintf("%#q failed in round %d: %v.", m.name, round+1, err))
	fmt.Fprintf(os.Stderr, "%-12s failed: %v\n", m.name, err)
}

func (f *figures) add(m *measure, round int, r result) {
	derive := func(name string, v float64) { note(f.rates, name, round, v) }
	derive(m.name, r.Events/r.Seconds)
	note(f.micros, m.name, round, r.CPUSeconds*1e6/r.Events)
	fmt.Fprintf(os.Stderr, "%-12s %12.0f %s\n", m.name, r.Events/r.Seconds, m.unit)
	switch m.name {
	case "sinkfull":
		derive("peak", r.PeakBytes)
		derive("allowed", 512<<20+keyBytes*r.Keys)
	case "allocs1":
		derive("allocs1allowed", allowedAllocs)
	case "allocs100":
		derive("allocs100allowed", allowedAllocs100)
	case "half1":
		derive("p99", r.Latency.P99)
		derive("p999", r.Latency.P999)
		derive("prototypep99", r.Prototype.P99)
		derive("brokerp99", r.Broker.P99)
		derive("p99allowed", r.Broker.P99+allowedMillis)
	case "manylinks":
		derive("linkp99", r.Latency.P99)
		derive("awayp99", r.Away.P99)
		derive("linkfill", r.FillSeconds)
		derive("linkpeak", r.PeakBytes)
		for name, v := range linksAllowed {
			derive(name, v)
		}
	case "bareflaghalf":
		derive("bareflagp99", r.Latency.P99)
	case "flaghalf":
		derive("flagp99", r.Latency.P99)
		derive("flagp99allowed", flagsAllowed["flagp99"])
	case "flagshalf":
		derive("flagsp99", r.Latency.P99)
		derive("flagsp99allowed", flagsAllowed["flagsp99"])
	case "linktypes":
		derive("typep95", r.SlowestP95)
		derive("typep95allowed", allowedL5)
		f.notes = append(f.notes, "L5: the slowest is "+r.Slowest+".")
	case "catchup":
		derive("live", r.Live)
	case "sink":
		derive("sinkcore", 1/(r.CPUSeconds/r.Events+r.AroundCPU/r.AroundEvents))
	case "engine":
		derive("enginecore", r.AroundEvents/r.AroundCPU)
	}
}

// keyBytes is what a window may use for an event.
const keyBytes = 40

// compared is a ratio as it was measured.
type compared struct {
	median, low, high float64 // of the rounds
	// micros and limit are the processor time of each event, of what is measured and of what
	// it is compared with; 0 where nobody counts it.
	micros, limit float64
}

// of returns a ratio; ok is false when no round measured both sides. Rounds are compared one
// by one, so that what slows all of one down changes nothing.
func (f *figures) of(r ratio) (c compared, ok bool) {
	var all []float64
	for round, own := range f.rates[r.of] {
		if limit, ok := f.limit(r.limit, round); ok {
			all = append(all, own/limit)
		}
	}
	if len(all) == 0 {
		return c, false
	}
	c = compared{median: median(all), low: slices.Min(all), high: slices.Max(all)}
	if of := f.micros[r.of]; len(of) > 0 {
		c.micros = of.median()
	}
	for name := range strings.SplitSeq(r.limit, "+") {
		if of := f.micros[name]; len(of) > 0 {
			c.limit += of.median()
		}
	}
	return c, true
}

// limit returns what the limit of a ratio would reach in a round; ok is false where it was
// not measured.
func (f *figures) limit(names string, round int) (rate float64, ok bool) {
	if fixed, ok := strings.CutPrefix(names, "="); ok {
		n, err := strconv.ParseFloat(fixed, 64)
		return n, err == nil
	}
	seconds := 0.0 // per event
	for name := range strings.SplitSeq(names, "+") {
		of, ok := f.rates[name][round]
		if !ok {
			return 0, false
		}
		seconds += 1 / of
	}
	return 1 / seconds, true
}

// pass reports whether everything was measured and every gate holds.
func (f *figures) pass() bool {
	return len(f.failed) == 0 && !slices.ContainsFunc(slices.Concat(ratios, linkRatios, flagRatios), func(r ratio) bool {
		v, ok := f.of(r)
		return ok && v.median < r.gate
	})
}

// markdown renders the page.
func (f *figures) markdown() string {
	var b strings.Builder
	b.WriteString("# How near to the limit\n\n")
	b.WriteString("Written by `make bench`; do not edit. Each figure stands beside its limit, measured in the same " +
		"run. What is measured is pinned\n" +
		"to one core; its load, the broker and ClickHouse are pinned to the other, unless the line says otherwise. " +
		"Figures are medians, the\n" +
		"spread is lowest to highest. A ratio is the median of those of its rounds. " +
		fmt.Sprintf("The outage lasts %s.\n", f.outage) +
		f.whichBroker() + "\n\n")
	fmt.Fprintf(&b, "%s, version %s, %s, %d cores, %d rounds, one event of %d bytes, load average before %s.\n\n",
		f.began.UTC().Format(time.DateOnly), buildinfo.Version(), runtime.Version(), runtime.NumCPU(),
		f.done, eventBytes, f.load)

	f.gates(&b)
	b.WriteString("\n| Measured | Median | Spread | CPU µs each |\n|---|---|---|---|\n")
	for _, m := range slices.Concat(
		edgeMeasures, linkMeasures, flagMeasures, sinkMeasures, spoiltMeasures, windowMeasures, derivedMeasures,
	) {
		rates := f.rates[m.name].values()
		if len(rates) == 0 {
			continue
		}
		micros := ""
		if all := f.micros[m.name]; len(all) > 0 && m.role != "engine" { // which only waits
			micros = fmt.Sprintf("%.2f", all.median())
		}
		fmt.Fprintf(&b, "| %s | %s %s | %s – %s | %s |\n", m.help,
			thousands(median(rates)), m.unit, thousands(slices.Min(rates)), thousands(slices.Max(rates)), micros)
	}
	for _, n := range slices.Concat(f.failed, f.notes) {
		b.WriteString("\n- " + n + "\n")
	}
	return b.String()
}

// gates writes the table of ratios.
func (f *figures) gates(b *strings.Builder) {
	b.WriteString(
		"| Gate | Measure | Ratio | Spread | At least | | CPU µs each | at the limit |\n|---|---|--:|---|--:|---|--:|--:|\n")
	for _, r := range slices.Concat(ratios, linkRatios, flagRatios) {
		v, ok := f.of(r)
		if !ok {
			continue
		}
		gate, verdict := "", ""
		if r.gate > 0 {
			gate, verdict = fmt.Sprintf("%.2f", r.gate), "holds"
			if v.median < r.gate {
				verdict = "**missed**"
			}
		}
		fmt.Fprintf(b, "| %s | %s | %.2f | %.2f – %.2f | %s | %s | %s | %s |\n",
			r.name, r.help, v.median, v.low, v.high, gate, verdict, orBlank(v.micros), orBlank(v.limit))
	}
}

// orBlank renders processor time, which not every measure has.
func orBlank(micros float64) string {
	if micros == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", micros)
}

func (f *figures) whichBroker() string {
	if len(f.brokers) > 0 {
		return "The broker is a real one, on both cores."
	}
	return "The broker is the embedded one, in memory; it answers once a batch is appended."
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// thousands renders a figure as 1.23, 12.3k or 1.23M.
func thousands(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.2fM", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.1fk", v/1e3)
	}
	return fmt.Sprintf("%.2f", v)
}
