package fault

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

const (
	// hostileMemory is what the sink has, and hostileLimit what the chart tells the
	// collector of it (goMemoryPercent).
	hostileMemory = 512 << 20
	hostileLimit  = hostileMemory / 10 * 9
	// hostileBudget is what it may have in hand in that memory, hostileRange how much of it
	// it stores at once, and hostileWindow what it may remember of event ids.
	hostileBudget, hostileRange, hostileWindow = 128 << 20, 16 << 20, 48 << 20
	// hostileBatch is how many events a batch has: 30 MB of the largest ones, which is
	// about what a sink unpacks at all.
	hostileBatch = 900
	// hostileAhead is how many batches may wait in the log.
	hostileAhead = 12
)

// hostileCodecs are those that make most of little, at their highest levels.
var hostileCodecs = []kgo.CompressionCodec{
	kgo.ZstdCompression().WithLevel(19), kgo.GzipCompression().WithLevel(9), kgo.Lz4Compression().WithLevel(9),
}

// hostileProperties are as large as properties may be.
var hostileProperties = []byte(`{"p":"` + strings.Repeat("x", 32_768-len(`{"p":""}`)) + `"}`)

// hostile is a producer that means harm, and the sink that it is meant for: in a process
// with 512 MB, and the settings that it has by default but for what that leaves it.
type hostile struct {
	*stage

	clients []*kgo.Client // one for each codec
	sink    *child
	admin   string
	sent    soakLoad
	made    int
	samples samples
	// peak is what the process occupied at most, program what its file takes of that, which
	// the system takes back before it ends a process.
	peak, program int64
}

func (s *stage) newHostile() *hostile {
	s.t.Helper()
	h := &hostile{stage: s, admin: testkit.FreeAddr(s.t)}
	for _, codec := range hostileCodecs {
		h.clients = append(h.clients, s.hostileClient(codec))
	}
	// What is inserted for minutes has to be merged; rollups and ledger tell of doubles.
	s.exec(
		"ALTER TABLE events RESET SETTING max_bytes_to_merge_at_max_space_in_pool, max_bytes_to_merge_at_min_space_in_pool")
	group := s.settings.Sink.Group
	s.settings.Sink = config.Default().Sink
	k := &s.settings.Sink
	k.Group, k.MaxMemory, k.MaxBytes, k.WindowMemory = group, hostileBudget, hostileRange, hostileWindow
	s.settings.Admin.Listen, s.settings.Log.Level = h.admin, "warn"
	h.samples.watch("sink", h.admin)
	h.sink = s.spawnSink(order{Alone: true, MemoryLimit: hostileLimit})
	h.sink.heard("ready")
	return h
}

// hostileClient makes batches as large as a broker takes them when they are compressed.
func (s *stage) hostileClient(codec kgo.CompressionCodec) *kgo.Client {
	s.t.Helper()
	opts, err := kafka.ClientOptions(s.settings.Kafka, "hostile", s.log.Logger(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	client, err := kgo.NewClient(append(opts, kgo.ProducerBatchCompression(codec), kgo.ManualFlushing(),
		kgo.ProducerBatchMaxBytes(31<<20), kgo.MaxBufferedRecords(2*hostileBatch))...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(client.Close)
	return client
}

// largest makes the largest events that callers may send, of one website: all of it repeats
// but their ids.
func (h *hostile) largest() []happening {
	all, now := make([]happening, hostileBatch), time.Now().UnixMilli()
	for i := range all {
		h.made++
		all[i] = happening{
			id: "h" + strconv.Itoa(h.made), owner: "web_hostile", visitor: strings.Repeat("v", 256),
			session: strings.Repeat("s", 256), name: strings.Repeat("n", 256), at: now, received: now,
		}
	}
	return all
}

// produce sends one batch, and a few events of other websites.
func (h *hostile) produce(ctx context.Context, client *kgo.Client) {
	h.t.Helper()
	batch, others := h.largest(), h.maker.events(20)
	failed := make(chan error, 1)
	promise := func(_ *kgo.Record, err error) {
		if err != nil {
			select {
			case failed <- err:
			default:
			}
		}
	}
	for _, e := range batch {
		client.Produce(ctx, h.recordOf(e, hostileProperties), promise)
	}
	if err := client.Flush(ctx); err != nil {
		h.t.Fatal(err)
	}
	for _, e := range others {
		h.client.Produce(ctx, h.record(e), promise)
	}
	if err := h.client.Flush(ctx); err != nil {
		h.t.Fatal(err)
	}
	select {
	case err := <-failed:
		h.t.Fatal(err)
	default:
	}
	h.sent.add(batch)
	h.sent.add(others)
}

// run sends for so long, never more ahead of the sink than a few batches: what has to be
// bounded is what the sink holds, not how far it is behind. It returns when all is stored.
func (h *hostile) run(lasts time.Duration) {
	h.t.Helper()
	ctx := h.t.Context()
	looked := time.Now()
	for end, turn := time.Now().Add(lasts), 0; time.Now().Before(end); turn++ {
		h.produce(ctx, h.clients[turn%len(h.clients)])
		testkit.Eventually(h.t, patience, func() error {
			if lag, err := h.lag(ctx); lag > hostileAhead*hostileBatch {
				return fmt.Errorf("%d events wait: %w", lag, err)
			}
			return nil
		})
		if time.Since(looked) > time.Second {
			looked = time.Now()
			h.samples.take(h.t)
			h.forget()
		}
	}
	h.drained()
}

// misses says what is not as it should be: whatever is not exact, and memory beyond what the
// process has.
func (h *hostile) misses() (wrong []string) {
	h.t.Helper()
	wrong = h.exactly(h.sent.sum())
	h.verdict.partly = true
	pid := h.sink.cmd.Process.Pid
	peak, err := peakBytes(pid, false)
	program, of := memoryBytes(pid, "RssFile:")
	if err = errors.Join(err, of); err != nil {
		h.t.Logf("the sink's memory is not known here: %v", err)
		return wrong
	}
	h.peak, h.program = peak, program
	h.t.Logf("%d events were sent in batches of %d; the sink occupied %d MiB at most, and %d MiB of its program",
		h.verdict.Acked, hostileBatch, (peak-program)>>20, program>>20)
	bound := int64(hostileMemory)
	if !testkit.Strict() { // the collector comes too late on a machine that does something else too
		bound += lateCollector
	}
	if peak-program >= bound && !harness.Raced {
		wrong = append(wrong, fmt.Sprintf("the sink occupied %d MiB, which has %d", (peak-program)>>20, bound>>20))
	}
	return wrong
}

// One website sends the largest events there are, in the largest batches, compressed as
// much as can be: a sink with 512 MB keeps below that, and stores all of it and what others
// send.
func TestAHostileProducerDoesNotEndASinkByMemory(t *testing.T) {
	lasts := 5 * time.Second
	if exacting() {
		lasts = 30 * time.Second
	}
	point := "the largest events, compressed most, for " + lasts.String()
	tr := trial{
		fault: "F29 hostile producer", point: point, on: kfakeOnly, few: 1, once: true, alone: true,
		body: func(t *testing.T, s *stage) {
			h := s.newHostile()
			h.run(lasts)
			for _, w := range h.misses() {
				t.Error(w)
			}
			h.sink.stop()
		},
	}
	tr.run(t)
}
