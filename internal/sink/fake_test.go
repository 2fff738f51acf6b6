package sink

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/config"
	"github.com/millrace/millrace/internal/record"
)

// world is a log, a table and a dead letter topic in memory: enough to see what
// the steps do, and to stop time. The real ones are used in internal/kafka.
type world struct {
	mu        sync.Mutex
	log       map[Partition][]Record
	position  map[Partition]int
	committed map[Partition]int64
	tokens    map[string]bool // the table's
	rows      []storedRow
	letters   []DeadLetter
	calls     []string
	paused    map[Partition]bool
	rewound   map[Partition]bool
	owner     Owner
	pollSize  int
	arrived   chan struct{}

	// What goes wrong; asked before the step is done.
	insertFails func(token string) error
	commitFails func() error
}

type storedRow struct {
	id       string
	month    int
	received int64
	offset   int64
}

func newWorld(partitions ...Partition) *world {
	w := &world{
		log: map[Partition][]Record{}, position: map[Partition]int{}, committed: map[Partition]int64{}, tokens: map[string]bool{},
		paused: map[Partition]bool{}, rewound: map[Partition]bool{}, pollSize: 1 << 30, arrived: make(chan struct{}, 1),
	}
	for _, p := range partitions {
		w.log[p] = nil
	}
	return w
}

// produce appends events to a partition's log.
func (w *world) produce(p Partition, records ...Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range records {
		r.Offset = int64(len(w.log[p]))
		w.log[p] = append(w.log[p], r)
	}
	select {
	case w.arrived <- struct{}{}:
	default:
	}
}

func (w *world) Open(ctx context.Context, owner Owner) error {
	w.owner = owner
	var assigned []Assignment
	for p := range w.log {
		w.position[p] = int(w.committed[p])
		assigned = append(assigned, Assignment{Partition: p})
	}
	owner.Assigned(ctx, assigned)
	return nil
}

func (w *world) Close() { w.call("close") }

func (w *world) Poll(ctx context.Context, maxBytes int64, deliver func(Batch)) error {
	w.rewind(ctx)
	for _, p := range w.partitions() {
		w.mu.Lock()
		from := w.position[p]
		to := from
		for ; to < len(w.log[p]) && to-from < w.pollSize && maxBytes > 0 && !w.paused[p]; to++ {
			maxBytes -= recordBytes(&w.log[p][to])
		}
		w.position[p] = to
		b := Batch{Partition: p, Session: Session{Member: "m", Generation: 1}, End: int64(len(w.log[p])), Records: slices.Clone(w.log[p][from:to])}
		w.mu.Unlock()
		if to > from {
			deliver(b)
		}
	}
	select {
	case <-w.arrived:
	case <-time.After(10 * time.Millisecond):
	case <-ctx.Done():
	}
	return nil
}

func (w *world) rewind(ctx context.Context) {
	for _, p := range w.partitions() {
		w.mu.Lock()
		asked := w.rewound[p]
		delete(w.rewound, p)
		w.mu.Unlock()
		if !asked {
			continue
		}
		w.owner.Lost(ctx, []Partition{p})
		w.mu.Lock()
		w.position[p] = int(w.committed[p])
		w.mu.Unlock()
		w.owner.Assigned(ctx, []Assignment{{Partition: p}})
	}
}

func (w *world) partitions() []Partition {
	w.mu.Lock()
	defer w.mu.Unlock()
	var ps []Partition
	for p := range w.log {
		ps = append(ps, p)
	}
	return ps
}

func (w *world) Commit(_ context.Context, p Partition, _ Session, progress Progress) error {
	if w.commitFails != nil {
		if err := w.commitFails(); err != nil {
			return err
		}
	}
	w.call("commit " + strconv.FormatInt(progress.Next, 10))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.committed[p] = progress.Next
	return nil
}

func (w *world) Pause(p Partition)  { w.set(w.paused, p) }
func (w *world) Rewind(p Partition) { w.set(w.rewound, p) }

func (w *world) Resume(p Partition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.paused, p)
}

func (w *world) set(m map[Partition]bool, p Partition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m[p] = true
}

func (w *world) call(s string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, s)
}

func (w *world) NewBlock() Block { return &memoryBlock{} }

func (w *world) Insert(_ context.Context, b Block, token string) error {
	if w.insertFails != nil {
		if err := w.insertFails(token); err != nil {
			return err
		}
	}
	w.call(fmt.Sprintf("insert %d", b.Rows()))
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.tokens[token] {
		w.tokens[token] = true
		w.rows = append(w.rows, b.(*memoryBlock).rows...)
	}
	return nil
}

func (w *world) Send(_ context.Context, letters []DeadLetter) error {
	w.call(fmt.Sprintf("dead %d", len(letters)))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.letters = append(w.letters, letters...)
	return nil
}

type memoryBlock struct{ rows []storedRow }

func (b *memoryBlock) Append(r *Row) {
	b.rows = append(b.rows, storedRow{
		string(r.Event.ID), (&monthCache{}).of(r.Event.TimeMillis), r.Event.ReceivedAt, r.Offset,
	})
}
func (b *memoryBlock) Rows() int { return len(b.rows) }
func (b *memoryBlock) Reset()    { b.rows = nil }

// anEvent returns the record of an event with the given id.
func anEvent(id string, at, received int64) Record {
	e := record.Event{
		Version: 1, ID: []byte(id), Organization: []byte("org_1"), Website: []byte("web_1"), Owner: []byte("web_1"),
		Type: []byte(record.TypeCustom), Name: []byte("n"), TimeMillis: at, ReceivedAt: received,
	}
	return Record{
		ReceivedAt: received, Hash: record.HashOf(e.Owner, e.ID), Value: record.AppendEvent(nil, &e), Original: noOriginal{},
	}
}

type noOriginal struct{}

func (noOriginal) RecordKey() []byte                                 { return nil }
func (noOriginal) AppendHeaders(dst []record.Header) []record.Header { return dst }

func testConfig() config.Sink {
	cfg := config.Default().Sink
	cfg.MaxRows, cfg.Connections = 100, 2
	return cfg
}

func newSink(t *testing.T, cfg config.Sink, w *world) *Sink {
	t.Helper()
	s, err := New(cfg, Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
		Source: w, Inserter: w, DeadLetters: w, Epochs: FixedEpoch(1),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
