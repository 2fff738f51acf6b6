package fault

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/services"
)

var (
	seedsFlag = flag.Int("seeds", 0,
		"run so many seeds of each crash on kfake, and a share of them of other faults; 0 runs one or two")
	realSeedsFlag  = flag.Int("real-seeds", 0, "run so many seeds of each fault on real Kafka; 0 runs one")
	seedFlag       = flag.Uint64("seed", 0, "run this seed only")
	reportFlag     = flag.String("report", "", "write what came out into this file")
	keepLogsFlag   = flag.String("keep-logs", "", "write the whole log of a failed run into this folder")
	outageFlag     = flag.Duration("outage", fullOutage, "how long ClickHouse is away in one run, with -seeds")
	soakReportFlag = flag.String("soak-report", "", "write what came out of TestSoak or TestHostileSoak into this file")
	soakFlag       = flag.Duration("soak", 0, "how long TestSoak runs; 0 leaves it out")
	hostileFlag    = flag.Duration("hostile", 0, "how long TestHostileSoak runs; 0 leaves it out")
)

func TestMain(m *testing.M) {
	runIfChild()
	flag.Parse()
	makeRoom()
	clickhousetest.Main(reporting{m})
}

// room is where trials run: so many at a time, and beside them some of those that
// mostly wait for time to pass, which begin at once and not when all others are done.
// Whoever is inside holds quiet for reading.
var room struct {
	busy, waiting chan struct{}
	quiet         sync.RWMutex
}

func makeRoom() {
	room.busy, room.waiting = make(chan struct{}, 3), make(chan struct{}, 3) // trials wait more than they work
	n := 4
	f := flag.Lookup("test.parallel")
	asked := f.Value.String() != f.DefValue
	if asked {
		fmt.Sscan(f.Value.String(), &n)
	}
	if asked || thorough() { // hundreds of one kind
		room.busy = make(chan struct{}, n)
		room.waiting = room.busy
	}
	flag.Set("test.parallel", "1000") // whoever is parallel waits for room instead
}

// enter waits for room; leave makes it again.
func enter(waits bool) (leave func()) {
	into := room.busy
	if waits {
		into = room.waiting
	}
	into <- struct{}{}
	room.quiet.RLock()
	return func() {
		room.quiet.RUnlock()
		<-into
	}
}

// quietly runs f, which is a part of a trial, when no other trial runs: for a rate that
// is promised of a server that nobody else uses. Trials that are under way end before,
// and none begins.
func quietly(f func()) {
	room.quiet.RUnlock()
	defer room.quiet.RLock()
	room.quiet.Lock()
	defer room.quiet.Unlock()
	f()
}

// reporting writes the report after the tests.
type reporting struct{ m *testing.M }

// Run runs the tests.
func (r reporting) Run() int {
	start := time.Now()
	code := r.m.Run()
	if *reportFlag == "" {
		return code
	}
	if err := os.WriteFile(*reportFlag, outcomes.page(time.Since(start)), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// thorough reports whether many seeds were asked for.
func thorough() bool { return *seedsFlag > 0 }

// exacting reports whether what takes time is measured, or bounded as users were
// promised it.
func exacting() bool { return thorough() || testkit.Strict() }

func leaveOutWhenShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out under -short: runs processes against real servers")
	}
}

// brokers says which brokers a fault is tried on.
type brokers uint8

const (
	kfakeOnly brokers = 1 << iota
	kafkaOnly
	bothBrokers = kfakeOnly | kafkaOnly
)

// trial is one fault at one place.
type trial struct {
	fault string // as the report names it, such as "F4 sink killed"
	point string // where
	on    brokers
	few   int // seeds on kfake of a plain test run
	each  int // one of how many seeds asked for; 0 is one of ten
	alone bool
	waits bool                          // mostly for sessions and outages to end
	kafka func(testing.TB) config.Kafka // makes the real brokers; nil for those that all share
	topic string                        // that is counted; empty for events
	once  bool                          // its schedule is always the same: one seed is all
	body  func(*testing.T, *stage)
}

// seeds is how many the trial runs on kfake. A crash may hit anything, so crashes
// take all that are asked for; of what has less to choose from, a share will do.
func (tr *trial) seeds() int {
	if !thorough() || tr.once {
		return tr.few
	}
	each := tr.each
	if each == 0 {
		each = 10
	}
	return max(tr.few, min(3, *seedsFlag), *seedsFlag/each)
}

// realSeeds is how many the trial runs on real Kafka.
func (tr *trial) realSeeds() int {
	if tr.once {
		return 1
	}
	return max(1, *realSeedsFlag)
}

// brokers returns what makes the brokers of a kind; nil for kfake.
func (tr *trial) brokers(kind brokers) func(testing.TB) config.Kafka {
	switch {
	case kind == kfakeOnly:
		return nil
	case tr.kafka != nil:
		return tr.kafka
	}
	return services.Kafka
}

// run runs the trial for each of its seeds.
func (tr *trial) run(t *testing.T) {
	leaveOutWhenShort(t)
	if !tr.alone {
		t.Parallel()
	}
	var all sync.WaitGroup
	defer all.Wait()
	for _, b := range []struct {
		name  string
		kind  brokers
		seeds int
	}{
		{"kfake", kfakeOnly, tr.seeds()},
		{"kafka", kafkaOnly, tr.realSeeds()},
	} {
		if tr.on&b.kind != 0 {
			tr.start(&all, func() {
				t.Run(b.name, func(t *testing.T) { tr.runSeeds(t, b.name, tr.brokers(b.kind), b.seeds) })
			})
		}
	}
}

func (tr *trial) runSeeds(t *testing.T, on string, brokers func(testing.TB) config.Kafka, seeds int) {
	t.Helper()
	first := uint64(1)
	if *seedFlag != 0 {
		first, seeds = *seedFlag, min(1, seeds)
	}
	var all sync.WaitGroup
	defer all.Wait()
	for i := range uint64(seeds) {
		seed := first + i
		tr.start(&all, func() {
			defer enter(tr.waits)() // before the test begins, so that its time is its own
			t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
				var s *stage
				t.Cleanup(func() { outcomes.add(tr, on, s, t.Failed()) })
				s = newStageOf(t, seed, brokers, cmp.Or(tr.topic, record.TopicEvents))
				tr.body(t, s)
			})
		})
	}
}

// start runs f beside others, or at once where the trial is alone.
func (tr *trial) start(all *sync.WaitGroup, f func()) {
	if tr.alone {
		f()
		return
	}
	all.Go(f)
}

// realToo is kfake, and real Kafka too where many seeds were asked for, or promises are
// asserted as they are: for what kfake proves already.
func realToo() brokers {
	if thorough() || testkit.Strict() {
		return bothBrokers
	}
	return kfakeOnly
}
