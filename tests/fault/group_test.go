package fault

import (
	"strconv"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/sink"
	"github.com/millrace/millrace/internal/testkit"
)

// Members come and go under load. Those that stay keep what they keep: nothing of
// it is dropped or read again, nothing stops, nothing is skipped.
func TestMembersJoinAndLeaveWhileEverySinkKeepsRunning(t *testing.T) {
	tr := trial{fault: "Members join and leave", point: "under load", on: realToo(), few: 1, body: func(t *testing.T, s *stage) {
		s.settings.Sink.Session, s.settings.Sink.Rebalance = 30*time.Second, time.Minute // a busy machine is no dead member
		s.send(s.events(300))
		stay := s.startSink(sink.Testing{})
		end := s.load(10)
		defer end()
		for range 2 + s.rng.IntN(2) {
			s.progress()
			guest := s.startSink(sink.Testing{})
			s.progress()
			guest.stop()
			select {
			case <-stay.ended:
				t.Fatalf("the sink that stays has ended: %v", stay.err)
			default:
			}
		}
		end()
		s.drained()
		if n := stay.metric("millrace_sink_fenced_total"); n != 0 {
			t.Errorf("%.0f partitions were dropped in the sink that stayed", n)
		}
		stay.stop()
		s.judge()
	}}
	tr.run(t)
}

// One website has nine tenths of the load, and a backlog: the partitions of all
// others are not held up by it.
func TestAWebsiteWithNineTenthsOfTheLoadDoesNotHoldUpTheOthers(t *testing.T) {
	tr := trial{fault: "F16 hot website", point: "90 % of the load", on: kfakeOnly, few: 1, body: func(t *testing.T, s *stage) {
		s.settings.Sink.MaxMemory, s.settings.Sink.MaxRows = 8<<20, 500
		s.settings.Sink.Session, s.settings.Sink.Rebalance = 30*time.Second, time.Minute
		mixed := func(n int) []happening {
			all := s.events(n)
			for i := range all {
				if s.rng.IntN(10) > 0 {
					all[i].owner = "web_hot"
				}
			}
			return all
		}
		s.send(mixed(15_000))
		hot := s.query // partition of the hot website, once something is stored
		one := s.startSink(sink.Testing{})
		var worst float64
		for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
			s.send(mixed(200))
			rows := hot("SELECT _partition, count() FROM events WHERE owner_id = 'web_hot' GROUP BY _partition")
			for p := range s.settings.Kafka.Partitions {
				if len(rows) == 1 && rows[0][0] != strconv.Itoa(p) {
					worst = max(worst, one.metric("millrace_sink_lag_seconds", "topic", "events.v1", "partition", strconv.Itoa(p)))
				}
			}
		}
		s.drained()
		one.stop()
		s.took = time.Duration(worst * float64(time.Second))
		t.Logf("the worst lag of the other partitions was %.1f s", worst)
		if most := testkit.Promised(10 * time.Second).Seconds(); worst > most {
			t.Errorf("the other partitions were %.1f s behind, want at most %.0f s", worst, most)
		}
		s.judge()
	}}
	tr.run(t)
}
