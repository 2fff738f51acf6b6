package sink

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
)

var second = Partition{Topic: "events.v1", Index: 1}

// produceMany appends n events to a partition's log.
func (w *world) produceMany(p Partition, n int) {
	for range n {
		w.mu.Lock()
		id := strconv.Itoa(int(p.Index)) + "-" + strconv.Itoa(len(w.log[p]))
		w.mu.Unlock()
		w.produce(p, anEvent(id, noon, noon))
	}
}

// seen returns the calls so far, once nothing is under way at this moment.
func (w *world) seen() []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.calls)
}

// Where memory is tight, only the fullest range is inserted before its time, as
// one insert at a time is all that runs.
func TestTightMemorySealsTheFullestRangeOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		r := anEvent("0-00", noon, noon)
		cfg.MaxMemory, cfg.MaxWait, cfg.Connections = int(50*recordBytes(&r)), time.Minute, 1
		w := newWorld(part, second)
		stop := start(t, newSink(t, cfg, w))
		synctest.Wait() // both are taken over
		w.produceMany(part, 30)
		w.produceMany(second, 20)
		time.Sleep(10 * time.Second) //nolint:forbidigo // fake time
		if diff := cmp.Diff([]string{"plan 0", "insert 30", "commit 30"}, w.seen()); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// While one range is inserted, the next one is planned. One that has to wait for its turn
// behind that is not cut before it, and goes on growing up to its triggers: here from 10 to
// 100 rows, of 130.
func TestARangeGrowsWhileItWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Connections = 1
		third := Partition{Topic: part.Topic, Index: 2}
		w := newWorld(part, second, third)
		w.insertFails = func(string) error {
			time.Sleep(5 * time.Second) //nolint:forbidigo // fake time
			return nil
		}
		w.produceMany(part, 100)
		stop := start(t, newSink(t, cfg, w))
		time.Sleep(time.Second / 2)         //nolint:forbidigo // fake time
		w.produceMany(second, 20)           // due after two seconds
		time.Sleep(1500 * time.Millisecond) //nolint:forbidigo // fake time
		w.produceMany(third, 10)
		time.Sleep(time.Second) //nolint:forbidigo // fake time
		if diff := cmp.Diff([]string{"plan 0", "plan 0"}, w.seen()); diff != "" {
			t.Errorf("calls during the first insert (-want +got):\n%s", diff)
		}
		time.Sleep(1500 * time.Millisecond) //nolint:forbidigo // fake time
		w.produceMany(third, 120)
		time.Sleep(11 * time.Second) //nolint:forbidigo // fake time
		if diff := cmp.Diff([]string{
			"plan 0", "plan 0", "insert 100", "commit 100", "plan 0", "insert 20", "commit 20", "insert 100", "commit 100",
			"plan 100",
		}, w.seen()); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// Many partitions with a little each make many small inserts; the wait is stretched so that
// there are no more a second than the budget, and no longer than half a minute.
func TestTheWaitFitsTheBudgetOfInserts(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		inserts, active int
		want            time.Duration
	}{
		{0, 100_000, time.Second}, // never
		{100, 100, time.Second},
		{100, 101, 1010 * time.Millisecond},
		{100, 1000, 10 * time.Second},
		{100, 3000, 30 * time.Second},
		{100, 3001, 30 * time.Second},
	} {
		cfg := testConfig()
		cfg.MaxWait, cfg.MaxInserts = time.Second, tc.inserts
		g := buffer.NewTriggers(cfg)
		if g.Stretch(tc.active); g.Patience() != tc.want {
			t.Errorf("%d partitions and %d inserts a second wait %s, want %s", tc.active, tc.inserts, g.Patience(), tc.want)
		}
	}
}

func TestManyPartitionsKeepToTheBudgetOfInserts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const partitions, budget, seconds = 60, 6, 30
		var all []Partition
		for i := range int32(partitions) {
			all = append(all, Partition{Topic: "events.v1", Index: i})
		}
		w := newWorld(all...)
		cfg := testConfig()
		cfg.MaxWait, cfg.MaxInserts = time.Second, budget
		stop := start(t, newSink(t, cfg, w))
		synctest.Wait()
		for n := range seconds {
			for _, p := range all {
				w.produce(p, anEvent(fmt.Sprintf("%d-%d", p.Index, n), noon, noon))
			}
			time.Sleep(time.Second) //nolint:forbidigo // fake time
		}
		inserts := 0
		for _, c := range w.seen() {
			if strings.HasPrefix(c, "insert") {
				inserts++
			}
		}
		// The first second's are made before anybody knows how many there are.
		if most := budget*seconds + 2*partitions; inserts > most || inserts < budget*seconds/2 {
			t.Errorf("%d inserts in %d s, want about %d a second", inserts, seconds, budget)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if len(w.rows) != partitions*seconds {
			t.Errorf("%d rows, want %d", len(w.rows), partitions*seconds)
		}
	})
}
