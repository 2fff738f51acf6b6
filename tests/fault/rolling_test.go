package fault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

// fleetSize is how many edges there are, and how many sinks.
const fleetSize = 4

// fleet is a deployment: edges and sinks in processes of their own, and clients
// that send all the time.
type fleet struct {
	*front

	named bool // sinks have instance ids
	edges [fleetSize]*child
	sinks [fleetSize]*child

	responses atomic.Int64
	unreached atomic.Int64 // attempts that ended without a response
	odd       atomic.Int64 // answers other than 200 and 503
}

// newFleet starts one.
func (s *stage) newFleet(named bool) *fleet {
	s.t.Helper()
	k := &s.settings.Sink
	k.Session, k.Rebalance = 45*time.Second, time.Minute // however long a busy machine takes to start one
	k.MaxRows = 2000                                     // what waits after a restart is few ranges
	f := &fleet{front: s.newFront(fleetSize), named: named}
	for i := range fleetSize {
		f.settings[i].Ingest.Deadline = 10 * time.Second
		f.edges[i] = f.spawn(i)
		f.startSink(i)
	}
	s.awaitBalance(fleetSize)
	f.held()
	return f
}

// held waits until the sinks themselves own every partition: the group knows who gets
// what before its members do.
func (f *fleet) held() {
	f.s.t.Helper()
	testkit.Eventually(f.s.t, patience, func() error {
		if n, want := f.s.moves().owned, f.s.settings.Kafka.Partitions; n != want {
			return fmt.Errorf("sinks own %d of %d partitions, %w", n, want, errNoProgress)
		}
		return nil
	})
}

// awaitBalance waits until so many members share the partitions evenly. A cooperative
// group is stable for a moment before it gives new members their share.
func (s *stage) awaitBalance(n int) {
	s.t.Helper()
	testkit.Eventually(s.t, patience, func() error {
		groups, err := s.admin.DescribeGroups(s.t.Context(), s.settings.Sink.Group)
		if err != nil {
			return err
		}
		group := groups[s.settings.Sink.Group]
		if group.Err != nil || group.State != "Stable" || len(group.Members) != n {
			return fmt.Errorf("the group has %d members and is %s, %w",
				len(group.Members), group.State, errors.Join(group.Err, errNoProgress))
		}
		shared := 0
		for _, m := range group.Members {
			assigned, _ := m.Assigned.AsConsumer()
			mine := 0
			for _, t := range assigned.Topics {
				mine += len(t.Partitions)
			}
			if mine < s.settings.Kafka.Partitions/n {
				return fmt.Errorf("a member has %d partitions, %w", mine, errNoProgress)
			}
			shared += mine
		}
		if shared < s.settings.Kafka.Partitions {
			return fmt.Errorf("%d of %d partitions are assigned, %w", shared, s.settings.Kafka.Partitions, errNoProgress)
		}
		return nil
	})
}

func (f *fleet) startSink(i int) {
	f.s.t.Helper()
	if f.named {
		f.s.settings.Sink.InstanceID = "sink-" + strconv.Itoa(i)
	}
	f.sinks[i] = f.s.spawnSink(order{})
	f.sinks[i].heard("ready")
}

// restart replaces an edge and a sink as a deployment does: the old one is asked to
// end, and the next one begins when it has.
func (f *fleet) restart(i int) {
	f.s.t.Helper()
	f.edges[i].stop()
	f.edges[i] = f.spawn(i)
	f.sinks[i].stop()
	f.startSink(i)
	f.s.awaitBalance(fleetSize)
	f.held()
	f.s.progress()
}

func (f *fleet) stop() {
	f.s.t.Helper()
	for i := range fleetSize {
		f.edges[i].stop()
		f.sinks[i].stop()
	}
}

// send has so many clients send batches until it is ended. A client keeps its
// connection, and takes the next edge when one does not answer or answers 503.
func (f *fleet) send(clients int) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.s.t.Context()))
	var all sync.WaitGroup
	for n := range clients {
		all.Go(func() {
			m := maker{rng: rand.New(rand.NewPCG(f.s.seed, uint64(100+n))), prefix: fmt.Sprint("c", n, "-")}
			tick := time.NewTicker(50 * time.Millisecond)
			defer tick.Stop()
			for turn := n; ctx.Err() == nil; <-tick.C {
				if err := f.insistOn(&turn, f.ofOneSite(m.events(5))); err != nil {
					f.s.t.Error(err)
					return
				}
			}
		})
	}
	return sync.OnceFunc(func() { cancel(); all.Wait() })
}

// ofOneSite makes events those of one of the fixture's websites.
func (f *fleet) ofOneSite(batch []happening) []happening {
	owner := f.fixture.WebsiteID
	if batch[0].at%2 == 0 {
		owner = f.fixture.SecondWebsiteID
	}
	for i := range batch {
		batch[i].owner = owner
	}
	return batch
}

// insistOn sends a batch until an edge has acknowledged it.
func (f *fleet) insistOn(turn *int, batch []happening) error {
	body, err := trackBody(batch)
	if err != nil {
		return err
	}
	return testkit.WaitFor(patience, func() error {
		to := f.settings[*turn%fleetSize].Ingest.Listen
		a, err := harness.Post(context.WithoutCancel(f.s.t.Context()),
			"http://"+to+"/track?website_id="+batch[0].owner, f.fixture.Key, body)
		switch {
		case err != nil:
			f.unreached.Add(1)
		case a.Status == http.StatusOK:
			f.responses.Add(1)
			f.s.acked.add(batch)
			return nil
		case a.Status == http.StatusServiceUnavailable:
			f.responses.Add(1)
			f.rejected.Add(1)
		default:
			f.responses.Add(1)
			f.odd.Add(1)
		}
		*turn++
		return fmt.Errorf("answer %d %s, %w", a.Status, a.Body, err)
	})
}

// smooth fails the test when clients saw more of the restarts than they may: no
// response but 200 and, in less than one of a thousand, 503.
func (f *fleet) smooth() {
	f.s.t.Helper()
	responses, rejected := f.responses.Load(), f.rejected.Load()
	f.s.t.Logf("%d answers, %d of them 503; %d attempts without an answer; %d events acknowledged",
		responses, rejected, f.unreached.Load(), f.s.acked.unique())
	if n := f.odd.Load(); n > 0 {
		f.s.t.Errorf("%d answers were neither 200 nor 503", n)
	}
	if rejected*1000 >= responses {
		f.s.t.Errorf("%d of %d answers were 503, want less than 0.1 %%", rejected, responses)
	}
}

// Four edges and four sinks are restarted one after the other while clients send:
// whatever was acknowledged is stored exactly once, and hardly anybody notices.
// With instance ids no partition moves; without, each sink that stays gives up
// partitions at most once for each one that is restarted, when that comes back.
func TestARollingRestartOfEdgesAndSinksIsHardlyNoticed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		point string
		named bool
		on    brokers
	}{
		{"4 edges, 4 sinks, instance ids", true, kafkaOnly},
		{"4 edges, 4 sinks", false, realToo()},
	} {
		t.Run(c.point, func(t *testing.T) {
			tr := trial{fault: "F20 rolling restart", point: c.point, on: c.on, few: 1, body: func(t *testing.T, s *stage) {
				f := s.newFleet(c.named)
				end := f.send(clientsOfFleet())
				defer end()
				s.progress()
				before := s.moves()
				for i := range fleetSize {
					f.restart(i)
				}
				after := s.moves()
				taken, given := after.taken-before.taken, after.given-before.given
				end()
				s.drained()
				f.smooth()
				t.Logf("members took partitions %d times and gave up partitions %d times", taken, given)
				if c.named && (taken != fleetSize || given != fleetSize) {
					t.Errorf("members took partitions %d times and gave up partitions %d times during %d restarts; want one each, "+
						"those of the sink itself", taken, given, fleetSize)
				}
				if most := fleetSize * fleetSize; !c.named && given > most {
					t.Errorf("members gave up partitions %d times during %d restarts; want at most once each", given, fleetSize)
				}
				f.stop()
				s.judge()
			}}
			tr.run(t)
		})
	}
}

// clientsOfFleet is how many clients send: as many as half of a small machine can
// take, or what a short run needs.
func clientsOfFleet() int {
	if thorough() {
		return 16
	}
	return 4
}

// moves are how partitions went from sink to sink so far, as sinks have logged it.
type moves struct {
	taken, given int // how often a sink got partitions, and how often one gave some up
	owned        int // partitions that have an owner now
}

// A change of the group that moves nothing is logged as well, with none.
var moved = regexp.MustCompile(`msg="partitions (assigned|revoked|lost)".* (?:new|partitions)=([1-9][0-9]*)`)

func (s *stage) moves() (m moves) {
	for _, line := range moved.FindAllStringSubmatch(s.log.String(), -1) {
		n, _ := strconv.Atoi(line[2])
		if line[1] == "assigned" {
			m.taken++
			m.owned += n
		} else {
			m.given++
			m.owned -= n
		}
	}
	return m
}
