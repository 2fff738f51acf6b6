package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/chpool"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/sony/gobreaker/v2"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/config"
)

// RunnerConfig bounds what the statements of a query host may take. A zero field
// means the default.
type RunnerConfig struct {
	// Connections is how many statements run at the same time; one more waits
	// for its turn. 16.
	Connections int
	// MaxTime ends a statement whose context has no earlier deadline. 30 s.
	MaxTime time.Duration
	// MaxMemoryBytes is what one statement may use on the server. 4 GiB.
	MaxMemoryBytes int64
	// MaxResultBytes is the largest result of one statement, uncompressed; a
	// larger one is an error. 32 MiB.
	MaxResultBytes int64
}

func (c RunnerConfig) withDefaults() RunnerConfig {
	if c.Connections <= 0 {
		c.Connections = 16
	}
	if c.MaxTime <= 0 {
		c.MaxTime = 30 * time.Second
	}
	if c.MaxMemoryBytes <= 0 {
		c.MaxMemoryBytes = 4 << 30
	}
	if c.MaxResultBytes <= 0 {
		c.MaxResultBytes = 32 << 20
	}
	return c
}

// The breaker of a server that does not answer, not worth a setting.
const (
	breakerTrips = 5           // failures one after the other
	breakerPause = time.Second // before it is asked again
)

// serverShare is the part of the time left that the server may use.
const serverShare = 0.9

// Runner executes statements on a pool of connections. It implements
// analytics.Runner. Connections are made when they are needed.
type Runner struct {
	cfg      RunnerConfig
	pool     *chpool.Pool
	settings []ch.Setting
	breaker  *gobreaker.CircuitBreaker[*analytics.Table]
}

// NewRunner returns a Runner for the servers of cfg. It connects to nothing; Close
// ends it.
func NewRunner(ctx context.Context, cfg config.ClickHouse, bounds RunnerConfig) (*Runner, error) {
	bounds = bounds.withDefaults()
	pool, err := chpool.New(ctx, chpool.Options{
		ClientOptions:   Options(cfg),
		MaxConns:        int32(min(bounds.Connections, 1<<10)),
		MaxConnIdleTime: maxIdle,
	})
	if err != nil {
		return nil, fmt.Errorf("making the pool of ClickHouse connections: %w", err)
	}
	return &Runner{
		cfg: bounds, pool: pool,
		settings: []ch.Setting{
			// Reads only, whatever a statement says; settings may still be sent.
			{Key: "readonly", Value: "2", Important: true},
			{Key: "max_memory_usage", Value: strconv.FormatInt(bounds.MaxMemoryBytes, 10), Important: true},
			{Key: "max_result_rows", Value: strconv.Itoa(analytics.MaxLimit), Important: true},
			{Key: "max_result_bytes", Value: strconv.FormatInt(bounds.MaxResultBytes, 10), Important: true},
			{Key: "result_overflow_mode", Value: "throw", Important: true},
			// The catalogue relies on these, whatever the server's profile says.
			{Key: "join_use_nulls", Value: "0", Important: true},
			{Key: "prefer_column_name_to_alias", Value: "0", Important: true},
			{Key: "timeout_overflow_mode", Value: "throw", Important: true},
		},
		breaker: gobreaker.NewCircuitBreaker[*analytics.Table](gobreaker.Settings{
			Name: "clickhouse-reads", Timeout: breakerPause,
			ReadyToTrip:  func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= breakerTrips },
			IsSuccessful: answered,
		}),
	}, nil
}

// Close closes every connection once it is no longer used.
func (r *Runner) Close() { r.pool.Close() }

// Ping reports whether a server answers.
func (r *Runner) Ping(ctx context.Context) error {
	if err := r.pool.Ping(ctx); err != nil {
		return fmt.Errorf("pinging ClickHouse: %w", err)
	}
	return nil
}

// errBusy means that no connection became free in time.
var errBusy = errors.New("every ClickHouse connection is in use")

// answered reports whether the server did its part: an exception is an answer,
// and neither a caller that went away nor a queue of our own says anything about
// the server.
func answered(err error) bool {
	_, isException := ch.AsException(err)
	return err == nil || isException || errors.Is(err, context.Canceled) || errors.Is(err, errBusy)
}

// Run implements analytics.Runner.
func (r *Runner) Run(ctx context.Context, s *analytics.Statement) (*analytics.Table, error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.MaxTime)
	defer cancel()
	t, err := r.breaker.Execute(func() (*analytics.Table, error) {
		t, err := r.once(ctx, s)
		// A kept connection may have been closed by the server meanwhile. Reading
		// again is harmless, and a new connection is tried only once.
		if err != nil && !answered(err) && ctx.Err() == nil {
			t, err = r.once(ctx, s)
		}
		return t, err
	})
	if err != nil {
		return nil, fmt.Errorf("running %s: %w", s.Type.Name, err)
	}
	return t, nil
}

func (r *Runner) once(ctx context.Context, s *analytics.Statement) (*analytics.Table, error) {
	c, err := r.pool.Acquire(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, errors.Join(errBusy, err)
	}
	if err != nil {
		return nil, fmt.Errorf("connecting to ClickHouse: %w", err)
	}
	var in proto.Results
	out := newCollector(s.Type)
	err = c.Do(ctx, ch.Query{
		Body: s.SQL, Parameters: parameters(s.Params), Settings: r.settingsFor(ctx),
		Result:   in.Auto(),
		OnResult: func(context.Context, proto.Block) error { return out.add(in) },
	})
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	c.Release()
	return out.table, nil
}

// settingsFor gives the server most of the time that is left: it stops working
// before nobody waits any more, and says so, which tells it from one that hangs.
func (r *Runner) settingsFor(ctx context.Context) []ch.Setting {
	left := r.cfg.MaxTime
	if deadline, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(deadline))
	}
	seconds := strconv.FormatFloat(max(left.Seconds()*serverShare, 0.001), 'f', 3, 64)
	return append(slices.Clip(r.settings), ch.Setting{Key: "max_execution_time", Value: seconds, Important: true})
}

// quote protects a parameter on its way through the native protocol, where it
// travels as a quoted literal.
var quote = strings.NewReplacer(`\`, `\\`, `'`, `\'`)

func parameters(params []analytics.Param) []proto.Parameter {
	all := make([]proto.Parameter, len(params))
	for i, p := range params {
		all[i] = proto.Parameter{Key: p.Name, Value: "'" + quote.Replace(p.Text) + "'"}
	}
	return all
}
