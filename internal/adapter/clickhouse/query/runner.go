package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/sony/gobreaker/v2"
	"golang.org/x/sync/singleflight"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/platform/config"
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
	// MaxRows is how many rows a statement may read; 4e9.
	MaxRows int64
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
	if c.MaxRows <= 0 {
		c.MaxRows = 4e9
	}
	return c
}

// serverShare is the part of the time left that the server may use.
const serverShare = 0.9

// maxQueryBytes bounds the text of a statement.
const maxQueryBytes = 1 << 20

// Runner executes statements on a pool of connections. It implements
// analytics.Runner. Connections are made when they are needed.
type Runner struct {
	cfg      RunnerConfig
	servers  config.ClickHouse
	conns    *clickhouse.Pool
	slots    chan struct{} // one of each statement under way
	settings []ch.Setting
	breaker  *gobreaker.CircuitBreaker[*analytics.Table]
	probing  singleflight.Group
}

// NewRunner returns a Runner for the servers of cfg. It connects to nothing; Close
// ends it.
func NewRunner(cfg config.ClickHouse, bounds RunnerConfig) *Runner {
	bounds = bounds.withDefaults()
	return &Runner{
		cfg: bounds, servers: cfg, conns: clickhouse.NewPool(cfg), slots: make(chan struct{}, bounds.Connections),
		settings: []ch.Setting{
			// Reads only, whatever a statement says; settings may still be sent.
			{Key: "readonly", Value: "2", Important: true},
			{Key: "max_memory_usage", Value: strconv.FormatInt(bounds.MaxMemoryBytes, 10), Important: true},
			// What counts by many values, such as those of properties, goes on on disk
			// before it takes all that it may of the memory. From half of it on, a table
			// that doubles is too much; from a quarter on, millions of sessions take a
			// third longer.
			{
				Key: "max_bytes_before_external_group_by", Value: strconv.FormatInt(bounds.MaxMemoryBytes/8*3, 10), Important: true,
			},
			{Key: "max_bytes_before_external_sort", Value: strconv.FormatInt(bounds.MaxMemoryBytes/4, 10), Important: true},
			// The sessions of a sample fit into one hash table. By default the server cuts
			// it up from 100,000 on, which costs a question about totals a tenth of its time.
			{Key: "group_by_two_level_threshold", Value: "200000"},
			{Key: "max_result_rows", Value: strconv.Itoa(analytics.MaxLimit), Important: true},
			{Key: "max_result_bytes", Value: strconv.FormatInt(bounds.MaxResultBytes, 10), Important: true},
			{Key: "result_overflow_mode", Value: "throw", Important: true},
			{Key: "max_rows_to_read", Value: strconv.FormatInt(bounds.MaxRows, 10), Important: true},
			{Key: "read_overflow_mode", Value: "throw", Important: true},
			// A funnel that is compared and has as many filters as there may be is longer than
			// the server takes by default, which is 256 KiB.
			{Key: "max_query_size", Value: strconv.Itoa(maxQueryBytes), Important: true},
			// The catalogue relies on these, whatever the server's profile says.
			{Key: "join_use_nulls", Value: "0", Important: true},
			{Key: "prefer_column_name_to_alias", Value: "0", Important: true},
			{Key: "timeout_overflow_mode", Value: "throw", Important: true},
		},
		breaker: newBreaker(),
	}
}

// Close closes every connection once it is no longer used.
func (r *Runner) Close() { _ = r.conns.Close() } // it has nothing to say

// Ping reports whether a server answers.
func (r *Runner) Ping(ctx context.Context) error { return r.conns.Ping(ctx) }

// errBusy means that no connection became free in time.
var errBusy = errors.New("every ClickHouse connection is in use")

// Run implements analytics.Runner.
func (r *Runner) Run(ctx context.Context, s *analytics.Statement) (*analytics.Table, error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.MaxTime)
	defer cancel()
	if err := r.probe(ctx); err != nil {
		return nil, fmt.Errorf("running %s: %w", s.Type.Name, judge(ctx, err))
	}
	t, err := r.breaker.Execute(func() (*analytics.Table, error) {
		t, err := r.once(ctx, s)
		// A kept connection may have been closed by the server meanwhile. Reading
		// again is harmless, and a new connection is tried only once.
		if err != nil && silent(err) && ctx.Err() == nil && r.worthAgain(err) {
			t, err = r.once(ctx, s)
		}
		return t, withCause(ctx, err)
	})
	if err != nil {
		return nil, fmt.Errorf("running %s: %w", s.Type.Name, judge(ctx, err))
	}
	return t, nil
}

func (r *Runner) once(ctx context.Context, s *analytics.Statement) (*analytics.Table, error) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return nil, errors.Join(errBusy, ctx.Err())
	}
	out := newCollector(s.Columns)
	err := r.conns.UseAt(ctx, 0, func(c *clickhouse.Client, addr string) error {
		return r.attended(ctx, addr, func(ctx context.Context, heard func()) error {
			var in proto.Results
			return c.Do(ctx, ch.Query{
				Body: s.SQL, Parameters: parameters(s.Params), Settings: r.settingsFor(ctx),
				Result:     in.Auto(),
				OnResult:   func(context.Context, proto.Block) error { return out.add(in) },
				OnProgress: func(context.Context, proto.Progress) error { heard(); return nil },
			})
		})
	})
	if err != nil {
		return nil, err
	}
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

func parameters(params []analytics.Param) []proto.Parameter {
	all := make([]proto.Parameter, len(params))
	for i, p := range params {
		all[i] = proto.Parameter{Key: p.Name, Value: "'" + clickhouse.Quote.Replace(p.Text) + "'"}
	}
	return all
}
