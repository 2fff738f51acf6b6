package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer/buffertest"
	"github.com/millrace/millrace/internal/platform/config"
)

// world is a log, a table and a dead letter topic in memory: enough to see what
// the steps do, and to stop time. The real ones are used in internal/adapter/kafka.
type world struct {
	mu           sync.Mutex
	log          map[Partition][]buffer.Record
	position     map[Partition]int
	committed    map[Partition]int64
	metadata     map[Partition]string
	epochs       map[Partition]int32
	commits      []progressed
	logStart     map[Partition]int64
	ledger       map[Partition][]ledger.Entry
	epoch        int64
	insertTokens map[string]bool // the table's
	rows         []storedRow
	letters      []DeadLetter
	calls        []string
	paused       map[Partition]bool
	rewound      map[Partition]bool
	atEnd        map[int32]HaltReason
	holes        map[int64]bool     // offsets that the log has no records at
	mute         map[Partition]bool // partitions whose broker says nothing after the first delivery
	away         map[Partition]away // partitions of which brokers do not tell all
	drop         int                // the poll that loses what it should deliver; 0: none
	listener     RebalanceListener
	pollSize     int
	observed     int // records that windows were read from
	released     atomic.Int64
	blocks       atomic.Int64 // that were made
	arrived      chan struct{}

	// What goes wrong; asked before the step is done.
	observes    func()                          // before a window is read
	reserves    func(ctx context.Context) error // waits for memory for a block
	insertFails func(insertToken string) error
	commitFails func() error
	onCommit    func(Partition, ledger.State)
	rejects     func(id string) bool // the table rejects rows of these events
	brokenAt    int64                // the first reading of a window ends with an error before this offset; 0: none
	panics      string               // no block can be made of this event; empty: of every one it can
	lettersWait chan struct{}        // dead letters are acknowledged once it is closed
}

// away is what brokers do not tell of a partition.
type away uint8

const (
	undelivered away = iota + 1 // what comes next
	unread                      // nor when any of it was received
	unlisted                    // nor where the log ends
)

// progressed is what was committed.
type progressed struct {
	next  int64
	epoch int32
}

type storedRow struct {
	id       string
	month    int
	received int64
	offset   int64
}

func newWorld(partitions ...Partition) *world {
	w := &world{
		log: map[Partition][]buffer.Record{}, position: map[Partition]int{}, committed: map[Partition]int64{},
		insertTokens: map[string]bool{},
		metadata:     map[Partition]string{}, logStart: map[Partition]int64{}, ledger: map[Partition][]ledger.Entry{},
		epoch:  1,
		epochs: map[Partition]int32{},
		paused: map[Partition]bool{}, rewound: map[Partition]bool{}, away: map[Partition]away{}, pollSize: 1 << 30,
		arrived: make(chan struct{}, 1),
	}
	for _, p := range partitions {
		w.log[p] = nil
	}
	return w
}

// produce appends events to a partition's log.
func (w *world) produce(p Partition, records ...buffer.Record) {
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

func (w *world) Open(ctx context.Context, listener RebalanceListener) error {
	w.listener = listener
	w.mu.Lock()
	partitions := slices.Collect(maps.Keys(w.log))
	w.mu.Unlock()
	var assigned []Assignment
	for _, p := range partitions {
		assigned = append(assigned, w.assign(p))
	}
	listener.Assigned(ctx, assigned)
	return nil
}

// assign sets a partition's position to where it begins.
func (w *world) assign(p Partition) Assignment {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := Assignment{
		Partition: p, Committed: -1, Metadata: w.metadata[p], LeaderEpoch: w.epochs[p], LogStart: w.logStart[p],
	}
	w.position[p] = int(a.LogStart)
	if at, ok := w.committed[p]; ok {
		a.Committed, w.position[p] = at, int(at)
	}
	return a
}

func (w *world) LogStart(_ context.Context, p Partition) (int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.logStart[p], nil
}

func (w *world) Ends(_ context.Context, ps []Partition) (map[Partition]int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ends, err := map[Partition]int64{}, error(nil)
	for _, p := range ps {
		if w.away[p] == unlisted {
			err = errors.New("the broker is away")
			continue
		}
		ends[p] = int64(len(w.log[p]))
	}
	return ends, err
}

func (w *world) ReceivedAt(_ context.Context, p Partition, offset int64) (int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away[p] >= unread {
		return 0, errors.New("the broker is away")
	}
	return w.log[p][max(offset, w.logStart[p])].ReceivedAt, nil
}

func (w *world) Observations(_ context.Context, p Partition, s *Stretch, observer Observer) error {
	if w.observes != nil {
		w.observes()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	log := w.log[p][max(w.logStart[p], s.Next):s.To]
	i := slices.IndexFunc(log, func(r buffer.Record) bool { return r.ReceivedAt >= s.Since || s.Next > 0 })
	if i < 0 {
		return nil
	}
	observer.Expect(int64(len(log) - i))
	for _, r := range log[i:] {
		if w.brokenAt > 0 && r.Offset == w.brokenAt {
			w.brokenAt = 0
			return errors.New("the broker is away")
		}
		if !r.BadHeaders && !r.Control {
			observer.Observe(r.Hash, r.ReceivedAt)
		}
		w.observed++
		s.Next = r.Offset + 1
		s.Records++
	}
	return nil
}

func (w *world) Holds(_ context.Context, p Partition, offsets ledger.Span) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.log[p], func(r buffer.Record) bool {
		return !w.holes[r.Offset] && r.Offset >= offsets.First && r.Offset <= offsets.Last
	}), nil
}

func (w *world) Epoch(context.Context, string) (int64, error) { return w.epoch, nil }

func (w *world) Reached(_ context.Context, _ string, _ [16]byte, index int32, _ int64) (reached int64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p, entries := range w.ledger {
		for _, e := range entries {
			if p.Index == index {
				reached = max(reached, e.Span.Last+1)
			}
		}
	}
	return reached, nil
}

func (w *world) Ranges(
	_ context.Context, _ [16]byte, index int32, epoch, from int64, limit int,
) (spans []ledger.Span, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p, entries := range w.ledger {
		for _, e := range entries {
			if p.Index == index && e.Epoch == epoch && e.Span.Last >= from {
				spans = append(spans, e.Span)
			}
		}
	}
	slices.SortFunc(spans, func(a, b ledger.Span) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Last, b.Last))
	})
	return spans[:min(limit, len(spans))], nil
}

func (w *world) Write(_ context.Context, e *ledger.Entry, insertToken string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.insertTokens[insertToken] {
		w.insertTokens[insertToken] = true
		p := Partition{Topic: e.Topic, Index: e.Partition}
		w.ledger[p] = append(w.ledger[p], *e)
	}
	return nil
}

func (w *world) Close() { w.call("close") }

func (w *world) Poll(ctx context.Context, maxBytes int64, deliver func(Delivery)) error {
	w.rewind(ctx)
	for _, p := range w.partitions() {
		w.mu.Lock()
		from := w.position[p]
		to := from
		for ; to < len(w.log[p]) && to-from < w.pollSize && maxBytes > 0 && !w.paused[p] && w.delivers(p, to); to++ {
			maxBytes -= recordBytes(&w.log[p][to])
		}
		w.position[p] = to
		if w.drop > 0 && to > from {
			if w.drop--; w.drop == 0 {
				from = to
			}
		}
		b := batchOf(w.lend(p, from, to))
		b.Partition, b.Session, b.End = p, Session{Member: "m", Generation: 1}, int64(len(w.log[p]))
		w.mu.Unlock()
		if len(b.Records) > 0 {
			deliver(*b)
		}
		for _, r := range b.Records { // as a client does that uses its memory again
			clear(r.Value)
			clear(r.Traceparent)
		}
	}
	select {
	case <-w.arrived:
	case <-time.After(10 * time.Millisecond):
	case <-ctx.Done():
	}
	return nil
}

// delivers reports whether the record at an offset is delivered. mu is held.
func (w *world) delivers(p Partition, at int) bool {
	return w.away[p] == 0 && (!w.mute[p] || at <= 10)
}

// batchOf makes a batch of records.
func batchOf(records []buffer.Record) *Delivery {
	return &Delivery{Packed: buffertest.Pack(records), Records: records}
}

// lend returns records whose memory is good for one delivery.
func (w *world) lend(p Partition, from, to int) (records []buffer.Record) {
	if from == to { // maybe behind the end of the log
		return nil
	}
	for _, r := range w.log[p][from:to] {
		if !w.holes[r.Offset] {
			r.Value, r.Traceparent = slices.Clone(r.Value), slices.Clone(r.Traceparent)
			records = append(records, r)
		}
	}
	return records
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
		w.listener.Lost(ctx, []Partition{p})
		w.listener.Assigned(ctx, []Assignment{w.assign(p)})
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
	what := "commit "
	state, _, err := ledger.DecodeState(progress.Metadata)
	if err != nil {
		return err
	}
	if state.Plan != nil {
		what = "plan "
	}
	w.call(what + strconv.FormatInt(progress.Next, 10))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.onCommit != nil {
		w.onCommit(p, state)
	}
	w.committed[p], w.metadata[p], w.epochs[p] = progress.Next, progress.Metadata, progress.LeaderEpoch
	w.commits = append(w.commits, progressed{progress.Next, progress.LeaderEpoch})
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

// committedSoFar returns the partitions that have got anywhere.
func (w *world) committedSoFar() (some []Partition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p, at := range w.committed {
		if at > 0 {
			some = append(some, p)
		}
	}
	return some
}

func (w *world) call(s string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, s)
}

func (w *world) NewBlock(string) Block {
	w.blocks.Add(1)
	return &memoryBlock{world: w}
}

func (w *world) Reserve(ctx context.Context, _ Block) (release func(), err error) {
	if w.reserves != nil {
		if err := w.reserves(ctx); err != nil {
			return nil, err
		}
	}
	return func() { w.released.Add(1) }, nil
}

func (w *world) Insert(_ context.Context, b Block, insertToken string) error {
	if w.insertFails != nil {
		if err := w.insertFails(insertToken); err != nil {
			return err
		}
	}
	if err := w.Probe(context.Background(), b); err != nil {
		return err
	}
	w.call(fmt.Sprintf("insert %d", b.Rows()))
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.insertTokens[insertToken] {
		w.insertTokens[insertToken] = true
		w.rows = append(w.rows, b.(*memoryBlock).rows...)
	}
	return nil
}

func (w *world) Probe(_ context.Context, b Block) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, row := range b.(*memoryBlock).rows {
		if w.rejects != nil && w.rejects(row.id) {
			return &InsertError{Class: ClassRejected, Err: errors.New("violated")}
		}
	}
	return nil
}

func (w *world) Send(ctx context.Context, letters []DeadLetter) error {
	if w.lettersWait != nil {
		select {
		case <-w.lettersWait:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	w.call(fmt.Sprintf("dead %d", len(letters)))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.letters = append(w.letters, letters...)
	return nil
}

type memoryBlock struct {
	rows  []storedRow
	world *world
}

func (b *memoryBlock) Append(r *Row) {
	if b.world != nil && b.world.panics != "" && string(r.Event.ID) == b.world.panics {
		panic("a mistake") //nolint:forbidigo // what the test is about
	}
	b.rows = append(b.rows, storedRow{
		string(r.Event.ID), (&monthCache{}).of(r.Event.TimeMillis), r.Event.ReceivedAt, r.Offset,
	})
}
func (b *memoryBlock) Rows() int            { return len(b.rows) }
func (b *memoryBlock) Reset()               { b.rows = nil }
func (b *memoryBlock) Offset(row int) int64 { return b.rows[row].offset }
func (b *memoryBlock) CopyTo(dst Block, from, to int) {
	d := dst.(*memoryBlock)
	d.rows = append(d.rows, b.rows[from:to]...)
}

// anEvent returns the record of an event with the given id.
func anEvent(id string, at, received int64) buffer.Record {
	e := record.Event{
		Version: 1, ID: []byte(id), Organization: []byte("org_1"), Website: []byte("web_1"), Owner: []byte("web_1"),
		Type: []byte(record.TypeCustom), Name: []byte("n"), TimeMillis: at, ReceivedAt: received,
	}
	return buffer.Record{
		ReceivedAt: received, Hash: record.HashOf(e.Owner, e.ID), Value: record.AppendEvent(nil, &e),
	}
}

// recordBytes is what a record counts in hand.
func recordBytes(r *buffer.Record) int64 { return int64(len(r.Value)) + 64 }

func testConfig() config.Sink {
	cfg := config.Default().Sink
	cfg.MaxRows, cfg.Connections = 100, 2
	return cfg
}

func newSink(t *testing.T, cfg config.Sink, w *world) *Sink {
	t.Helper()
	s, err := New(cfg, Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
		Source: w, Reader: w, Inserter: w, DeadLetters: w, Ledger: w,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
