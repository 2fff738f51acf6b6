package sink

import (
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
	"github.com/millrace/millrace/internal/platform/config"
)

// storedBefore are the records before the plan of each partition that plannedOver makes.
const storedBefore = 3000

// lowest is the low watermark that those plans were made with.
var lowest = int32(noon / (5 * 60 * 1000))

// plannedOver is a world whose partitions have 3,000 events of an hour and then an open plan of
// ten, of which the first is a copy of the oldest event. All windows together take more than
// the memory that the returned configuration has for them.
func plannedOver(partitions ...Partition) (*world, config.Sink) {
	w, cfg := newWorld(partitions...), testConfig()
	cfg.WindowMemory = storedBefore * 60
	for _, p := range partitions {
		records := make([]buffer.Record, 0, storedBefore+10)
		for n := range storedBefore {
			records = append(records, anEvent(fmt.Sprint("e", n), noon, noon+int64(n)*1000))
		}
		for n := range 10 {
			records = append(records, anEvent(fmt.Sprint("e", n*storedBefore), noon, noon+storedBefore*1000))
		}
		w.produce(p, records...)
		state := ledger.NewState([16]byte{}, 1)
		state.LowWatermark, state.Plan = lowest, &[2]int64{storedBefore, storedBefore + 9}
		w.commitState(p, storedBefore, state)
	}
	return w, cfg
}

// A plan is decided about with the window that it was planned with, also where all windows that
// are taken over are more than there is memory for; they give way once it is settled.
func TestAPlanThatIsTakenOverIsDecidedWithItsWholeWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, cfg := plannedOver(part, second)
		planned := map[Partition]int32{}
		w.onCommit = func(p Partition, s ledger.State) {
			if s.Plan != nil {
				planned[p] = s.LowWatermark
			}
		}
		s := newSink(t, cfg, w)
		stop := start(t, s)
		time.Sleep(5 * time.Second) //nolint:forbidigo // fake time
		w.seen()
		for _, p := range []Partition{part, second} {
			if e := w.ledger[p]; len(e) != 1 || e[0].Duplicates != 1 || e[0].Stored != 9 {
				t.Errorf("partition %d: %+v, want a duplicate and 9 rows", p.Index, e)
			}
		}
		if diff := cmp.Diff(map[Partition]int32{part: lowest, second: lowest}, planned); diff != "" {
			t.Errorf("low watermarks of the plans that were committed again (-want +got):\n%s", diff)
		}
		if s.windows.Full() {
			t.Errorf("windows take %d bytes after their plans were settled, of %d", s.windows.Bytes(), cfg.WindowMemory)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// While plans wait to be settled, no more than two windows are beyond the memory.
func TestNoMoreThanTwoWindowsAreBeyondTheMemoryForTheirPlans(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		parts := make([]Partition, 6)
		for i := range parts {
			parts[i] = Partition{Topic: "events.v1", Index: int32(i)}
		}
		w, cfg := plannedOver(parts...)
		var away atomic.Bool
		away.Store(true)
		w.insertFails = func(string) error {
			if away.Load() {
				return errors.New("the server is away")
			}
			return nil
		}
		s := newSink(t, cfg, w)
		stop := start(t, s)
		time.Sleep(time.Minute) //nolint:forbidigo // fake time
		synctest.Wait()
		const two, empty = 2 * storedBefore * 40, 6 * 64 * 16 * 20
		if most := int64(cfg.WindowMemory + two + empty); s.windows.Bytes() > most {
			t.Errorf("windows take %d bytes while nothing can be stored, want %d at most", s.windows.Bytes(), most)
		}
		away.Store(false)
		time.Sleep(5 * time.Minute) //nolint:forbidigo // fake time
		w.seen()
		for _, p := range parts {
			if e := w.ledger[p]; len(e) != 1 || e[0].Duplicates != 1 {
				t.Errorf("partition %d: %+v, want a duplicate", p.Index, e)
			}
		}
		if s.windows.Full() {
			t.Errorf("windows take %d bytes of %d", s.windows.Bytes(), cfg.WindowMemory)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// What waits for a plan's sake goes on when the partition of that plan is halted.
func TestAHaltedPartitionLetsOthersReadTheirWindows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		third := Partition{Topic: "events.v1", Index: 7}
		w, cfg := plannedOver(part, second, third)
		w.panics = "e" + strconv.Itoa(storedBefore)
		s := newSink(t, cfg, w)
		stop := start(t, s)
		time.Sleep(time.Minute) //nolint:forbidigo // fake time
		if diff := cmp.Diff(map[int32]HaltReason{0: HaltPanic, second.Index: HaltPanic, 7: HaltPanic},
			s.haltedNow()); diff != "" {
			t.Errorf("halted (-want +got):\n%s", diff)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}
