package analytics

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/millrace/millrace/internal/platform/fair"
)

// Runner executes a statement. It honours the context's deadline, rejects
// results beyond its bounds with an error, and is safe for concurrent use.
type Runner interface {
	Run(ctx context.Context, s *Statement) (*Table, error)
}

// Config bounds the execution of requests. A zero field means the default.
type Config struct {
	// Slots is how many statements run at the same time; 16.
	Slots int
	// OwnerSlots is how many of one subject; 8.
	OwnerSlots int
	// Queue is how many statements may wait for a slot, of all subjects; 1024.
	Queue int
	// TenantQueue is how many of the subjects of one organization; half of Queue, and no
	// fewer than OwnerQueue.
	TenantQueue int
	// OwnerQueue is how many of one subject; 256. It holds at least one request of the
	// largest size.
	OwnerQueue int
	// MaxTime ends a statement; 25 s.
	MaxTime time.Duration
	// Reserve is the part of the request's time that is kept for writing the
	// response; 500 ms.
	Reserve time.Duration
	// MaxResultBytes is how much memory the results of one HTTP request may hold
	// together, from when they are there; what does not fit then fails. 64 MiB.
	MaxResultBytes int
	// CacheBytes is how much memory the responses may take that are kept; 0 keeps none.
	CacheBytes int64
}

func (c Config) withDefaults() Config {
	c.Slots, c.OwnerSlots = cmp.Or(c.Slots, 16), cmp.Or(c.OwnerSlots, 8)
	c.Queue, c.OwnerQueue = cmp.Or(c.Queue, 1024), max(cmp.Or(c.OwnerQueue, 256), MaxRequests*MaxParameters)
	c.Queue = max(c.Queue, c.OwnerQueue)
	c.TenantQueue = max(cmp.Or(c.TenantQueue, c.Queue/2), c.OwnerQueue)
	c.MaxTime = cmp.Or(c.MaxTime, 25*time.Second)
	c.Reserve = cmp.Or(c.Reserve, 500*time.Millisecond)
	c.MaxResultBytes = cmp.Or(c.MaxResultBytes, 64<<20)
	return c
}

// Deps are the parts an Engine needs; all but Tracer and Versions are required.
type Deps struct {
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Tracer  trace.Tracer
	Runner  Runner
	// Versions tells of what state of the data a response is; nil keeps no responses.
	Versions Versions
}

// Engine executes plans. It is safe for concurrent use.
//
// What is asked twice is answered from memory as long as the data has not changed,
// and what is asked twice at the same time runs once. What runs takes a slot, which
// organizations get in turn, and the subjects of each, so that one with many questions
// does not hold up the others.
type Engine struct {
	cfg      Config
	deps     Deps
	metrics  metrics
	slots    *fair.Scheduler
	flights  *flights
	versions *versions // nil without Deps.Versions
	results  *results  // nil when nothing is kept
}

// NewEngine returns an engine. It opens nothing; Close frees the memory.
func NewEngine(cfg Config, deps Deps) *Engine {
	cfg = cfg.withDefaults()
	if deps.Tracer == nil {
		deps.Tracer = noop.NewTracerProvider().Tracer("")
	}
	e := &Engine{
		cfg: cfg, deps: deps, metrics: newMetrics(deps.Metrics), flights: newFlights(),
		slots: fair.New(fair.Config{
			Slots: cfg.Slots, PerOwner: cfg.OwnerSlots,
			Queue: cfg.Queue, TenantQueue: cfg.TenantQueue, OwnerQueue: cfg.OwnerQueue,
		}, deps.Metrics),
	}
	if deps.Versions != nil {
		e.versions = newVersions(deps.Versions)
		if cfg.CacheBytes > 0 {
			e.results = newResults(cfg.CacheBytes, deps.Metrics)
		}
	}
	return e
}

// Close frees the memory of the responses that are kept.
func (e *Engine) Close() {
	if e.results != nil {
		e.results.close()
	}
}

// Result is the response of one parameter: a table, or the reason why there is none.
// The table may be another caller's too: it is not to be changed.
type Result struct {
	Output    *Output
	Statement *Statement // nil for one that is rejected
	Table     *Table
	// Err is not for callers to see; Failure is.
	Err error
}

// Failure is what callers see of the error; nil without one.
func (r *Result) Failure() *Failure {
	if r.Err == nil {
		return nil
	}
	return failureOf(r.Err)
}

// Execute runs every statement of the plans and returns the results of their outputs
// in their order. A failure is logged here and concerns only what its statement
// computes; what finds no place to run has that of Execution.Begin.
func (e *Engine) Execute(ctx context.Context, plans []Plan) [][]Result {
	x := e.Prepare(ctx, plans, Freshness{})
	rejected := x.Begin(ctx)
	defer x.Close()
	all := make([][]Result, len(plans))
	for i := range plans {
		all[i] = make([]Result, len(plans[i].Outputs))
		for j := range all[i] {
			if rejected != nil {
				all[i][j] = Result{Output: &plans[i].Outputs[j], Err: rejected}
				continue
			}
			all[i][j] = x.Wait(ctx, i, j)
		}
	}
	return all
}

// fly runs a statement in its turn and lands the flight.
func (e *Engine) fly(f *flight, s *Statement, claim *fair.Claim, life time.Duration) {
	defer claim.Release()
	if err := claim.Acquire(f.ctx); err != nil {
		_ = e.flights.land(f, nil, err)
		return
	}
	ctx, cancel := context.WithTimeout(f.ctx, e.cfg.MaxTime)
	defer cancel()
	t, err := e.run(ctx, f, s)
	if err == nil && life > 0 && e.results != nil {
		e.results.put(f.key, t, life)
	}
	if tooLarge := e.flights.land(f, t, err); tooLarge != nil {
		e.failed(ctx, s, tooLarge)
	}
}

// run executes one statement. That nobody waits any more is no failure of it.
func (e *Engine) run(ctx context.Context, f *flight, s *Statement) (*Table, error) {
	ctx, span := e.deps.Tracer.Start(ctx, "query "+s.Type.Name,
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
			semconv.DBSystemNameClickHouse, semconv.DBOperationName("SELECT"), semconv.DBQuerySummary("query "+s.Type.Name),
		))
	defer span.End()
	start := time.Now()
	table, err := e.deps.Runner.Run(ctx, s)
	e.metrics.seconds.WithLabelValues(s.Type.Name).Observe(time.Since(start).Seconds())
	if err != nil {
		span.SetStatus(codes.Error, "")
		if f.ctx.Err() == nil {
			e.failed(ctx, s, err)
		}
		return nil, err
	}
	e.metrics.rows.WithLabelValues(s.Type.Name).Add(float64(table.Rows))
	return table, nil
}

// failed logs and counts a parameter that has no response.
func (e *Engine) failed(ctx context.Context, s *Statement, err error) {
	f := failureOf(err)
	e.metrics.failures.WithLabelValues(s.Type.Name, f.Code).Inc()
	e.deps.Log.LogAttrs(ctx, slog.LevelError, "query failed",
		slog.String("type", s.Type.Name), slog.String("code", f.Code), slog.Any("error", err))
}
