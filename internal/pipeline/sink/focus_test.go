package sink

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/pipeline/ledger"
)

// behind is a world of eight partitions with a thousand records each, of which
// memory holds 250, and a sink that stores a hundred at a time.
func behind(t *testing.T) (*world, *Sink) {
	t.Helper()
	var partitions []Partition
	for i := range int32(8) {
		partitions = append(partitions, Partition{Topic: "events.v1", Index: i})
	}
	cfg := testConfig()
	r := anEvent("0-000", noon, noon)
	cfg.MaxRows, cfg.Connections, cfg.MaxWait = 100, 1, 10*time.Second
	cfg.MaxBytes, cfg.MaxMemory = int(100*recordBytes(&r)), int(250*recordBytes(&r))
	w := newWorld(partitions...)
	w.pollSize = 10
	w.insertFails = func(string) error {
		time.Sleep(100 * time.Millisecond) //nolint:forbidigo // fake time
		return nil
	}
	for _, p := range partitions {
		w.produceMany(p, 1000)
	}
	return w, newSink(t, cfg, w)
}

// Eight partitions that share the memory would have 30 records each: some 250
// inserts instead of 80.
func TestPartitionsThatAreBehindAreStoredInWholeRanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, s := behind(t)
		stop := start(t, s)
		time.Sleep(5 * time.Minute) //nolint:forbidigo // fake time
		inserts := 0
		for _, c := range w.seen() {
			if strings.HasPrefix(c, "insert") {
				inserts++
			}
		}
		if len(w.rows) != 8000 || inserts > 110 {
			t.Errorf("%d rows in %d inserts, want 8000 in about 80", len(w.rows), inserts)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// Plans of several sinks that are taken over at once are fetched one after the other where
// memory holds no two of them: beyond the budget there is one of them, and a delivery.
func TestForcedSpansKeepToTheMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, s := behind(t)
		r := anEvent("0-000", noon, noon)
		const span, delivery = 200, 8 * 10
		for p := range w.log {
			state := ledger.NewState([16]byte{}, 1)
			state.Plan = &[2]int64{0, span - 1}
			w.commitState(p, 0, state)
		}
		stop, most := start(t, s), int64(0)
		for range 3000 {
			time.Sleep(10 * time.Millisecond) //nolint:forbidigo // fake time
			most = max(most, s.budget.InUse())
		}
		if limit := s.budget.Limit() + (span+delivery)*recordBytes(&r); most > limit {
			t.Errorf("%d records in hand, want no more than %d", most/recordBytes(&r), limit/recordBytes(&r))
		}
		for p := range w.log {
			if spans := w.spans(p); len(spans) == 0 || spans[0] != (ledger.Span{First: 0, Last: span - 1}) {
				t.Errorf("partition %d stored %v first, want its plan", p.Index, spans)
			}
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// While some wait for their turn nobody starves, and when all have caught up
// everything is fetched again.
func TestTurnsGoRoundAndEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, s := behind(t)
		stop := start(t, s)
		time.Sleep(4 * time.Second) //nolint:forbidigo // fake time
		if reached := len(w.committedSoFar()); reached != 8 {
			t.Errorf("%d partitions of 8 have got anywhere after 40 inserts", reached)
		}
		time.Sleep(5 * time.Minute) //nolint:forbidigo // fake time
		for _, p := range w.partitions() {
			w.produceMany(p, 1)
		}
		time.Sleep(30 * time.Second) //nolint:forbidigo // fake time
		w.seen()
		if len(w.rows) != 8008 || len(w.paused) != 0 {
			t.Errorf("%d rows of 8008, %d partitions paused", len(w.rows), len(w.paused))
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// A broker that is away must not keep the turn.
func TestATurnEndsWithoutADelivery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, s := behind(t)
		w.mute = map[Partition]bool{{Topic: "events.v1", Index: 3}: true}
		stop := start(t, s)
		time.Sleep(5 * time.Minute) //nolint:forbidigo // fake time
		w.seen()
		if len(w.rows) < 7000 {
			t.Errorf("%d rows of the 7000 of the other partitions", len(w.rows))
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}
