package main

import (
	"fmt"
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
	rates  map[string][]float64
	micros map[string][]float64 // processor time per event, in microseconds
	notes  []string
}

func newFigures(s settings) *figures {
	return &figures{
		settings: s, began: time.Now(), load: loadAverage(), rates: map[string][]float64{}, micros: map[string][]float64{},
	}
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
		derive("live", float64(f.liveRate))
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

// of returns a ratio; ok is false when a side was not measured. Rounds are compared one by
// one, so that what slows all of one down changes nothing.
func (f *figures) of(r ratio) (c compared, ok bool) {
	own := f.rates[r.of]
	limits, micros, err := f.limit(r.limit, len(own))
	if err != nil || len(own) == 0 {
		return c, false
	}
	all := make([]float64, len(own))
	for i := range own {
		all[i] = own[i] / limits[i]
	}
	c = compared{median: median(all), low: slices.Min(all), high: slices.Max(all), limit: micros}
	if of := f.micros[r.of]; len(of) > 0 {
		c.micros = median(of)
	}
	return c, true
}

// limit returns what the limit of a ratio would reach in each of the rounds, and the processor
// time of each of its events.
func (f *figures) limit(names string, rounds int) (rates []float64, micros float64, err error) {
	rates = make([]float64, rounds)
	if fixed, ok := strings.CutPrefix(names, "="); ok {
		n, err := strconv.ParseFloat(fixed, 64)
		for i := range rates {
			rates[i] = n
		}
		return rates, 0, err
	}
	seconds := make([]float64, rounds) // per event
	for name := range strings.SplitSeq(names, "+") {
		all := f.rates[name]
		if len(all) != rounds {
			return nil, 0, fmt.Errorf("%s was measured in %d rounds of %d", name, len(all), rounds)
		}
		for i := range all {
			seconds[i] += 1 / all[i]
		}
		if of := f.micros[name]; len(of) > 0 {
			micros += median(of)
		}
	}
	for i := range rates {
		rates[i] = 1 / seconds[i]
	}
	return rates, micros, nil
}

// pass reports whether every gate that was measured holds.
func (f *figures) pass() bool {
	return !slices.ContainsFunc(slices.Concat(ratios, linkRatios, flagRatios), func(r ratio) bool {
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
		fmt.Sprintf("The outage lasts %s while %d records a second go on.\n", f.outage, f.liveRate) +
		f.whichBroker() + "\n\n")
	fmt.Fprintf(&b, "%s, version %s, %s, %d cores, %d rounds, one event of %d bytes, load average before %s.\n\n",
		f.began.UTC().Format(time.DateOnly), buildinfo.Version(), runtime.Version(), runtime.NumCPU(),
		f.rounds, eventBytes, f.load)

	f.gates(&b)
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
