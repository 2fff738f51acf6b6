package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/app/edge"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/services"
	"github.com/millrace/millrace/tests/harness"
)

// edgeDeadline is the edges' wait for acknowledgements.
const edgeDeadline = time.Second

// slack is what the machine may add to a response; a machine that does something else too,
// which is a plain test run, adds more.
func slack() time.Duration {
	if testkit.Strict() {
		return 50 * time.Millisecond
	}
	return testkit.Promised(3 * time.Second)
}

// front is where clients send to: edges, and what the metadata store holds.
type front struct {
	s        *stage
	fixture  *harness.Fixture
	store    string
	settings []config.Settings // of each edge

	rejected atomic.Int64 // answers 503
	slowest  atomic.Int64 // of them, in nanoseconds
	requests atomic.Int64
}

// newFront describes edges and starts none.
func (s *stage) newFront(edges int) *front {
	s.t.Helper()
	f := &front{s: s, store: "sqlite:" + filepath.Join(testkit.ShortDir(s.t), "meta.db")}
	f.fixture = harness.Seed(s.t, f.store)
	for range edges {
		settings := s.settings
		settings.Store.URL = config.Secret(f.store)
		settings.Ingest.Listen, settings.Ingest.Deadline = testkit.FreeAddr(s.t), edgeDeadline
		settings.Kafka.MaxBufferedBytes = 4 << 20
		f.settings = append(f.settings, settings)
	}
	return f
}

// spawn starts one of the edges in a process of its own.
func (f *front) spawn(i int) *child {
	f.s.t.Helper()
	c := f.s.spawn(
		order{Role: edge.Component, Settings: f.settings[i], StoreURL: f.store, RedisURL: f.settings[i].Redis.URL.Reveal()})
	c.heard("ready")
	return c
}

// own makes events those of the fixture's websites, as an edge would see them.
func (f *front) own(all []happening) []happening {
	for i := range all {
		all[i].owner = f.fixture.WebsiteID
		if i%3 == 0 {
			all[i].owner = f.fixture.SecondWebsiteID
		}
		all[i].id = all[i].owner + all[i].id
	}
	return all
}

// deliver sends events in batches, over as many connections as there are edges
// times two, until each is acknowledged.
func (f *front) deliver(all []happening) error {
	const batch = 40
	byOwner := map[string][]happening{}
	for _, h := range all {
		byOwner[h.owner] = append(byOwner[h.owner], h)
	}
	var batches [][]happening
	for _, events := range byOwner {
		for len(events) > 0 {
			n := min(batch, len(events))
			batches = append(batches, events[:n])
			events = events[n:]
		}
	}
	var next atomic.Int64
	errs := make([]error, 2*len(f.settings))
	var workers sync.WaitGroup
	for w := range errs {
		workers.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(batches) && errs[w] == nil; i = next.Add(1) - 1 {
				errs[w] = f.insist(batches[i], w)
			}
		})
	}
	workers.Wait()
	return errors.Join(errs...)
}

// trackBody is a batch as a caller sends it.
func trackBody(batch []happening) ([]byte, error) {
	type sent struct {
		Name        string `json:"name"`
		EventID     string `json:"eventId"`
		AnonymousID string `json:"anonymousId"`
		SessionID   string `json:"sessionId"`
		Timestamp   int64  `json:"timestamp"`
	}
	events := make([]sent, len(batch))
	for i, h := range batch {
		events[i] = sent{h.name, h.id, h.visitor, h.session, h.at}
	}
	return json.Marshal(events)
}

// insist sends a batch to one edge after the other until one of them acknowledges.
func (f *front) insist(batch []happening, from int) error {
	body, err := trackBody(batch)
	if err != nil {
		return err
	}
	turn := from
	return testkit.WaitFor(patience, func() error {
		to := f.settings[turn%len(f.settings)].Ingest.Listen
		turn++
		begin := time.Now()
		f.requests.Add(1)
		a, err := harness.Post(f.s.t.Context(), "http://"+to+"/track?website_id="+batch[0].owner, f.fixture.Key, body)
		switch {
		case err != nil:
			return err
		case a.Status == http.StatusOK:
			f.s.acked.add(batch)
			return nil
		case a.Status == http.StatusServiceUnavailable:
			f.rejected.Add(1)
			f.slowest.Store(max(f.slowest.Load(), int64(time.Since(begin))))
		}
		return fmt.Errorf("answer %d %s", a.Status, a.Body)
	})
}

// produceFaults are what a broker may answer to a producer.
var produceFaults = []struct {
	name string
	err  *kerr.Error
}{
	{"appended, acknowledgement lost", kerr.NotEnoughReplicasAfterAppend},
	{"appended too late", kerr.RequestTimedOut},
	{"not enough replicas", kerr.NotEnoughReplicas},
	{"not leader", kerr.NotLeaderForPartition},
	{"disconnect", nil},
}

// Whatever a broker does to a publication, what was acknowledged is in the log, a
// rejection comes in time, and sending it again doubles nothing. How much is buffered
// meanwhile is asserted where the buffer is: in internal/adapter/kafka.
func TestABrokerThatFailsProducersLosesNothingThatWasAcknowledged(t *testing.T) {
	t.Parallel()
	for _, fault := range produceFaults {
		t.Run(fault.name, func(t *testing.T) {
			tr := trial{fault: "F2 produce fails", point: fault.name, on: kfakeOnly, few: 1, body: func(t *testing.T, s *stage) {
				f := s.newFront(1)
				one := s.startEdge(f.settings[0])
				s.failProduce(fault.err, 4+s.rng.IntN(6))
				if err := f.deliver(f.own(s.events(800))); err != nil {
					t.Fatal(err)
				}
				if took := time.Duration(f.slowest.Load()); took > edgeDeadline+slack() {
					t.Errorf("a refusal took %s, want %s and at most %s of a busy machine", took, edgeDeadline, slack())
				}
				for _, k := range s.notInLog() {
					t.Errorf("%v was acknowledged and is not in the log", k)
				}
				s.took = time.Duration(f.slowest.Load())
				one.stop()
				s.store(locks{})
				s.judge()
			}}
			tr.run(t)
		})
	}
}

// A real broker is killed in the middle of publications, twice: what was appended
// and not acknowledged is sent again.
func TestARealBrokerThatIsKilledLosesNothingThatWasAcknowledged(t *testing.T) {
	var server *services.Server
	own := func(tb testing.TB) config.Kafka {
		tb.Helper()
		server = services.Own(tb, services.KindKafka)
		return server.Kafka()
	}
	tr := trial{
		fault: "F2 produce fails", point: "broker killed", on: realToo() &^ kfakeOnly, kafka: own, alone: true, once: true,
		few: 1, body: func(t *testing.T, s *stage) {
			f := s.newFront(1)
			one := s.startEdge(f.settings[0])
			all := f.own(s.events(1500))
			third := len(all) / 3
			if err := f.deliver(all[:third]); err != nil {
				t.Fatal(err)
			}
			for n := range 2 {
				delivered := make(chan error, 1)
				go func() { delivered <- f.deliver(all[(n+1)*third : (n+2)*third]) }()
				rejected := f.rejected.Load()
				server.Kill(t)
				testkit.Eventually(t, patience, func() error {
					if f.rejected.Load() < rejected+3 {
						return errNotYet
					}
					return nil
				})
				server.Start(t)
				if err := <-delivered; err != nil {
					t.Fatal(err)
				}
			}
			if took := time.Duration(f.slowest.Load()); took > edgeDeadline+slack() {
				t.Errorf("a refusal took %s, want %s and at most %s of a busy machine", took, edgeDeadline, slack())
			}
			for _, k := range s.notInLog() {
				t.Errorf("%v was acknowledged and is not in the log", k)
			}
			s.took = time.Duration(f.slowest.Load())
			one.stop()
			s.store(locks{})
			s.judge()
		},
	}
	tr.run(t)
}

// failProduce fails every third produce request, so many times.
func (s *stage) failProduce(with *kerr.Error, times int) {
	n := 0
	third := func() bool { n++; return n%3 == 0 && n <= 3*times }
	if with != nil {
		s.fake.Fault(
			kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: with, Count: -1, When: func(kmsg.Request) bool { return third() }})
		return
	}
	s.fake.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		s.fake.KeepControl()
		if third() {
			return nil, errNotYet, true // the connection ends without a response
		}
		return nil, nil, false
	})
}

// notInLog returns the acknowledged events that no record of the topic is of.
func (s *stage) notInLog() (missing []key) {
	s.t.Helper()
	there := map[key]bool{}
	s.eachLogged(func(e logged) { there[key{e.Owner, e.ID}] = true })
	s.acked.mu.Lock()
	defer s.acked.mu.Unlock()
	for k := range s.acked.events {
		if !there[k] {
			missing = append(missing, k)
		}
	}
	return missing
}

// Edges are killed again and again while clients insist.
func TestEdgesThatAreKilledLoseAndDoubleNothing(t *testing.T) {
	tr := trial{fault: "F1 edge killed", point: "at random", on: realToo(), few: 1, body: func(t *testing.T, s *stage) {
		f := s.newFront(2)
		edges := []*child{f.spawn(0), f.spawn(1)}
		sinks := s.startSink(watched{})
		kills, events := 3, 3000
		if thorough() {
			kills, events = 6, 8000
		}
		all := f.own(s.events(events))
		done := make(chan error, 1)
		go func() { done <- f.deliver(all) }()
		for n := range kills {
			victim := n % len(edges)
			share := (n + 1) * s.uniqueOf(all) / (kills + 2)
			if err := testkit.WaitFor(patience, func() error {
				if s.acked.unique() < share {
					return errNotYet
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			edges[victim].cmd.Process.Kill()
			edges[victim].killed()
			edges[victim] = f.spawn(victim)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		s.drained()
		for _, e := range edges {
			e.stop()
		}
		sinks.stop()
		t.Logf("%d requests, %d of them refused, for %d events", f.requests.Load(), f.rejected.Load(), s.acked.unique())
		s.judge()
	}}
	tr.run(t)
}

func (s *stage) uniqueOf(all []happening) int {
	seen := map[key]bool{}
	for _, h := range all {
		seen[key{h.owner, h.id}] = true
	}
	return len(seen)
}

// Every event is sent up to five times, over three edges at once.
func TestEventsThatAreSentManyTimesOverSeveralEdgesCountOnce(t *testing.T) {
	tr := trial{
		fault: "F3 sent 1 to 5 times", point: "3 edges", on: realToo(), few: 1, body: func(t *testing.T, s *stage) {
			f := s.newFront(3)
			var edges []*local
			for i := range f.settings {
				edges = append(edges, s.startEdge(f.settings[i]))
			}
			one := s.startSink(watched{})
			all := f.own(s.events(500))
			many := all
			for _, h := range all {
				for range s.rng.IntN(5) {
					many = append(many, h)
				}
			}
			s.rng.Shuffle(len(many), func(i, j int) { many[i], many[j] = many[j], many[i] })
			if err := f.deliver(many); err != nil {
				t.Fatal(err)
			}
			s.drained()
			for _, e := range edges {
				e.stop()
			}
			one.stop()
			s.judge()
		},
	}
	tr.run(t)
}
