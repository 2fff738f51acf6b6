package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
)

// How replicas, partitions and disks follow from costs.
const (
	// busy is how much of a core is used in the mean of a busy hour: the rest is for
	// peaks, for one replica that is away, and for catching up.
	busy = 0.5
	// peaks is how many times the mean of a day its busiest hour has.
	peaks = 2.5
	// edgeCores and sinkCores are what one replica is given.
	edgeCores, sinkCores = 2, 2
	// perPartition is how many events a second one partition takes at most without
	// being the largest cost of anything: a range a second of the sink's size.
	perPartition    = 5_000
	leastPartitions = 12
	topicDays       = 7
	topicReplicas   = 3
	// spare is how much of a disk is left free: merges write parts anew.
	spare = 0.4
)

// capacityRates are the rows of the guide's table, in events a second in the mean.
var capacityRates = []float64{100, 1_000, 5_000, 20_000, 50_000, 100_000}

const (
	guideBegin = "<!-- capacity: written by `go run ./bench -only capacity`; changes here are lost -->\n"
	guideEnd   = "<!-- /capacity -->\n"
)

var errNoMarks = errors.New("the guide has no marks to write between")

// fillGuide replaces what stands between the marks of the guide.
func (c *costs) fillGuide(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, found := bytes.Cut(text, []byte(guideBegin))
	_, after, ends := bytes.Cut(rest, []byte(guideEnd))
	if !found || !ends {
		return fmt.Errorf("%s: %w", file, errNoMarks)
	}
	var b bytes.Buffer
	b.Write(before)
	b.WriteString(guideBegin)
	c.billion(&b)
	c.table(&b)
	b.WriteString(guideEnd)
	b.Write(after)
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// billion is what a billion events cost at the high rate.
func (c *costs) billion(b *bytes.Buffer) {
	high := &c.runs[1]
	fmt.Fprintf(b, "A billion events, sent at %.0f a second, took ([measured](../benchmarks/capacity.md)):\n\n"+
		"| Core-hours of edge | Of sink | Of ClickHouse | Together | In Kafka, a replica | On disk, a replica |\n"+
		"|--:|--:|--:|--:|--:|--:|\n|", high.report.RateReached)
	for _, p := range processes[:4] {
		fmt.Fprintf(b, " %.1f |", coreHours(high.perEvent(p.of)))
	}
	fmt.Fprintf(b, " %s | %s |\n\n", gigabytes(c.logBytes()*1e9), gigabytes(c.diskBytes()*1e9))
}

// table is what each rate needs.
func (c *costs) table(b *bytes.Buffer) {
	edge, sink, server := c.through(processes[0].of), c.through(processes[1].of), c.through(processes[2].of)
	fmt.Fprintf(b, "From %.1f, %.1f and %.1f µs of processor time that each event adds on edge, sink and ClickHouse, "+
		"%.2f, %.2f and %.2f cores that each has at any rate, "+
		"and %.0f bytes of an event in Kafka and %.0f on disk ([measured](../benchmarks/capacity.md)).\n\n",
		edge.micros, sink.micros, server.micros, edge.cores, sink.cores, server.cores, c.logBytes(), c.diskBytes())
	fmt.Fprintf(b,
		"| Events a second, mean of a day | A month | Edges of %d cores | Sinks of %d cores | Partitions | ClickHouse "+
			"cores | Kafka disk, %d days, %d replicas | ClickHouse disk a month, a replica |\n",
		edgeCores, sinkCores, topicDays, topicReplicas)
	fmt.Fprint(b, "|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, rate := range capacityRates {
		const day = 24 * 3600
		fmt.Fprintf(b, "| %.0f | %s | %d | %d | %d | %d | %s | %s |\n",
			rate, millions(rate*day*30), replicas(edge.at(rate*peaks), edgeCores), replicas(sink.at(rate*peaks), sinkCores),
			partitionsFor(rate), int(math.Max(2, math.Ceil(server.at(rate*peaks)/busy))),
			gigabytes(rate*day*topicDays*topicReplicas*c.logBytes()/(1-spare)), gigabytes(rate*day*30*c.diskBytes()/(1-spare)))
	}
}

// replicas is how many processes of so many cores share the work of some: two at
// least, so that one may be away.
func replicas(work float64, each int) int {
	return int(math.Max(2, math.Ceil(work/busy/float64(each))))
}

// partitionsFor rounds up to what two, three, four and six sinks share equally.
func partitionsFor(rate float64) int {
	return leastPartitions * int(math.Max(1, math.Ceil(rate*peaks/perPartition/leastPartitions)))
}

func millions(n float64) string {
	if n >= 1e9 {
		return fmt.Sprintf("%.1f billion", n/1e9)
	}
	return fmt.Sprintf("%.0f million", n/1e6)
}
