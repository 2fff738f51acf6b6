package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"runtime"
	"time"

	"github.com/millrace/millrace/internal/adapter/load"
	"github.com/millrace/millrace/internal/platform/buildinfo"
)

// costs is what a run of known length took.
type costs struct {
	settings

	began  time.Time
	load   string // load average before
	runs   []run  // at the low rate, and at the high one
	topics map[string]volume
	tables map[string]volume
}

func newCosts(s settings) *costs { return &costs{settings: s, began: time.Now(), load: loadAverage()} }

// run is what was sent at one rate, and the processor time that took.
type run struct {
	report *load.Report
	used   usage
}

// linear says what a process uses: cores that it needs for any rate, and processor time
// of each event, in microseconds.
type linear struct{ cores, micros float64 }

// through is the line through two runs.
func (c *costs) through(of func(usage) float64) linear {
	low, high := &c.runs[0], &c.runs[1]
	cores := func(r *run) float64 { return of(r.used) / r.report.Seconds }
	each := (cores(high) - cores(low)) / (high.report.RateAccepted - low.report.RateAccepted)
	return linear{cores: math.Max(0, cores(low)-each*low.report.RateAccepted), micros: each * 1e6}
}

// at is how many cores a rate needs.
func (l linear) at(rate float64) float64 { return l.cores + rate*l.micros/1e6 }

// perEvent is the processor time of each event at a run's rate, in microseconds.
func (r *run) perEvent(of func(usage) float64) float64 {
	return of(r.used) * 1e6 / float64(r.report.Accepted)
}

// processes are those that a deployment has.
var processes = []struct {
	name string
	of   func(usage) float64
}{
	{"edge", func(u usage) float64 { return u.edge }},
	{"sink", func(u usage) float64 { return u.sink }},
	{"ClickHouse, with rollups and merges", func(u usage) float64 { return u.clickhouse }},
	{"together", func(u usage) float64 { return u.edge + u.sink + u.clickhouse }},
	{"the embedded broker, for comparison", func(u usage) float64 { return u.broker }},
}

// coreHours is what a billion events take that one takes so many microseconds of.
func coreHours(micros float64) float64 { return micros * 1e9 / 1e6 / 3600 }

// logBytes is what an accepted event takes in the topics, of all kinds.
func (c *costs) logBytes() float64 {
	var all volume
	for _, v := range c.topics {
		all.rows, all.bytes = all.rows+v.rows, all.bytes+v.bytes
	}
	return all.each()
}

// diskBytes is what an accepted event takes in the tables, of all kinds, with its
// rollups.
func (c *costs) diskBytes() float64 {
	var all volume
	for _, k := range kinds {
		all.rows += c.tables[k.tables[0]].rows
		for _, t := range k.tables {
			all.bytes += c.tables[t].bytes
		}
	}
	return all.each()
}

func (c *costs) markdown() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "<!-- Written by `go run ./bench -only capacity`; changes here are lost. -->\n# Capacity\n\n")
	low, high := c.runs[0].report, c.runs[1].report
	fmt.Fprintf(&b,
		"What an event costs, from %d events at %.0f and at %.0f a second, measured %s on %d cores (%s, %s, %s), load "+
			"average before %s.\n",
		low.Accepted+high.Accepted, low.RateReached, high.RateReached, c.began.UTC().Format(time.DateOnly), runtime.NumCPU(),
		processor(), runtime.Version(), buildinfo.Version(), c.load)
	fmt.Fprintf(&b, capacityIntro, c.capacityRate, c.capacityFor)
	c.processes(&b)
	c.bytesOf(&b)
	return b.String()
}

const capacityIntro = `
One edge, one sink and one ClickHouse, each a process of its own, and the traffic of
` + "`millrace load events`" + `: 20 events a request, of which some are page views, some
exits, links, measurements and errors. Processor time is what the kernel says of each process
from the first event until the last one is stored and ClickHouse has nothing left to
merge by itself. Other work on the machine makes it larger, by what caches lose, and
never smaller. At a low rate most of it is for inserts of few rows, which cost as much as
larger ones: the line through both rates tells what is there at any rate from what
each event adds. Bytes on disk are those after the last merge, in Kafka those of one
replica with what compression does.

    go run ./bench -only capacity -capacity-rate %g -capacity-for %v

How many of what a rate needs: [capacity.md](../guides/capacity.md), whose tables this
program writes from these figures.

`

func (c *costs) processes(b *bytes.Buffer) {
	low, high := &c.runs[0], &c.runs[1]
	fmt.Fprintf(b,
		"| Process | An event at %.0f/s | At %.0f/s | Cores at any rate | Each event more | Core-hours a billion events "+
			"at %.0f/s |\n|---|--:|--:|--:|--:|--:|\n",
		low.report.RateReached, high.report.RateReached, high.report.RateReached)
	for _, p := range processes {
		l := c.through(p.of)
		fmt.Fprintf(b, "| %s | %.1f µs | %.1f µs | %.2f | %.1f µs | %.1f |\n",
			p.name, low.perEvent(p.of), high.perEvent(p.of), l.cores, l.micros, coreHours(high.perEvent(p.of)))
	}
	fmt.Fprintln(b)
}

func (c *costs) bytesOf(b *bytes.Buffer) {
	fmt.Fprint(b, "| Kind | Records | In Kafka, a replica | Base table | Rollups | On disk |\n|---|--:|--:|--:|--:|--:|\n")
	for _, k := range kinds {
		t, base := c.topics[k.topic], c.tables[k.tables[0]]
		if base.rows == 0 {
			continue
		}
		rollups := volume{rows: base.rows}
		for _, name := range k.tables[1:] {
			rollups.bytes += c.tables[name].bytes
		}
		fmt.Fprintf(b, "| %s | %d | %.0f B | %.0f B | %.0f B | %.0f B |\n",
			k.name, t.rows, t.each(), base.each(), rollups.each(), base.each()+rollups.each())
	}
	fmt.Fprintf(b, "| all, a billion | | %s | | | %s |\n", gigabytes(c.logBytes()*1e9), gigabytes(c.diskBytes()*1e9))
}

func gigabytes(n float64) string {
	if n >= 1e12 {
		return fmt.Sprintf("%.1f TB", n/1e12)
	}
	return fmt.Sprintf("%.0f GB", math.Ceil(n/1e9))
}

// write puts the page into one file, and the tables of the guide into another,
// between its marks.
func (c *costs) write(out, guide string) error {
	text := c.markdown()
	fmt.Print(text)
	if out == "" {
		return nil
	}
	if err := os.WriteFile(out, []byte(text), 0o644); err != nil {
		return err
	}
	return c.fillGuide(guide)
}
