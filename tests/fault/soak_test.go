package fault

import (
	"context"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/sink"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/fault/faultproxy"
	"github.com/millrace/millrace/tests/harness"
)

// soakPerTick is how many events are sent every 20 ms.
const soakPerTick = 8

// Random faults under a steady load, for as long as one likes: in the end all
// counters are exact, and a sink that lived through all of it has not grown.
func TestSoak(t *testing.T) {
	if *soakFlag == 0 {
		t.Skip("runs with -soak: it takes as long as it is told to")
	}
	s := newStage(t, max(1, *seedFlag), false)
	// Ranges as small as elsewhere would cost more inserts than a server has left
	// after an outage.
	s.settings.Sink.MaxRows = 2000
	s.settings.Admin.Listen = testkit.FreeAddr(t)
	survivor := s.spawnSink(order{})
	survivor.heard("ready")
	admin := s.settings.Admin.Listen
	s.settings.Admin.Listen = ""
	end := s.load(soakPerTick)
	defer end()

	deadline := time.Now().Add(*soakFlag)
	var resident, goroutines []float64
	struck := map[string]int{}
	for time.Now().Before(deadline) {
		f := soakFaults[s.rng.IntN(len(soakFaults))]
		f.strike(s)
		struck[f.name]++
		s.proxy.Clear()
		s.progress()
		for name, into := range map[string]*[]float64{"process_resident_memory_bytes": &resident, "go_goroutines": &goroutines} {
			v, err := harness.ReadMetric(t.Context(), admin, name)
			if err != nil {
				t.Fatal(err)
			}
			*into = append(*into, v)
		}
	}
	end()
	testkit.Eventually(t, 5*patience, func() error { return s.lag(t.Context()) }) // of the last fault's backlog
	survivor.stop()
	s.judge()
	v := &s.verdict
	t.Logf("soak of %s, seed %d: %v; acked %d, base %d, FINAL %d, rollups %d and %d, gaps %d, moved back %d",
		*soakFlag, s.seed, struck, v.Acked, v.Base, v.Final, v.Rollup, v.RollupD, v.Gaps+v.Overlaps+v.Odd, v.MovedBack)
	flat(t, "MB resident", 1e6, resident, 1.5)
	flat(t, "goroutines", 1, goroutines, 1.5)
}

// flat fails when the median of the last third of the samples is much more than
// that of the third before it.
func flat(t *testing.T, what string, unit float64, samples []float64, most float64) {
	t.Helper()
	n := len(samples) / 3
	if n < 3 {
		t.Logf("%d samples of %s are too few to judge", len(samples), what)
		return
	}
	median := func(all []float64) float64 {
		all = slices.Clone(all)
		slices.Sort(all)
		return all[len(all)/2] / unit
	}
	before, after := median(samples[n:2*n]), median(samples[2*n:])
	t.Logf("%s: %.0f in the second third, %.0f in the last", what, before, after)
	if after > most*before {
		t.Errorf("%s rose from %.0f to %.0f", what, before, after)
	}
}

// soakFaults are what a soak chooses from.
var soakFaults = []struct {
	name   string
	strike func(*stage)
}{
	{"another sink killed", func(s *stage) {
		at := sink.Points[s.rng.IntN(len(sink.Points)-1)] // who is killed while it revokes needs a third one
		c := s.spawnSink(order{Deed: doKill, At: at, Nth: 1 + s.rng.IntN(3)})
		c.killed()
	}},
	{"another sink stopped", func(s *stage) {
		c := s.spawnSink(order{Deed: doStop, At: sink.Points[s.rng.IntN(len(sink.Points)-1)], Nth: 1})
		c.heard("at ")
		<-time.After(4 * session)
		c.signal(syscall.SIGCONT)
		s.progress()
		c.stop()
	}},
	{"another sink comes and goes", func(s *stage) {
		c := s.startSink(sink.Testing{})
		s.progress()
		c.stop()
	}},
	{"answers lost", func(s *stage) {
		s.during(faultproxy.Rule{Kind: faultproxy.DropAnswer, Match: "INSERT INTO", Ends: endOfStream})
	}},
	{"requests cut", func(s *stage) {
		s.during(faultproxy.Rule{Kind: faultproxy.CutRequest, Match: "INSERT INTO", Bytes: s.rng.Int64N(5000)})
	}},
	{"ClickHouse away", func(s *stage) { s.during(faultproxy.Rule{Kind: faultproxy.Refuse}) }},
	{"ClickHouse silent", func(s *stage) { s.during(faultproxy.Rule{Kind: faultproxy.BlackHole}) }},
	{"acknowledgements lost", func(s *stage) {
		s.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotEnoughReplicasAfterAppend, Count: 5})
	}},
	{"commits refused for now", func(s *stage) {
		s.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Group: s.settings.Sink.Group, Err: kerr.CoordinatorNotAvailable, Count: 5})
	}},
}

// during has the network fail for a moment.
func (s *stage) during(r faultproxy.Rule) {
	s.proxy.Set(r)
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Duration(1+s.rng.IntN(3))*time.Second)
	defer cancel()
	<-ctx.Done()
}
