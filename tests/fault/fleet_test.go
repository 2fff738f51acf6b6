package fault

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/services"
)

// wide is how many sinks share how many partitions: fewer of both in an everyday run.
func wide() (sinks, partitions int) {
	if exacting() {
		return 6, 300
	}
	return 3, 48
}

// wideKafka is the brokers with so many partitions of events. Other topics, which no sink
// here reads, keep their few.
func wideKafka(tb testing.TB) config.Kafka {
	tb.Helper()
	cfg := services.Kafka(tb)
	if _, err := kafka.EnsureTopics(tb.Context(), cfg); err != nil {
		tb.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...))
	if err != nil {
		tb.Fatal(err)
	}
	defer client.Close()
	_, cfg.Partitions = wide()
	grown, err := kadm.NewClient(client).UpdatePartitions(tb.Context(), cfg.Partitions,
		kafka.TopicName(cfg, record.TopicEvents))
	if err == nil {
		err = grown.Error()
	}
	if err != nil {
		tb.Fatal(err)
	}
	return cfg
}

// insertWait is how long an insert may wait while members come and go.
const insertWait = 2 * time.Second

// Six sinks over 300 partitions are restarted one after the other while all of them have
// something to store: no insert waits for another member for longer than two seconds, with
// instance ids, as the chart runs them, and without, where each restart moves partitions
// twice. What every process exports of its whole life tells, also of those that end.
func TestNoInsertWaitsForAnotherMember(t *testing.T) {
	sinks, partitions := wide()
	for _, c := range []struct {
		kind  string
		named bool
	}{{"instance ids", true}, {"no instance ids", false}} {
		if !c.named && !thorough() { // which nobody is told to run, and takes as long again
			continue
		}
		t.Run(c.kind, func(t *testing.T) {
			point := fmt.Sprintf("%d sinks, %d partitions, %s", sinks, partitions, c.kind)
			tr := trial{
				fault: "F20 rolling restart", point: point, on: kafkaOnly, few: 1, once: true, alone: true, kafka: wideKafka,
				body: func(t *testing.T, s *stage) {
					f := s.newSinks(sinks, c.named)
					end := s.everywhere()
					defer end()
					s.progress()
					before := s.moves().given
					for i := range f.all {
						f.restart(i)
					}
					if given := s.moves().given - before; c.named && given != sinks {
						t.Errorf("members gave up partitions %d times, want once each process: nothing else moves", given)
					}
					end()
					s.drained()
					f.stop()
					f.hasWaited()
					s.judge()
				},
			}
			tr.run(t)
		})
	}
}

// sinksTogether are sinks in processes of their own.
type sinksTogether struct {
	s     *stage
	named bool // they have instance ids
	all   []*child
	sum   waits // of those that have ended
}

func (s *stage) newSinks(n int, named bool) *sinksTogether {
	s.t.Helper()
	k := &s.settings.Sink
	k.Session, k.Rebalance = 45*time.Second, time.Minute // however long a busy machine takes to start one
	// Each insert makes a part in each of eleven tables: so many partitions wait for more.
	k.MaxWait, k.MaxRows = 5*time.Second, 2000
	f := &sinksTogether{s: s, named: named, all: make([]*child, n)}
	for i := range f.all {
		f.start(i)
	}
	f.settled()
	return f
}

func (f *sinksTogether) start(i int) {
	f.s.t.Helper()
	if f.named {
		f.s.settings.Sink.InstanceID = "sink-" + strconv.Itoa(i)
	}
	f.all[i] = f.s.spawnSink(order{})
	f.all[i].heard("ready")
}

// settled waits until the sinks share the partitions and know it.
func (f *sinksTogether) settled() {
	f.s.t.Helper()
	f.s.awaitBalance(len(f.all))
	testkit.Eventually(f.s.t, patience, func() error {
		if n, want := f.s.moves().owned, f.s.settings.Kafka.Partitions; n != want {
			return fmt.Errorf("sinks own %d of %d partitions, %w", n, want, errNoProgress)
		}
		return nil
	})
}

// restart replaces a sink as a deployment does.
func (f *sinksTogether) restart(i int) {
	f.s.t.Helper()
	f.end(i)
	f.start(i)
	f.settled()
	f.s.progress()
}

func (f *sinksTogether) end(i int) {
	f.s.t.Helper()
	f.all[i].stop()
	f.sum.add(f.all[i].waited())
}

func (f *sinksTogether) stop() {
	f.s.t.Helper()
	for i := range f.all {
		f.end(i)
	}
}

// hasWaited fails the test when an insert of any of the processes waited for too long.
func (f *sinksTogether) hasWaited() {
	f.s.t.Helper()
	w := &f.sum
	f.s.took = time.Duration(w.Most * float64(time.Second))
	f.s.t.Logf("%d plans and offsets were committed, the slowest within %s", w.Commits, f.s.took)
	if w.Commits < f.s.settings.Kafka.Partitions {
		f.s.t.Errorf("%d plans and offsets were committed: the test shows nothing", w.Commits)
	}
	if most := testkit.Promised(insertWait); f.s.took > most {
		f.s.t.Errorf("an insert waited up to %s for the group, want at most %s", f.s.took, most)
	}
}

// everywhere sends an event to about each partition, all the time.
func (s *stage) everywhere() (end func()) {
	stop := make(chan struct{})
	m := maker{rng: rand.New(rand.NewPCG(s.seed, 6)), prefix: "w"}
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			all := m.events(s.settings.Kafka.Partitions)
			for i := range all {
				all[i].owner, all[i].at = "web_"+strconv.Itoa(m.rng.IntN(3*len(all))), all[i].received
			}
			if err := s.publish(s.t.Context(), all); err != nil {
				s.t.Error(err)
				return
			}
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	})
	return sync.OnceFunc(func() { close(stop); done.Wait() })
}
