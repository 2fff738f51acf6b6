package analytics

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
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
	// MaxResultBytes is how much memory the results of one HTTP request may hold
	// together; what comes after that fails. 0 means 64 MiB.
	MaxResultBytes int
}

// Deps are the parts an Engine needs; all but Tracer are required.
type Deps struct {
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Tracer  trace.Tracer
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
	defaultResultBytes = 64 << 20
)

var errResultsTooLarge = errors.New("the results of the request are too large together")

// NewEngine returns an engine. It opens nothing.
func NewEngine(cfg Config, deps Deps) *Engine {
	if cfg.Concurrency <= 0 {
		cfg.Concurrency = defaultConcurrency
	}
	if cfg.Reserve <= 0 {
		cfg.Reserve = defaultReserve
	}
	if cfg.MaxResultBytes <= 0 {
		cfg.MaxResultBytes = defaultResultBytes
	}
	if deps.Tracer == nil {
		deps.Tracer = noop.NewTracerProvider().Tracer("")
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
	var held atomic.Int64
	var g errgroup.Group
	g.SetLimit(e.cfg.Concurrency)
	for i := range plans {
		all[i] = make([]Result, len(plans[i].Statements))
		for j := range plans[i].Statements {
			s, r := &plans[i].Statements[j], &all[i][j]
			g.Go(func() error {
				*r = e.run(ctx, s, &held)
				return nil
			})
		}
	}
	_ = g.Wait() // every error stands in its result
	return all
}

// run executes one statement. held counts the bytes of all results of the
// request.
func (e *Engine) run(ctx context.Context, s *Statement, held *atomic.Int64) Result {
	ctx, span := e.deps.Tracer.Start(ctx, "query "+s.Type.Name,
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attribute.String("query.type", s.Type.Name)))
	defer span.End()
	start := time.Now()
	table, err := e.deps.Runner.Run(ctx, s)
	if err == nil && held.Add(int64(table.Bytes())) > int64(e.cfg.MaxResultBytes) {
		err = errResultsTooLarge
	}
	e.metrics.seconds.WithLabelValues(s.Type.Name).Observe(time.Since(start).Seconds())
	if err != nil {
		span.SetStatus(codes.Error, "")
		e.metrics.failures.WithLabelValues(s.Type.Name).Inc()
		e.deps.Log.LogAttrs(ctx, slog.LevelError, "query failed", slog.String("type", s.Type.Name), slog.Any("error", err))
		return Result{Statement: s, Err: err}
	}
	e.metrics.rows.WithLabelValues(s.Type.Name).Add(float64(table.Rows))
	return Result{Statement: s, Table: table}
}
