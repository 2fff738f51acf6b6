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
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
	"github.com/millrace/millrace/internal/pipeline/sink/dedup"
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
	*common

	focus buffer.Focus[*worker]
	// stretched is when the wait was last made to fit; of the poll's goroutine.
	stretched time.Time

	mu      sync.Mutex
	workers map[Partition]*worker
}

// common is what the workers of a sink share: the settings, the servers that they store
// with, and the bounds that all of them keep to together. Its fields never change.
type common struct {
	cfg      config.Sink
	deps     Deps
	metrics  *metrics
	triggers *buffer.Triggers
	budget   *buffer.Budget
	memory   *buffer.Memory
	windows  *dedup.Memory // of all windows
	owners   *ownerShares  // whose records they are
	pools    *blockPools
	builders builders
	upcoming semaphore     // ranges that are sealed and have no builder yet
	rebuilds semaphore     // windows that are read at the same time
	copying  semaphore     // ranges whose dead letters are copied out of batches at the same time
	probing  sync.Mutex    // held while rejected rows are looked for
	looks    chan struct{} // a signal to ask where the logs end, at most one pending
}

// New returns an idle Sink: it opens no connection and starts no goroutine.
func New(cfg config.Sink, deps Deps) (*Sink, error) {
	if err := validate(cfg); err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	s := &Sink{
		common: newCommon(cfg, deps), workers: map[Partition]*worker{},
		focus: buffer.NewFocus[*worker](int64(cfg.MaxMemory), int64(cfg.MaxBytes), cfg.Connections),
	}
	s.metrics = newMetrics(deps.Metrics, s)
	return s, nil
}

func newCommon(cfg config.Sink, deps Deps) *common {
	return &common{
		cfg: cfg, deps: deps, triggers: buffer.NewTriggers(cfg), budget: buffer.NewBudget(int64(cfg.MaxMemory)),
		memory: buffer.NewMemory(2 * cfg.Connections), windows: dedup.NewMemory(int64(cfg.WindowMemory)),
		owners: &ownerShares{tell: tellOwner(deps.Log)}, pools: newBlockPools(cfg.Connections+1, deps.Inserter.NewBlock),
		builders: newBuilders(cfg.Connections), upcoming: make(semaphore, cfg.Connections),
		rebuilds: make(semaphore, rebuildsAtOnce), copying: make(semaphore, cfg.Connections),
		looks: make(chan struct{}, 1),
	}
}

// rebuildsAtOnce is how many windows are read at the same time.
const rebuildsAtOnce = 2

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
		errs = append(errs, fmt.Errorf("insert_timeout is %s; it must be below half of rebalance_timeout, %s",
			cfg.InsertTimeout, cfg.Rebalance))
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
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { s.watch(watching) })
	err := s.poll(ctx)
	stop()
	s.drain(ctx)
	watch.Wait()
	return err
}

func (s *Sink) poll(ctx context.Context) error {
	for ctx.Err() == nil {
		room, err := s.budget.Room(ctx, s.tight)
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
	if !s.triggers.Stretches() || now.Sub(s.stretched) < stretchEvery {
		return
	}
	s.stretched = now
	active := 0
	for _, w := range s.owned() {
		if w.active() {
			active++
		}
	}
	s.triggers.Stretch(active)
}

// stretchEvery is how often partitions with something to store are counted.
const stretchEvery = time.Second

// tight is called when memory has run out.
func (s *Sink) tight() (fetch bool) {
	if s.focus.Begin() {
		s.rotate(time.Now())
	}
	return s.hurry()
}

// rotate ends the turns of being fetched that are over, and begins others.
func (s *Sink) rotate(now time.Time) { s.focus.Rotate(now, s.owned(), s.budget) }

// deliver hands a batch to its partition's worker. A batch without one came
// after a worker gave its partition up; it is read again.
func (s *Sink) deliver(b Delivery) {
	s.mu.Lock()
	w := s.workers[b.Partition]
	s.mu.Unlock()
	if w != nil {
		w.deliver(b)
	}
}

// hurry has the fullest open ranges sealed before their time, as many as there
// are builders that do nothing, and will do nothing once those are sealed that were
// hurried before. More would not be stored sooner, and the smaller
// the ranges, the dearer their inserts. It reports whether more has to be fetched
// nevertheless: nothing is on its way to be stored, and a range that was planned
// when there was more memory is not whole.
func (s *Sink) hurry() (fetch bool) {
	type waiting struct {
		worker *worker
		bytes  int64
	}
	var all []waiting
	busy, free := false, len(s.builders)
	for _, w := range s.owned() {
		if bytes := w.idle(); bytes > 0 {
			all = append(all, waiting{w, bytes})
		}
		fetch = fetch || w.starved()
		busy = busy || w.busy()
		if w.hurried() {
			free--
		}
	}
	slices.SortStableFunc(all, func(a, b waiting) int { return cmp.Compare(b.bytes, a.bytes) })
	for _, a := range all[:min(len(all), max(0, free))] {
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
		s.deps.Log.LogAttrs(ctx, slog.LevelWarn, "drain budget exceeded, unstored records will be read again",
			slog.Int("partitions", late), slog.Duration("drain_budget", s.cfg.DrainBudget))
	}
}

// WindowRoom returns the memory that the windows are given.
func (s *Sink) WindowRoom() int64 { return s.windows.Needed() }

// Positions returns how far the partitions are settled that are owned now and
// taken over.
func (s *Sink) Positions() []ledger.Settled {
	var all []ledger.Settled
	for _, w := range s.owned() {
		if p, ok := w.position(); ok {
			all = append(all, p)
		}
	}
	return all
}
