package rangemodel

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// trace tells a shortest way to what was found, a step a line. Kept states have
// forgotten which worker is which, so the way is walked again with names.
func (s *search) trace(faults int) []string {
	var way []packed
	for n := s.found; n != 0; n = s.parents[n] {
		way = append(way, s.keys[n])
	}
	slices.Reverse(way)
	x := explorer{variant: s.variant, watch: s.watch, records: s.records, plain: s.plain, state: start(faults)}
	var lines []string
	for _, want := range way {
		var to state
		line := ""
		x.visit = func(how step) {
			if line == "" && x.to.pack() == want {
				to, line = x.to, how.tell(&x.state, &x.to)
			}
		}
		x.expand()
		lines = append(lines, line)
		x.state = to
	}
	if s.broke != NoProgress {
		line := ""
		x.visit = func(how step) {
			if line == "" && how.kind == s.last.kind && x.violates() == s.broke {
				line = how.tell(&x.state, &x.to)
			}
		}
		x.expand()
		lines = append(lines, line)
	}
	return append(lines, "→ "+s.broke.String())
}

// violates says what the step just made breaks.
func (x *explorer) violates() Invariant {
	if x.broken != None {
		return x.broken
	}
	return x.to.check(x.watch)
}

// sentences say what each step is; {range} is what is in hand before it and {then}
// after it.
var sentences = [...]string{
	assign:    "{worker} is assigned partition {partition}",
	restore:   "{worker} reads the metadata of partition {partition} and has {then}",
	poll:      "{worker} polls record {n} of partition {partition}",
	seal:      "{worker} freezes range {then} of partition {partition}",
	plan:      "{worker} commits the plan {range} of partition {partition}",
	send:      "{worker} sends month {n} of {range} of partition {partition}",
	applyBase: "the server is through with the base table for {worker}, {range} of partition {partition}",
	applyView: "the server is through with the rollup for {worker}, {range} of partition {partition}",
	response:  "{worker} sees that month {n} of {range} of partition {partition} is inserted",
	record:    "{worker} writes {range} of partition {partition} into the ledger",
	commit:    "{worker} commits the offset after {range} of partition {partition}",
	lateBase: "the server is through with the base table for an insert into partition {partition} that nobody " +
		"waits for",
	lateView: "the server is through with the rollup for an insert into partition {partition} that nobody " +
		"waits for",
	learn:  "{worker} learns of the new generation and keeps its partitions",
	rejoin: "the client of {worker} joins again, under another member id",
	notice: "{worker} is told of its new session, and drops what it has of partition {partition}",
	reject: "the group refuses the commit of {worker}, which drops {range} of partition {partition} and " +
		"reads again",
	dropRaised:        "{worker} finds the generation raised and drops {range} of partition {partition}",
	expire:            "the group gives up {worker}, whose process is gone",
	restart:           "{worker} starts again",
	forget:            "the tables forget the tokens of what is committed of partition {partition}",
	raiseLowWatermark: "the window of {worker} for partition {partition} forgets what is before record {n}",
	setCeiling:        "the window of {worker} for partition {partition} leaves out record {n}, which is ahead",
	crash:             "{worker} dies",
	kick:              "the group gives up {worker}, which does not know",
	revoke:            "partition {partition} is taken away from {worker}, which drops {range}",
	rebalance:         "the generation is raised, everybody keeps what they have",
	loseResponse:      "the answer to the insert of {range} of partition {partition} never reaches {worker}",
	losePlanned:       "the plan {range} of partition {partition} is stored, the reply never reaches {worker}",
	loseCommitted:     "the offset after {range} of partition {partition} is stored, the reply never reaches {worker}",
}

func (h step) tell(before, after *state) string {
	return strings.NewReplacer(
		"{worker}", string(rune('A'+h.worker)),
		"{partition}", strconv.Itoa(int(h.partition)),
		"{range}", before.worker[h.worker].work[h.partition].tell(),
		"{then}", after.worker[h.worker].work[h.partition].tell(),
		"{n}", strconv.Itoa(int(h.arg)),
	).Replace(sentences[h.kind])
}

func (w *work) tell() string {
	switch {
	case w.phase == absent || w.phase == restoring:
		return "nothing"
	case w.first == w.next:
		return fmt.Sprintf("nothing after offset %d", w.first)
	}
	return fmt.Sprintf("[%d,%d]", w.first, w.next-1)
}
