package quota

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/platform/lease"
)

// Meter counts stored events.
type Meter interface {
	// Used returns the events of a month by organization.
	Used(ctx context.Context, month Month) (map[string]int64, error)
}

// Store keeps quotas and what was decided.
type Store interface {
	lease.Store

	// Quotas returns every quota that was ever set or counted.
	Quotas(ctx context.Context) ([]Quota, error)
	// CountQuota applies count to an organization's quota as it is now and keeps
	// what became of it, in one transaction with the change event of a decision. It is
	// ErrNotFound when there is no such organization.
	CountQuota(ctx context.Context, organizationID string, now time.Time, count func(*Quota) Outcome) error
	// Owners returns the organization's name and the addresses of its owners.
	Owners(ctx context.Context, organizationID string) (organization string, addresses []string, err error)
}

// Mailer sends mails. Send does not wait for the mail server.
type Mailer interface {
	Send(ctx context.Context, to, subject, text string) error
}

// Times of counting.
const (
	countEvery = time.Second
	// countTime bounds one look at what is stored.
	countTime = 10 * time.Second
	// restEvery is how often counting goes on while nobody has a quota, and how old
	// a figure becomes that decides nothing before it is written down.
	restEvery = time.Minute
	// writesPerCount bounds how many such figures are written at a time, so that
	// decisions need not wait for them.
	writesPerCount = 50
)

// CounterDeps are the parts of a Counter. Without Mail no mail is sent; Meter,
// Store, Log and Metrics are required.
type CounterDeps struct {
	Meter   Meter
	Store   Store
	Mail    Mailer
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Now     func() time.Time // nil means time.Now
	// PublicURL is where people reach the query host, for mails.
	PublicURL string
}

// Counter decides whose month is used up. Of several counters on one store one
// works at a time; two that overlap for a moment decide alike.
type Counter struct {
	cfg     Config
	deps    CounterDeps
	lease   *lease.Lease
	metrics counterMetrics

	// Of whoever holds the lease:
	countedAt time.Time       // when the meter was asked last
	gone      map[string]bool // organizations that were counted and are no more
	failing   bool            // the last count failed, which was logged
}

// NewCounter returns a Counter that does nothing before Run.
func NewCounter(cfg Config, deps CounterDeps) *Counter {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	c := &Counter{cfg: cfg, deps: deps, gone: map[string]bool{}, lease: lease.New("quota-counter", deps.Store, deps.Log)}
	c.metrics = newCounterMetrics(deps.Metrics, c.lease.Held)
	return c
}

// Run counts until ctx ends, whenever no other Counter does.
func (c *Counter) Run(ctx context.Context) error {
	c.lease.Run(ctx, c.work)
	return nil
}

func (c *Counter) work(ctx context.Context) {
	c.countedAt, c.gone = time.Time{}, map[string]bool{}
	for {
		start := time.Now()
		if err := c.Step(ctx); err != nil && ctx.Err() == nil {
			c.metrics.failures.Inc()
			c.say(ctx, err)
		} else if c.failing && ctx.Err() == nil {
			c.say(ctx, nil)
		}
		select {
		// A server that needs long to count gets as long a rest.
		case <-time.After(max(countEvery, time.Since(start))):
		case <-ctx.Done():
			return
		}
	}
}

// say logs the first failure of several, and the end of them.
func (c *Counter) say(ctx context.Context, err error) {
	switch {
	case err == nil:
		c.failing = false
		c.deps.Log.LogAttrs(ctx, slog.LevelInfo, "usage counting works again")
	case !c.failing:
		c.failing = true
		c.deps.Log.LogAttrs(ctx, slog.LevelWarn, "counting usage failed, keeping the last quota decisions",
			slog.Any("error", err))
	}
}

// Step counts once, unless nobody has a quota and it counted a moment ago.
func (c *Counter) Step(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	rows, err := c.deps.Store.Quotas(ctx)
	if err != nil {
		return err
	}
	known, limited := make(map[string]*Quota, len(rows)), c.cfg.limit(&Quota{Own: Default}) != Unlimited
	for i := range rows {
		known[rows[i].OrganizationID] = &rows[i]
		limited = limited || c.cfg.limit(&rows[i]) != Unlimited || rows[i].Exceeded
	}
	now := c.deps.Now().UTC()
	if !limited && now.Sub(c.countedAt).Abs() < restEvery {
		return nil
	}
	month := MonthOf(now)
	used, err := c.deps.Meter.Used(ctx, month)
	if err != nil {
		return err
	}
	c.countedAt = now
	err = c.settle(ctx, known, used, month, now)
	c.metrics.counted.SetToCurrentTime()
	return err
}

// settle writes down what has changed: first what decides something.
func (c *Counter) settle(
	ctx context.Context, known map[string]*Quota, used map[string]int64, month Month, now time.Time,
) error {
	for id := range used {
		if known[id] == nil && !c.gone[id] && id != "" {
			known[id] = &Quota{OrganizationID: id, Own: Default}
		}
	}
	var errs []error
	var later []string
	exceeded := 0
	for id, q := range known {
		after := *q
		o := after.Count(month, used[id], c.cfg.limit(q), now)
		if after.Exceeded {
			exceeded++
		}
		switch {
		case o != (Outcome{}) || after.Noticed != q.Noticed:
			errs = append(errs, c.keep(ctx, id, used[id], month, now))
		case (after.Used != q.Used || after.Month != q.Month) && now.Sub(q.CountedAt).Abs() >= restEvery:
			later = append(later, id)
		}
	}
	c.metrics.exceeded.Set(float64(exceeded))
	for _, id := range later[:min(len(later), writesPerCount)] {
		errs = append(errs, c.keep(ctx, id, used[id], month, now))
	}
	return errors.Join(errs...)
}

// keep counts an organization in the store, and tells its owners what they are
// to know. Who dies between the two has told nobody: a notice comes once at most,
// and is in the organization's settings anyway.
func (c *Counter) keep(ctx context.Context, id string, used int64, month Month, now time.Time) error {
	var after Quota
	var outcome Outcome
	err := c.deps.Store.CountQuota(ctx, id, now, func(q *Quota) Outcome {
		outcome = q.Count(month, used, c.cfg.limit(q), now)
		after = *q
		return outcome
	})
	if errors.Is(err, ErrNotFound) {
		c.gone[id] = true
		return nil
	}
	if err != nil {
		return err
	}
	if outcome.Decided {
		c.deps.Log.LogAttrs(ctx, slog.LevelInfo, "quota state changed", slog.String("organization", id),
			slog.String("month", string(month)), slog.Bool("exceeded", after.Exceeded), slog.Int64("used", after.Used))
	}
	if outcome.Notice == 0 || c.deps.Mail == nil {
		return nil
	}
	return c.notify(ctx, &after, outcome.Notice)
}
