package fault

import (
	"context"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/pipeline/sink/sinktest"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/fault/faultproxy"
)

// soakFaults are what a soak chooses from. F3, events that are sent again, is in its
// load.
var soakFaults = []struct {
	name   string
	strike func(*soak)
}{
	{"F1 edge killed", func(s *soak) {
		s.victim.cmd.Process.Kill()
		s.victim.killed()
		s.victim = s.front.spawn(1)
	}},
	{"F7 ClickHouse killed", func(s *soak) { killServer(s.stage, s.dir) }},
	{"F9 too many parts", func(s *soak) { s.reject(0) }},
	{"F9 table away", func(s *soak) { s.reject(3) }},
	{"F4 sink killed", func(s *soak) {
		at := sinktest.Failpoints[s.rng.IntN(len(sinktest.Failpoints)-1)] // who is killed while it revokes needs a third one
		c := s.spawnSink(order{Deed: doKill, At: at, Nth: 1 + s.rng.IntN(3)})
		c.killed()
	}},
	{"F5 sink stopped", func(s *soak) {
		c := s.spawnSink(order{Deed: doStop, At: sinktest.Failpoints[s.rng.IntN(len(sinktest.Failpoints)-1)], Nth: 1})
		c.heard("at ")
		<-time.After(4 * session)
		c.signal(syscall.SIGCONT)
		s.progress()
		c.stop()
	}},
	{"members join and leave", func(s *soak) {
		c := s.startSink(watched{})
		s.progress()
		c.stop()
	}},
	{"F6 answers lost", func(s *soak) {
		s.during(faultproxy.Rule{Kind: faultproxy.DropResponse, Match: "INSERT INTO", Ends: endOfStream})
	}},
	{"F6 requests cut", func(s *soak) {
		s.during(faultproxy.Rule{Kind: faultproxy.CutRequest, Match: "INSERT INTO", Bytes: s.rng.Int64N(5000)})
	}},
	{"F8 ClickHouse away", func(s *soak) { s.during(faultproxy.Rule{Kind: faultproxy.Refuse}) }},
	{"F8 ClickHouse silent", func(s *soak) { s.during(faultproxy.Rule{Kind: faultproxy.BlackHole}) }},
	{"F2 acknowledgements lost", func(s *soak) {
		s.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotEnoughReplicasAfterAppend, Count: 5})
	}},
	{"commits refused for now", func(s *soak) {
		s.fake.Fault(kfake.Fault{
			Keys: []kmsg.Key{kmsg.OffsetCommit}, Group: s.settings.Sink.Group, Err: kerr.CoordinatorNotAvailable, Count: 5,
		})
	}},
}

// reject has the server reject inserts for a moment, as one of the rejections does.
func (s *soak) reject(which int) {
	r := &rejections[which]
	insist := func(sql string) { // the server may be starting again
		testkit.Eventually(s.t, patience, func() error { return execute(s.t.Context(), s.clickhouse, sql) })
	}
	for _, sql := range r.make {
		insist(sql)
	}
	s.wait()
	for _, sql := range r.heal {
		insist(sql)
	}
}

// during has the network fail for a moment.
func (s *soak) during(r faultproxy.Rule) {
	s.proxy.Set(r)
	s.wait()
}

// wait lets one to three seconds pass.
func (s *soak) wait() {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Duration(1+s.rng.IntN(3))*time.Second)
	defer cancel()
	<-ctx.Done()
}
