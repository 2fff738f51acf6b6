package fault

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/repair"
	"github.com/millrace/millrace/internal/pipeline/verify"
	"github.com/millrace/millrace/internal/testkit"
)

const (
	// boundedVisits are tried at once of a link that boundedMost may follow.
	boundedVisits, boundedMost = 1000, 100
	// visitsBetween is about how many visitors are sent on between two faults.
	visitsBetween = 150
)

// Visitors open links all the time while sinks and edges are killed. A sink's kill loses
// no click, an edge's those of its last second at most; each click is counted once, and a
// link that only so many may follow is followed by so many.
func TestClicksAreCountedOnceWhateverIsKilled(t *testing.T) {
	kills := 1
	if thorough() {
		kills = 6
	}
	tr := trial{
		fault: "F27 clicks", point: "edges and sinks killed", topic: record.TopicClicks, on: realToo(), few: 1, waits: true,
		body: func(_ *testing.T, s *stage) {
			v := s.newLinkFront()
			v.crowd()
			one := s.spawnSink(order{})
			end := v.stream()
			for range kills {
				v.more(visitsBetween + s.rng.IntN(visitsBetween))
				one = s.replaceSink(one)
			}
			end()
			v.allStored()

			end = v.stream()
			for n := range kills {
				v.more(visitsBetween + s.rng.IntN(visitsBetween))
				v.kill(n % len(v.edges))
				v.more(visitsBetween + s.rng.IntN(visitsBetween))
				one = s.replaceSink(one)
			}
			v.more(visitsBetween)
			end()
			for _, e := range v.edges {
				e.stop() // which publishes what waits
			}
			one.heard("ready")
			one.stop()
			s.finishClicks()
			v.judge()
		},
	}
	tr.run(t)
}

// crowd has many visitors open the bounded link at once.
func (v *linkFront) crowd() {
	v.s.t.Helper()
	var all sync.WaitGroup
	for i := range boundedVisits {
		all.Go(func() { v.open(i%len(v.edges), "bounded") })
	}
	all.Wait()
	got := map[int]int{}
	for _, of := range v.visits {
		got[of.status]++
	}
	if got[http.StatusFound] != boundedMost || got[http.StatusGone] != boundedVisits-boundedMost {
		v.s.t.Errorf("statuses %v of %d visits, want %d sent on and the others 410", got, boundedVisits, boundedMost)
	}
}

// replaceSink kills a sink and starts another one.
func (s *stage) replaceSink(one *child) *child {
	s.t.Helper()
	one.heard("ready")
	s.progress()
	one.cmd.Process.Kill()
	one.killed()
	return s.spawnSink(order{})
}

// finishClicks runs a sink until nothing is left to do, and measures how long that takes.
func (s *stage) finishClicks() {
	s.t.Helper()
	begin := time.Now()
	last := s.startSink(watched{})
	s.drained()
	s.took = time.Since(begin)
	last.stop()
}

// allStored waits until every visitor who was sent on is counted.
func (v *linkFront) allStored() {
	v.s.t.Helper()
	testkit.Eventually(v.s.t, patience, func() error {
		var counted verdict
		v.compare(&counted)
		if counted.Missing > 0 {
			return fmt.Errorf("%d clicks are missing: %s", counted.Missing, strings.Join(first(counted.notes, 5), "\n"))
		}
		return nil
	})
}

// judge reads all counters and fails the test unless they are exact. An edge's kill may
// have lost clicks, so the topic says how many there should be.
func (v *linkFront) judge() {
	s := v.s
	s.t.Helper()
	counted := &s.verdict
	*counted = verdict{}
	ends, err := s.ends(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, end := range ends {
		counted.Acked += int(end)
	}
	lost := v.compare(counted)
	counted.Final = s.number("SELECT count() FROM clicks FINAL")
	counted.Rollup = s.number("SELECT sum(clicks + bots) FROM clicks_15m WHERE dimension = 'total'")
	counted.RollupD = s.number("SELECT sum(clicks + bots) FROM clicks_1d WHERE dimension = 'target'")
	s.countLedger(counted)
	counted.MovedBack = len(s.offsets.movedBack())
	s.t.Logf("%d visits, %d sent on, %d clicks in the topic; %d lost by %d kills of edges",
		len(v.visits), v.sent, counted.Acked, lost, len(v.kills[0])+len(v.kills[1]))
	if wrong := counted.exactly(0); len(wrong) > 0 {
		s.t.Errorf("%s\n%s", strings.Join(wrong, "\n"), strings.Join(first(counted.notes, 30), "\n"))
	}
	s.verify()
}

// compare looks for the click of each visit, and returns how many an edge's kill may have
// lost, and has.
func (v *linkFront) compare(to *verdict) (lost int) {
	v.s.t.Helper()
	rows := map[string]bool{}
	for _, r := range v.s.query("SELECT referrer_host, count(), uniqExact(click_id) FROM clicks GROUP BY referrer_host") {
		n := atoi(r[1])
		to.Base += n
		to.Doubled += n - 1
		rows[r[0]] = true
		// Without a response it is not known whether the visitor was to be sent on.
		if of := v.visits[r[0]]; of == nil || of.status != http.StatusFound && of.status != 0 {
			to.Unknown++
			to.note("%s stands there and was not sent on: %+v", r[0], of)
		}
	}
	for site, of := range v.visits {
		switch {
		case of.status != http.StatusFound || rows[site]:
		case v.excused(of):
			lost++
		default:
			to.Missing++
			to.note("%s is missing: %+v", site, *of)
		}
	}
	return lost
}

// verify is `millrace verify`.
func (s *stage) verify() {
	s.t.Helper()
	offsets, store, pipeline := s.tools()
	report, err := verify.Run(s.t.Context(), offsets, store, verify.Options{
		Pipelines: []repair.Pipeline{pipeline}, Known: []string{pipeline.Topic}, Since: s.began.Add(-time.Minute),
		Until: time.Now().Add(time.Minute), Examples: 5, Window: time.Hour,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if !report.Same() || int(report.Total.InTopic) != s.verdict.Acked {
		s.t.Errorf("verify finds %+v", report)
	}
}
