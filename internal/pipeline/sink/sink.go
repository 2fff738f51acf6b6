package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/platform/config"
)

// Deps are the parts a Sink needs; all but Tracer, Pacer and Tombstones are required.
type Deps struct {
	Log         *slog.Logger
	Metrics     prometheus.Registerer
	Tracer      trace.Tracer // nil traces nothing
	Source      Source
	Reader      Reader
	Inserter    Inserter
	DeadLetters DeadLetters
	Ledger      Ledger
	Pacer       Pacer      // nil stores as fast as the server takes it
	Tombstones  Tombstones // nil leaves nothing out
}

// Pacer holds a sink back that must not use all of the server.
type Pacer interface {
	// Pace waits until so many records may be stored, or ctx ends.
	Pace(ctx context.Context, records int) error
}

// Sink consumes the partitions that its Source gives it. Run it once.
type Sink struct {
	cfg      config.Sink
	deps     Deps
	gates    *gates
	metrics  *metrics
	budget   *budget
	builders builders
	upcoming semaphore // ranges that are frozen and have no builder yet
	blocks   *blockPools
	memory   *memory
	rebuilds semaphore    // windows that are read at the same time
	copying  semaphore    // ranges whose dead letters are copied out of batches at the same time
	probing  sync.Mutex   // held while refused rows are looked for
	windows  *windowShare // the memory of all windows
	owners   *ownerShares // whose records they are
	focus    focus
	// stretched is when the wait was last made to fit; of the poll's goroutine.
	stretched time.Time

	mu      sync.Mutex
	workers map[Partition]*worker
}

// New returns an idle Sink: it opens no connection and starts no goroutine.
func New(cfg config.Sink, deps Deps) (*Sink, error) {
	if err := validate(cfg); err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	s := &Sink{
		cfg: cfg, deps: deps, gates: gatesOf(cfg), budget: newBudget(int64(cfg.MaxMemory)),
		builders: newBuilders(cfg.Connections), upcoming: make(semaphore, cfg.Connections), workers: map[Partition]*worker{},
		blocks: newBlockPools(cfg.Connections+1, deps.Inserter.NewBlock), memory: newMemory(2 * cfg.Connections),
		rebuilds: make(semaphore, rebuildsAtOnce), windows: newWindowShare(int64(cfg.WindowMemory)), owners: &ownerShares{tell: tellOwner(deps.Log)},
		copying: make(semaphore, cfg.Connections), focus: focusOn(int64(cfg.MaxMemory), int64(cfg.MaxBytes), cfg.Connections),
	}
	s.metrics = newMetrics(deps.Metrics, s)
	return s, nil
}

const (
	rebuildsAtOnce = 2
	keyBytes       = 40 // of a window, at most
)

// newWindow returns an empty window that shares the memory for all of them.
func (s *Sink) newWindow() *Window {
	w := NewWindow(s.cfg.Window, s.cfg.WindowKeys)
	w.share = s.windows
	w.share.windows.Add(1)
	return w
}

// validate reports what makes the steps of a range impossible or unsafe.
func validate(cfg config.Sink) error {
	var errs []error
	if cfg.MaxRows < 1 || cfg.MaxBytes < 1 || cfg.MaxWait <= 0 {
		errs = append(errs, errors.New("max_rows, max_bytes and max_wait must be positive"))
	}
	if cfg.MaxMemory < 1 || cfg.Connections < 1 {
		errs = append(errs, errors.New("max_memory and connections must be positive"))
	}
	if cfg.InsertTimeout <= 0 || cfg.InsertTimeout >= cfg.Rebalance/2 {
		errs = append(errs, fmt.Errorf("insert_timeout: %s is not below half of rebalance_timeout, %s", cfg.InsertTimeout, cfg.Rebalance))
	}
	return errors.Join(errs...)
}

// Run consumes until ctx ends, then inserts and commits what is in hand, for as
// long as the drain budget allows, and leaves the group. It returns an error when
// the source ends by itself.
func (s *Sink) Run(ctx context.Context) error {
	if err := s.deps.Source.Open(ctx, s); err != nil {
		return fmt.Errorf("opening the source: %w", err)
	}
	defer s.deps.Source.Close()
	err := s.poll(ctx)
	s.drain(ctx)
	return err
}

func (s *Sink) poll(ctx context.Context) error {
	for ctx.Err() == nil {
		room, err := s.budget.room(ctx, s.tight)
		if err != nil {
			return nil //nolint:nilerr // asked to stop while waiting
		}
		if err := s.deps.Source.Poll(ctx, room, s.deliver); err != nil && ctx.Err() == nil {
			return fmt.Errorf("polling: %w", err)
		}
		now := time.Now()
		s.rotate(now)
		s.stretch(now)
	}
	return nil
}

// stretch has open ranges wait longer where many partitions have something to store.
func (s *Sink) stretch(now time.Time) {
	if s.gates.inserts == 0 || now.Sub(s.stretched) < stretchEvery {
		return
	}
	s.stretched = now
	active := 0
	for _, w := range s.owned() {
		if w.active() {
			active++
		}
	}
	s.gates.stretch(active)
}

// stretchEvery is how often partitions with something to store are counted.
const stretchEvery = time.Second

// deliver hands a batch to its partition's worker. A batch without one came
// after a worker gave its partition up; it is read again.
func (s *Sink) deliver(b Batch) {
	s.mu.Lock()
	w := s.workers[b.Partition]
	s.mu.Unlock()
	if w != nil {
		w.deliver(b)
	}
}

// hurry has the fullest open ranges frozen before their time, as many as there
// are builders that do nothing. More would not be stored sooner, and the smaller
// the ranges, the dearer their inserts. It reports whether more has to be fetched
// nevertheless: nothing is on its way to be stored, and a range that was planned
// when there was more memory is not whole.
func (s *Sink) hurry() (fetch bool) {
	type waiting struct {
		worker *worker
		bytes  int64
	}
	var all []waiting
	busy := false
	for _, w := range s.owned() {
		if bytes := w.idle(); bytes > 0 {
			all = append(all, waiting{w, bytes})
		}
		fetch = fetch || w.starved()
		busy = busy || w.busy()
	}
	slices.SortStableFunc(all, func(a, b waiting) int { return cmp.Compare(b.bytes, a.bytes) })
	for _, a := range all[:min(len(all), len(s.builders))] {
		a.worker.hurry()
	}
	return fetch && !busy && len(all) == 0
}

// drain ends every worker when it has nothing in hand any more, or when the
// budget is used up.
func (s *Sink) drain(ctx context.Context) {
	workers := s.owned()
	for _, w := range workers {
		w.end(draining)
	}
	late := s.await(workers, s.cfg.DrainBudget)
	if late > 0 {
		s.deps.Log.LogAttrs(ctx, slog.LevelWarn, "stopped before everything in hand was stored; it will be read again",
			slog.Int("partitions", late), slog.Duration("drain_budget", s.cfg.DrainBudget))
	}
}

// Assigned implements Owner.
func (s *Sink) Assigned(ctx context.Context, assigned []Assignment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range assigned {
		if s.workers[a.Partition] != nil {
			continue // kept through a change of the group
		}
		w := newWorker(s, a)
		s.workers[a.Partition] = w
		w.start(ctx)
	}
	s.deps.Log.LogAttrs(ctx, slog.LevelInfo, "partitions assigned", slog.Int("new", len(assigned)), slog.Int("owned", len(s.workers)))
}

// Revoked implements Owner. An insert under way may finish and be committed, so
// that the next owner does not have to do it again; all else is dropped.
func (s *Sink) Revoked(ctx context.Context, revoked []Partition) {
	workers := s.remove(revoked)
	for _, w := range workers {
		w.end(halted)
	}
	late := s.await(workers, s.cfg.InsertTimeout)
	s.deps.Log.LogAttrs(ctx, slog.LevelInfo, "partitions revoked", slog.Int("partitions", len(workers)), slog.Int("cut_off", late))
}

// Lost implements Owner: nothing may be committed any more.
func (s *Sink) Lost(ctx context.Context, lost []Partition) {
	workers := s.remove(lost)
	s.await(workers, 0)
	s.deps.Log.LogAttrs(ctx, slog.LevelWarn, "partitions lost", slog.Int("partitions", len(workers)))
}

// Gone implements Owner.
func (s *Sink) Gone(_ context.Context, p Partition, err error) {
	s.mu.Lock()
	w := s.workers[p]
	s.mu.Unlock()
	if w != nil {
		w.gone(err)
	}
}

// WindowBytes returns the memory of the windows.
func (s *Sink) WindowBytes() int64 { return s.windows.bytes.Load() }

// WindowRoom returns the memory that the windows are given: what they take, and at least
// what their keys take at most, since full tables are made anew larger, piece by piece.
func (s *Sink) WindowRoom() int64 {
	return max(s.windows.bytes.Load(), keyBytes*s.windows.keys.Load())
}

// Positions returns how far the partitions are settled that are owned now and
// taken over.
func (s *Sink) Positions() []ledger.Position {
	var all []ledger.Position
	for _, w := range s.owned() {
		if p, ok := w.position(); ok {
			all = append(all, p)
		}
	}
	return all
}

// await waits for workers to end by themselves, then ends the rest at once. It
// returns how many those were.
func (s *Sink) await(workers []*worker, patience time.Duration) (late int) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	expired := patience <= 0
	for _, w := range workers {
		if !expired {
			select {
			case <-w.done:
			case <-timer.C:
				expired = true
			}
		}
		if expired {
			select {
			case <-w.done:
			default:
				late++
			}
			w.cancel()
		}
	}
	for _, w := range workers {
		<-w.done
		w.cancel()
	}
	return late
}

func (s *Sink) remove(ps []Partition) []*worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	var workers []*worker
	for _, p := range ps {
		if w := s.workers[p]; w != nil {
			delete(s.workers, p)
			workers = append(workers, w)
		}
	}
	return workers
}

func (s *Sink) owned() []*worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	workers := make([]*worker, 0, len(s.workers))
	for _, w := range s.workers {
		workers = append(workers, w)
	}
	slices.SortFunc(workers, func(a, b *worker) int { return int(a.partition.Index - b.partition.Index) })
	return workers
}

// recycle gives a range's memory back.
func (s *Sink) recycle(r *frozen, blocks *pool[Block]) {
	s.recycleBlocks(r, blocks)
	s.memory.held.put(r.records)
	r.records = nil
}

// recycleBlocks gives the blocks back, which are what counts of a range that is
// built, and the batches that they were made of.
func (s *Sink) recycleBlocks(r *frozen, blocks *pool[Block]) {
	s.budget.give(r.bytes)
	for _, m := range r.blocks {
		blocks.put(m.block)
	}
	r.blocks, r.batches, r.bytes = nil, nil, 0
}
