package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Config bounds what a Reconciler does; all fields are required.
type Config struct {
	// Interval is the time between the beginnings of two rounds.
	Interval time.Duration
	// Settle is how far apart two looks at a pair are, at least: more than twice the
	// longest time that one insert may take.
	Settle time.Duration
	// Pairs is how many pairs are looked at in a round.
	Pairs int
}

// Deps are the parts a Reconciler needs; all are required.
type Deps struct {
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Store   Store
	// Settled returns the partitions that this process owns now.
	Settled func() []Settled
	// Remembered returns what the tables remember of insert tokens.
	Remembered func(ctx context.Context) (InsertTokenMemory, error)
}

const (
	// entriesAtOnce is how many entries are read at a time, pagesPerRound how often
	// for one partition: after a long pause, others have their turn too.
	entriesAtOnce = 2_000
	pagesPerRound = 10
	// maxWaiting is how many pairs wait at most. Beyond it those of later entries are noted
	// when some were looked at; the mark stays before them. What entries cover is checked all
	// the same.
	maxWaiting = 200_000
	// pairsAtOnce is how many pairs one statement asks about.
	pairsAtOnce = 200
	// A pair that is never quiet is looked at twice after busyFirst, and twice again after
	// each busyEvery: its count is over a day of a website's events, too much for every
	// round.
	busyFirst = 5 * time.Minute
	busyEvery = time.Hour
	// gapsPerRound is how many known gaps of a partition are looked at again.
	gapsPerRound = 100
	// clearsPerRound is how many listed days are looked at again.
	clearsPerRound = 50
)

// Reconciler checks the ledger and the rollups of the partitions that this
// process owns. Run it once; its methods are called from one goroutine.
type Reconciler struct {
	cfg     Config
	deps    Deps
	metrics *metrics

	maxWaiting int // pairs

	partitions map[Partition]*partition
	equal      map[Touched]time.Time // listed days that no longer differed, since when
}

// New returns a Reconciler that has read nothing yet.
func New(cfg Config, deps Deps) (*Reconciler, error) {
	if cfg.Interval <= 0 || cfg.Settle <= 0 || cfg.Pairs < 1 {
		return nil, errors.New("ledger: interval, settle and pairs must be positive")
	}
	return &Reconciler{
		cfg: cfg, deps: deps, metrics: newMetrics(deps.Metrics), maxWaiting: maxWaiting,
		partitions: map[Partition]*partition{}, equal: map[Touched]time.Time{},
	}, nil
}

// Run makes a round at every interval until ctx ends. A round that fails is
// logged, and what it did not get to is left for the next one.
func (r *Reconciler) Run(ctx context.Context) error {
	tick := time.NewTicker(r.cfg.Interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		if err := r.Round(ctx); err != nil && ctx.Err() == nil {
			r.deps.Log.LogAttrs(ctx, slog.LevelWarn, "reconciliation failed, retrying", slog.Any("error", err))
		}
	}
}

// Round checks what was settled since the round before, as far as it is its turn.
// What concerns one partition does not keep it from the others.
func (r *Reconciler) Round(ctx context.Context) error {
	positions := r.deps.Settled()
	r.forget(positions)
	var errs []error
	for i := range positions {
		if err := r.cover(ctx, &positions[i]); err != nil {
			errs = append(errs, fmt.Errorf("checking %s/%d: %w", positions[i].Topic, positions[i].Partition, err))
		}
	}
	errs = append(errs, r.agree(ctx), r.clearEqual(ctx), r.keepMarks(ctx), r.measure(ctx, positions))
	err := errors.Join(errs...)
	r.metrics.round(err, time.Now())
	return err
}

// forget drops what is known of partitions that belong to somebody else now. The
// marks tell the new owner where to go on.
func (r *Reconciler) forget(positions []Settled) {
	owned := make(map[Partition]bool, len(positions))
	for i := range positions {
		owned[positions[i].partition()] = true
	}
	for p := range r.partitions {
		if !owned[p] {
			delete(r.partitions, p)
		}
	}
}

// keepMarks stores the marks that have moved. A mark that another reconciler
// moved further meanwhile may fall back by this; then some entries are checked
// twice, which finds the same.
func (r *Reconciler) keepMarks(ctx context.Context) error {
	var marks []Mark
	for p, s := range r.partitions {
		if m := s.mark(); m.Compare(s.kept) > 0 {
			marks = append(marks, Mark{p, m})
		}
	}
	if len(marks) == 0 {
		return nil
	}
	if err := r.deps.Store.SetMarks(ctx, marks); err != nil {
		return fmt.Errorf("storing %d marks: %w", len(marks), err)
	}
	for _, m := range marks {
		r.partitions[m.Partition].kept = m.Cursor
	}
	return nil
}

// measure sets the metrics that tell how things are.
func (r *Reconciler) measure(ctx context.Context, positions []Settled) error {
	var waiting int
	var missing, behind int64
	for i := range positions {
		if s := r.partitions[positions[i].partition()]; s != nil {
			waiting += len(s.pairs)
			missing += s.missing()
			behind += max(0, positions[i].Next-s.cursor.Next)
		}
	}
	r.metrics.waiting.Set(float64(waiting))
	r.metrics.gapOffsets.Set(float64(missing))
	r.metrics.behind.Set(float64(behind))
	dirty, err := r.deps.Store.Dirty(ctx)
	if err != nil {
		return fmt.Errorf("counting dirty days: %w", err)
	}
	r.metrics.dirty.Set(float64(dirty))
	rate, err := r.deps.Store.InsertRate(ctx)
	if err != nil {
		return fmt.Errorf("measuring inserts: %w", err)
	}
	remembered, err := r.deps.Remembered(ctx)
	if err != nil {
		return fmt.Errorf("reading the number of remembered tokens: %w", err)
	}
	r.metrics.rate.Set(rate)
	r.metrics.horizon.Set(remembered.Horizon(rate).Seconds())
	return nil
}
