package fault

import (
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/repair"
	"github.com/millrace/millrace/internal/pipeline/verify"
)

// Visitors are given flags by two query hosts, each of which tells of the same exposures,
// while sinks are killed: each visitor, flag, variant and day counts once, and nothing that
// is in the topic is missing.
func TestExposuresAreCountedOnceHoweverManyHostsTellAndSinksAreKilled(t *testing.T) {
	kills := 1
	if thorough() {
		kills = 6
	}
	tr := trial{fault: "F28 exposures", point: "2 query hosts, sinks killed", topic: record.TopicExposures}
	tr.on, tr.few, tr.waits = realToo(), 1, true
	tr.body = func(_ *testing.T, s *stage) {
		f := s.newFlagFront()
		one := s.spawnSink(order{})
		stream := f.stream()
		for n := range kills {
			f.more((n + 1) * flagVisitors / (kills + 2))
			one = s.replaceSink(one)
		}
		stream.Wait()
		for _, c := range f.hosts {
			c.stop() // which publishes what waits
		}
		one.heard("ready")
		s.drained()
		one.stop()
		f.judge()
	}
	tr.run(t)
}

// judge reads all counters and fails the test unless they are exact. There are no rollups of
// exposures.
func (f *flagFront) judge() {
	s := f.s
	s.t.Helper()
	counted := &s.verdict
	*counted = verdict{}
	told := s.told()
	counted.Acked = len(told)
	records := 0
	for _, n := range told {
		records += n
	}
	f.compare(counted, told)
	counted.Final = s.number("SELECT count() FROM flag_exposures FINAL")
	counted.Rollup, counted.RollupD = counted.Acked, counted.Acked
	s.countLedger(counted)
	counted.MovedBack = len(s.offsets.movedBack())
	s.t.Logf("%d visitors, %d exposures by %d records", f.asked.Load(), counted.Acked, records)
	if wrong := counted.exactly(0); len(wrong) > 0 {
		s.t.Errorf("%s\n%s", strings.Join(wrong, "\n"), strings.Join(first(counted.notes, 30), "\n"))
	}
	if counted.Duplicates != records-counted.Acked || records < flagHosts*counted.Acked {
		s.t.Errorf("%d duplicates of %d records of %d exposures: the hosts did not tell of the same",
			counted.Duplicates, records, counted.Acked)
	}
	s.verifyTold(records)
}

// compare looks for what was told among the rows, and for what was served.
func (f *flagFront) compare(to *verdict, told map[string]int) {
	s := f.s
	s.t.Helper()
	stored := map[string]int{}
	for _, r := range s.query("SELECT event_id, count() FROM flag_exposures GROUP BY event_id") {
		n := atoi(r[1])
		stored[r[0]], to.Base, to.Doubled = n, to.Base+n, to.Doubled+n-1
		if told[r[0]] == 0 {
			to.Unknown += n
			to.note("nobody told of %s", r[0])
		}
	}
	for id := range told {
		if stored[id] == 0 {
			to.Missing++
			to.note("%s is missing", id)
		}
	}
	const perVariant = "SELECT name, variant, uniqExact(profile_id), uniqExact(profile_id, event_date), count() " +
		"FROM flag_exposures GROUP BY name, variant"
	for _, r := range s.query(perVariant) {
		if what := r[0] + " " + r[1]; atoi(r[2]) != f.served[what] || r[3] != r[4] {
			to.WrongRollups++
			to.note("%s has %s visitors, %s on their days, and %s rows; %d were given it",
				what, r[2], r[3], r[4], f.served[what])
		}
	}
}

// told returns how many records of the topic are of each exposure, by its id.
func (s *stage) told() map[string]int {
	s.t.Helper()
	told := map[string]int{}
	s.eachLogged(func(e logged) { told[e.ID]++ })
	return told
}

// verifyTold is `millrace verify` where so many records tell of the exposures.
func (s *stage) verifyTold(records int) {
	s.t.Helper()
	offsets, store, pipeline := s.tools()
	report, err := verify.Run(s.t.Context(), offsets, store, verify.Options{
		Pipelines: []repair.Pipeline{pipeline}, Known: []string{pipeline.Topic}, Examples: 5,
		Since: s.began.Add(-time.Minute), Until: time.Now().Add(time.Minute), Window: time.Hour,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if total := report.Total; !report.Same() || int(total.InTopic) != records || int(total.Distinct) != s.verdict.Acked {
		s.t.Errorf("verify finds %+v", report)
	}
}
