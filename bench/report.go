package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/buildinfo"
)

// figures are the results of all rounds.
type figures struct {
	settings
	began  time.Time
	load   string // load average before the first run
	rates  map[string][]float64
	micros map[string][]float64 // processor time per event, in microseconds
	notes  []string
}

func newFigures(s settings) *figures {
	return &figures{settings: s, began: time.Now(), load: loadAverage(), rates: map[string][]float64{}, micros: map[string][]float64{}}
}

func (f *figures) add(m *measure, r result) {
	f.rates[m.name] = append(f.rates[m.name], r.Events/r.Seconds)
	f.micros[m.name] = append(f.micros[m.name], r.CPUSeconds*1e6/r.Events)
	fmt.Fprintf(os.Stderr, "%-12s %12.0f %s\n", m.name, r.Events/r.Seconds, m.unit)
	derive := func(name string, v float64) { f.rates[name] = append(f.rates[name], v) }
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
		derive("live", float64(f.liveRate))
	case "sink":
		derive("sinkcore", 1/(r.CPUSeconds/r.Events+r.AroundCPU/r.AroundEvents))
	case "engine":
		derive("enginecore", r.AroundEvents/r.AroundCPU)
	}
}

// keyBytes is what a window may use for an event.
const keyBytes = 40

// of returns the ratio of medians; ok is false when a side was not measured.
func (f *figures) of(r ratio) (value float64, ok bool) {
	seconds := 0.0 // per event, at the limit
	if fixed, ok := strings.CutPrefix(r.limit, "="); ok {
		n, err := strconv.ParseFloat(fixed, 64)
		if err != nil || len(f.rates[r.of]) == 0 {
			return 0, false
		}
		return median(f.rates[r.of]) / n, true
	}
	for name := range strings.SplitSeq(r.limit, "+") {
		if len(f.rates[name]) == 0 {
			return 0, false
		}
		seconds += 1 / median(f.rates[name])
	}
	if len(f.rates[r.of]) == 0 {
		return 0, false
	}
	return median(f.rates[r.of]) * seconds, true
}

// pass reports whether every gate that was measured holds.
func (f *figures) pass() bool {
	return !slices.ContainsFunc(slices.Concat(ratios, linkRatios, flagRatios), func(r ratio) bool {
		v, ok := f.of(r)
		return ok && v < r.gate
	})
}

// markdown renders the page.
func (f *figures) markdown() string {
	var b strings.Builder
	b.WriteString("# How near to the limit\n\n")
	b.WriteString("Written by `make bench`; do not edit. Each figure stands beside its limit, measured in the same run. What is measured is pinned\n" +
		"to one core; its load, the broker and ClickHouse are pinned to the other, unless the line says otherwise. Figures are medians, the\n" +
		"spread is lowest to highest. " + fmt.Sprintf("The outage lasts %s while %d records a second go on.\n", f.outage, f.liveRate) +
		f.whichBroker() + "\n\n")
	fmt.Fprintf(&b, "%s, version %s, %s, %d cores, %d rounds, one event of %d bytes, load average before %s.\n\n",
		f.began.UTC().Format(time.DateOnly), buildinfo.Version(), runtime.Version(), runtime.NumCPU(), f.rounds, eventBytes, f.load)

	b.WriteString("| Gate | Measure | Ratio | At least | |\n|---|---|---|---|---|\n")
	for _, r := range slices.Concat(ratios, linkRatios, flagRatios) {
		v, ok := f.of(r)
		if !ok {
			continue
		}
		gate, verdict := "", ""
		if r.gate > 0 {
			gate, verdict = fmt.Sprintf("%.2f", r.gate), "holds"
			if v < r.gate {
				verdict = "**missed**"
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %.2f | %s | %s |\n", r.name, r.help, v, gate, verdict)
	}

	b.WriteString("\n| Measured | Median | Spread | CPU µs each |\n|---|---|---|---|\n")
	for _, m := range slices.Concat(
		edgeMeasures, linkMeasures, flagMeasures, sinkMeasures, spoiltMeasures, windowMeasures, derivedMeasures,
	) {
		rates := f.rates[m.name]
		if len(rates) == 0 {
			continue
		}
		micros := ""
		if all := f.micros[m.name]; len(all) > 0 && m.role != "engine" { // which only waits
			micros = fmt.Sprintf("%.2f", median(all))
		}
		fmt.Fprintf(&b, "| %s | %s %s | %s – %s | %s |\n", m.help,
			thousands(median(rates)), m.unit, thousands(slices.Min(rates)), thousands(slices.Max(rates)), micros)
	}
	for _, n := range f.notes {
		b.WriteString("\n- " + n + "\n")
	}
	return b.String()
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

func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	first, _, ok := strings.Cut(string(b), " ")
	if err != nil || !ok {
		return "unknown"
	}
	return first
}
