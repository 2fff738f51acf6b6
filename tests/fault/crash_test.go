package fault

import (
	"testing"
	"time"

	"github.com/millrace/millrace/internal/pipeline/sink/sinktest"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/fault/faultproxy"
)

// midStream is where a sink is killed that is in the middle of sending a block.
const midStream sinktest.Failpoint = "mid-stream"

const crashFault = "F4 sink killed"

// A sink that is killed anywhere leaves nothing missing and nothing doubled.
func TestASinkThatIsKilledAnywhereLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	points := append([]sinktest.Failpoint{midStream}, sinktest.Failpoints...)
	tr := trial{fault: crashFault, on: realToo(), each: 1}
	tr.everywhere(t, points, sinktest.FailpointInserted, func(s *stage, at sinktest.Failpoint) { s.crash(at, locks{}) })
}

// crash kills one sink after the other at a point, under load, and has a last one
// bring everything to its end.
func (s *stage) crash(at sinktest.Failpoint, without locks) {
	s.t.Helper()
	n := backlog()
	if at == midStream {
		n = fullBacklog // the inserts have to be long enough
	}
	s.send(s.events(n))
	end := s.load(5) // there is always something for the next victim to come to
	defer end()
	for range 1 + int(s.seed%2) {
		nth := 1 + s.rng.IntN(5)
		switch at {
		case midStream:
			s.killMidStream(without)
		case sinktest.FailpointRevoking:
			s.killRevoking(1+s.rng.IntN(2), without)
		default:
			s.spawnSink(order{Deed: doKill, At: at, Nth: nth, Locks: without}).killed()
		}
	}
	end()
	s.finish(without)
}

// finish runs a sink until nothing is left to do, and measures how long it takes
// to its first insert.
func (s *stage) finish(without locks) {
	s.t.Helper()
	s.send(s.events(100)) // so that there is something
	begin := time.Now()
	first := newHold(sinktest.FailpointInserted, 1)
	first.release()
	last := s.startSink(watched{without, first.reached})
	first.wait(s.t)
	s.took = time.Since(begin)
	s.drained()
	last.stop()
}

// killMidStream kills a sink when a part of an insert has passed the proxy.
func (s *stage) killMidStream(without locks) {
	s.t.Helper()
	var c *child
	started := make(chan struct{})
	rule := faultproxy.Rule{Kind: faultproxy.CutRequest, Match: intoEvents, Bytes: int64(500 + s.rng.IntN(6000)), Times: 1}
	kill := func() {
		<-started
		c.cmd.Process.Kill()
	}
	s.proxy.SetFunc(rule, kill)
	c = s.spawnSink(order{Locks: without})
	close(started)
	select {
	case <-c.ended:
	case <-time.After(patience / 3):
		// A slow machine's inserts may all be shorter than that. A connection keeps to
		// the rule that it was picked by.
		rule.Bytes = 1
		s.proxy.SetFunc(rule, kill)
		s.proxy.Cut()
	}
	c.killed()
	s.proxy.Clear()
}

// killRevoking kills a sink that is about to give partitions to another one.
func (s *stage) killRevoking(nth int, without locks) {
	s.t.Helper()
	defer s.keepsMembers()()
	c := s.spawnSink(order{Deed: doKill, At: sinktest.FailpointRevoking, Nth: nth, Locks: without})
	c.heard("ready")
	s.progress()
	other := s.startSink(watched{locks: without})
	c.killed()
	other.stop()
}

// progress waits until more is committed than now.
func (s *stage) progress() {
	s.t.Helper()
	before := s.total()
	testkit.Eventually(s.t, patience, func() error {
		if _, err := s.lag(s.t.Context()); err == nil || s.total() > before {
			return nil
		}
		return errNoProgress
	})
}

// total is the sum of the committed offsets.
func (s *stage) total() (n int64) {
	all, err := s.committed(s.t.Context())
	if err != nil {
		return 0
	}
	for _, o := range all {
		n += max(0, o.At)
	}
	return n
}
