package fault

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/millrace/millrace/internal/testkit"
)

const (
	// soakShare is how much of what it was seen to do at most a soak asks of the
	// pipeline.
	soakShare = 0.7
	// soakWindow is how long sinks remember events: less than elsewhere, so that
	// their memory is full soon and flat from then on.
	soakWindow = time.Minute
	// peakFor is how long the peak is looked for.
	peakFor = 15 * time.Second
)

// soak is a pipeline under load: two edges, of which one is killed now and then, a
// sink that lives through everything, others that come and go, and a ClickHouse of
// their own.
type soak struct {
	*stage

	dir              string // of ClickHouse
	front            *front
	websites         []string // one of each partition
	survivor, victim *child   // edges
	sink             *child
	sent             soakLoad
	samples          samples
	struck           map[string]int
	rebuilt          int // days
}

func newSoak(t *testing.T) *soak {
	t.Helper()
	s := &soak{stage: newStage(t, max(1, *seedFlag)), struck: map[string]int{}}
	s.dir = s.ownServer()
	// What is inserted for minutes has to be merged; FINAL, the rollups, which no
	// merge corrects, and the ledger tell what was stored twice.
	s.exec(
		"ALTER TABLE events RESET SETTING max_bytes_to_merge_at_max_space_in_pool, max_bytes_to_merge_at_min_space_in_pool")
	k := &s.settings.Sink
	k.MaxRows, k.MaxWait, k.Window = 20_000, time.Second, soakWindow
	s.settings.Log.Level = "warn"
	s.front = s.newFront(2)
	s.websites = s.front.everywhere(s.settings.Kafka.Partitions)
	for i := range s.front.settings {
		s.front.settings[i].Ingest.Deadline = 10 * time.Second
		s.front.settings[i].Kafka.MaxBufferedBytes = 64 << 20
	}
	for _, w := range []struct {
		name  string
		admin *string
		start func() *child
		into  **child
	}{
		{"edge", &s.front.settings[0].Admin.Listen, func() *child { return s.front.spawn(0) }, &s.survivor},
		{"sink", &s.settings.Admin.Listen, func() *child { return s.spawnSink(order{}) }, &s.sink},
	} {
		*w.admin = testkit.FreeAddr(t)
		s.samples.watch(w.name, *w.admin)
		*w.into = w.start()
	}
	s.sink.heard("ready")
	s.settings.Admin.Listen = "" // of those that come and go
	s.victim = s.front.spawn(1)
	return s
}

// peak is how many events a second clients can send, and the sink can store, when
// they send all they can.
func (s *soak) peak() float64 {
	s.t.Helper()
	begin := time.Now()
	end := s.sent.start(s, 0)
	select {
	case <-time.After(peakFor):
	case <-s.t.Context().Done():
	}
	end()
	s.drained()
	return float64(s.sent.unique()) / time.Since(begin).Seconds()
}

// forget has the broker, which keeps its log in memory, drop what was committed long
// enough ago that nobody reads it again.
func (s *stage) forget() {
	s.t.Helper()
	now, err := s.committed(s.t.Context())
	if err != nil {
		return // a fault; the next look will tell
	}
	const looks = 20 // some minutes
	if s.kept = append(s.kept, now); len(s.kept) < looks {
		return
	}
	gone := kadm.Offsets{}
	for p, o := range s.kept[0] {
		if o.At > 0 {
			gone.Add(kadm.Offset{Topic: s.topic(), Partition: p, At: o.At, LeaderEpoch: -1})
		}
	}
	s.kept = s.kept[1:]
	if _, err := s.admin.DeleteRecords(s.t.Context(), gone); err != nil {
		s.t.Logf("dropping old records: %v", err)
	}
}

// Random faults under a steady load, for as long as one likes: in the end all
// counters are exact, and those that lived through all of it have not grown.
func TestSoak(t *testing.T) {
	if *soakFlag == 0 {
		t.Skip("runs with -soak: it takes as long as it is told to")
	}
	s := newSoak(t)
	began := time.Now()
	peak := s.peak()
	rate := soakShare * peak
	t.Logf("the peak is %.0f events a second, the load %.0f", peak, rate)
	end := s.sent.start(s, rate)
	defer end()
	ctx, cancel := context.WithTimeout(t.Context(), *soakFlag)
	defer cancel()
	for ctx.Err() == nil {
		f := soakFaults[s.rng.IntN(len(soakFaults))]
		f.strike(s)
		s.struck[f.name]++
		s.proxy.Clear()
		s.progress()
		s.samples.take(t)
		s.forget()
	}
	end()
	s.drained() // of the last fault's backlog
	growing := s.samples.growing()
	s.rebuilt = s.mend(s.survivor.stop, s.victim.stop, s.sink.stop)
	wrong := append(s.exactly(s.sent.sum()), growing...)
	for _, w := range wrong {
		t.Error(w)
	}
	page := s.page(peak, rate, time.Since(began), wrong)
	t.Logf("%s", page)
	if *soakReportFlag != "" {
		if err := os.WriteFile(*soakReportFlag, page, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// exactly says what is not as it should be in the tables and the ledger, when so much was
// acknowledged.
func (s *stage) exactly(sum checksum) (wrong []string) {
	s.t.Helper()
	v := &s.verdict
	*v = verdict{}
	v.Acked = int(sum.events)
	s.countLedger(v)
	v.Final = s.number("SELECT count() FROM events FINAL")
	v.Rollup, v.RollupD = s.number("SELECT sum(events) FROM events_15m"), s.number("SELECT sum(events) FROM events_1d")
	v.MovedBack = len(s.offsets.movedBack())
	for _, c := range []struct {
		what      string
		got, want int
	}{
		{"rows in the base table with FINAL", v.Final, v.Acked},
		{"events in the rollup of 15 minutes", v.Rollup, v.Acked},
		{"events in the rollup of a day", v.RollupD, v.Acked},
		{"stored by the ledger", v.Stored, v.Acked},
		{"gaps, overlaps and odd entries in the ledger", v.Gaps + v.Overlaps + v.Odd, 0},
		{"dead letters in the ledger", v.DeadLetters, 0},
		{"offsets moved back", v.MovedBack, 0},
	} {
		if c.got != c.want {
			wrong = append(wrong, fmt.Sprintf("%s: %d, want %d", c.what, c.got, c.want))
		}
	}
	// As many, and the same ones.
	want := []string{strconv.FormatUint(sum.xor, 10), strconv.FormatUint(sum.sum, 10)}
	if got := s.query("SELECT groupBitXor(event_key), sum(event_key) FROM events FINAL")[0]; !slices.Equal(got, want) {
		wrong = append(wrong,
			fmt.Sprintf("the hashes of the events in the base come to %v, those of the acknowledged ones to %v", got, want))
	}
	return append(wrong, first(v.notes, 30)...)
}
