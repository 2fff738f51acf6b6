package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/analytics/export"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/places"
)

// Config bounds exports. A zero field means the default.
type Config struct {
	// Max is how many run at the same time. 8.
	Max int
	// MaxPerOrganization is how many of them are one organization's. 2.
	MaxPerOrganization int
	// Deadline cuts one off. 30 minutes.
	Deadline time.Duration
}

func (c Config) withDefaults() Config {
	if c.Max <= 0 {
		c.Max = 8
	}
	if c.MaxPerOrganization <= 0 {
		c.MaxPerOrganization = 2
	}
	if c.Deadline <= 0 {
		c.Deadline = 30 * time.Minute
	}
	return c
}

// fullWait is what a caller is told to wait when too many exports run; none says
// when it ends.
const fullWait = 30 * time.Second

// Exporter runs exports.
type Exporter struct {
	cfg     Config
	source  export.Source
	metrics *metrics
	places  *places.Places
}

// NewExporter returns an Exporter that reads from source.
func NewExporter(cfg Config, source export.Source, reg prometheus.Registerer) *Exporter {
	e := &Exporter{cfg: cfg.withDefaults(), source: source}
	e.places = places.New(e.cfg.Max)
	e.metrics = newMetrics(reg, e)
	return e
}

// Deadline is how long an export may take.
func (e *Exporter) Deadline() time.Duration { return e.cfg.Deadline }

// Begin takes a slot for an export of an organization by a caller, a key or a user; End gives it back. A
// user of several organizations has as many slots as one organization. It returns a RateLimited error
// when no slot is free.
func (e *Exporter) Begin(organizationID, callerID string, q *export.Query) (*Export, error) {
	most := e.cfg.MaxPerOrganization
	leave, err := e.places.Enter(places.Share{Of: organizationID, Most: most}, places.Share{Of: callerID, Most: most})
	if share, ok := errors.AsType[*places.ShareError](err); ok {
		if e.metrics.rejected.WithLabelValues(reasonOrganization).Inc(); share.Of == callerID {
			return nil, full("Too many of your exports are running", most)
		}
		return nil, full("Too many exports of this organization are running", most)
	}
	if err != nil {
		e.metrics.rejected.WithLabelValues(reasonProcess).Inc()
		return nil, full("Too many exports are running", e.cfg.Max)
	}
	return &Export{exporter: e, leave: leave, query: q}, nil
}

func full(message string, limit int) error {
	return &apierr.Error{
		Code: apierr.RateLimited, Message: message, RetryAfter: fullWait,
		Rate: &apierr.Rate{Limit: limit, Reset: time.Now().Add(fullWait)},
	}
}

// Export is one export that has a slot. Its methods are for one goroutine after
// the other.
type Export struct {
	exporter *Exporter
	leave    func()
	query    *export.Query
	rows     int
	last     *export.RowKey
}

// Write writes the export to w, and nothing before the first rows are there. The
// source is no longer read once w fails.
func (x *Export) Write(ctx context.Context, w io.Writer) error {
	q := x.query
	enc, err := newEncoder(w, q)
	if err != nil {
		return err
	}
	var failed error // of w
	err = x.exporter.source.Read(ctx, q, func(b *export.Block) error {
		if b.Rows == 0 {
			return nil
		}
		if err := enc.block(b); err != nil {
			failed = err
			return err
		}
		x.rows += b.Rows
		x.last = b.RowKey(b.Rows - 1)
		x.exporter.metrics.rows.WithLabelValues(q.Kind.Name, q.Format.Name).Add(float64(b.Rows))
		return nil
	})
	switch {
	case failed != nil:
		return failed
	case errors.Is(err, context.DeadlineExceeded):
		return apierr.Wrap(apierr.DeadlineExceeded, err)
	case errors.Is(err, export.ErrUnavailable):
		return apierr.Wrap(apierr.ServiceUnavailable, err)
	case err != nil:
		return fmt.Errorf("exporting %s: %w", q.Kind.Name, err)
	}
	return enc.end(x.NextCursor())
}

// Rows is how many rows were written by now.
func (x *Export) Rows() int { return x.rows }

// NextCursor goes on after the last row of a page that is as long as its limit;
// it is empty for an export that has reached the end of its range.
func (x *Export) NextCursor() string {
	if x.last == nil || x.query.Limit == 0 || x.rows < x.query.Limit {
		return ""
	}
	return x.query.CursorAfter(x.last)
}

// End gives the slot back.
func (x *Export) End() { x.leave() }
