package analytics

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
)

// Runner executes a statement. It honours the context's deadline, refuses
// results beyond its bounds with an error, and is safe for concurrent use.
type Runner interface {
	Run(ctx context.Context, s *Statement) (*Table, error)
}

// Config bounds the execution of requests.
type Config struct {
	// Concurrency is how many statements of one HTTP request run at the same
	// time; 0 means 8.
	Concurrency int
	// Reserve is the part of the request's time that is kept for writing the
	// answer; 0 means 500 ms.
	Reserve time.Duration
}

// Deps are the parts an Engine needs; all are required.
type Deps struct {
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Runner  Runner
}

// Engine executes plans. It is safe for concurrent use.
type Engine struct {
	cfg     Config
	deps    Deps
	metrics metrics
}

const (
	defaultConcurrency = 8
	defaultReserve     = 500 * time.Millisecond
)

// NewEngine returns an engine. It opens nothing.
func NewEngine(cfg Config, deps Deps) *Engine {
	if cfg.Concurrency <= 0 {
		cfg.Concurrency = defaultConcurrency
	}
	if cfg.Reserve <= 0 {
		cfg.Reserve = defaultReserve
	}
	return &Engine{cfg: cfg, deps: deps, metrics: newMetrics(deps.Metrics)}
}

// Result is the answer of one statement: a table, or the reason why there is
// none, which is not for callers to see.
type Result struct {
	Statement *Statement
	Table     *Table
	Err       error
}

// Execute runs every statement of the plans and returns the results in their
// order. A failure is logged here and concerns its own result only.
func (e *Engine) Execute(ctx context.Context, plans []Plan) [][]Result {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-e.cfg.Reserve))
		defer cancel()
	}
	all := make([][]Result, len(plans))
	var g errgroup.Group
	g.SetLimit(e.cfg.Concurrency)
	for i := range plans {
		all[i] = make([]Result, len(plans[i].Statements))
		for j := range plans[i].Statements {
			s, r := &plans[i].Statements[j], &all[i][j]
			g.Go(func() error {
				*r = e.run(ctx, s)
				return nil
			})
		}
	}
	_ = g.Wait() // every error stands in its result
	return all
}

func (e *Engine) run(ctx context.Context, s *Statement) Result {
	start := time.Now()
	table, err := e.deps.Runner.Run(ctx, s)
	e.metrics.seconds.WithLabelValues(s.Type.Name).Observe(time.Since(start).Seconds())
	if err != nil {
		e.metrics.failures.WithLabelValues(s.Type.Name).Inc()
		e.deps.Log.LogAttrs(ctx, slog.LevelError, "query failed", slog.String("type", s.Type.Name), slog.Any("error", err))
		return Result{Statement: s, Err: err}
	}
	e.metrics.rows.WithLabelValues(s.Type.Name).Add(float64(table.Rows))
	return Result{Statement: s, Table: table}
}
