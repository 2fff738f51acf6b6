package quota

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/audit"
)

// Cell is what an owner has sent on a day: a website, or the organization itself
// with events of no website.
type Cell struct {
	OwnerID string
	Day     time.Time // its first instant, UTC
	Events  int64
}

// UsageStore answers what is asked about usage.
type UsageStore interface {
	// Cells returns what an organization has sent in a month, and only what one
	// owner has unless ownerID is empty, ordered by owner and day.
	Cells(ctx context.Context, organizationID, ownerID string, month Month) ([]Cell, error)
}

// Quotas keeps quotas for those who look at them and set them.
type Quotas interface {
	// QuotaOf returns an organization's quota, or ErrNotFound.
	QuotaOf(ctx context.Context, organizationID string) (*Quota, error)
	// SetQuota gives an organization a quota of its own, or Default.
	SetQuota(ctx context.Context, by audit.By, organizationID string, events int64, now time.Time) (*Quota, error)
}

// Config says what organizations may do.
type Config struct {
	// Default is the quota of organizations without one of their own; Unlimited
	// for none.
	Default int64
	// Off takes every quota away, as somebody else decides. What is used is
	// counted all the same.
	Off bool
}

// limit is the quota that holds for an organization.
func (c Config) limit(q *Quota) int64 {
	if c.Off {
		return Unlimited
	}
	return q.Limit(c.Default)
}

// Service answers what people ask about quotas and usage. It is safe for
// concurrent use.
type Service struct {
	cfg    Config
	quotas Quotas
	usage  UsageStore
	now    func() time.Time
}

// NewService returns a Service; usage may be nil where only quotas are asked for.
// A nil now means time.Now.
func NewService(cfg Config, quotas Quotas, usage UsageStore, now func() time.Time) *Service {
	if now == nil {
		now = time.Now
	}
	return &Service{cfg: cfg, quotas: quotas, usage: usage, now: now}
}

// Standing is how an organization stands in the current month.
type Standing struct {
	Quota

	Events int64 // the quota that holds; Unlimited for none
}

// Of returns how an organization stands, or ErrNotFound. What was counted of an
// earlier month is not told.
func (s *Service) Of(ctx context.Context, organizationID string) (*Standing, error) {
	q, err := s.quotas.QuotaOf(ctx, organizationID)
	if err != nil {
		return nil, err
	}
	return s.standing(q), nil
}

// Set gives an organization a quota: a number of events, Unlimited or Default. It
// returns ErrNotFound or a Validation error.
func (s *Service) Set(ctx context.Context, by audit.By, organizationID string, events int64) (*Standing, error) {
	if err := CheckEvents(events); err != nil {
		return nil, err
	}
	q, err := s.quotas.SetQuota(ctx, by, organizationID, events, s.now().UTC())
	if err != nil {
		return nil, err
	}
	return s.standing(q), nil
}

func (s *Service) standing(q *Quota) *Standing {
	if month := MonthOf(s.now()); q.Month != month {
		q.Month, q.Used, q.Exceeded, q.Noticed, q.CountedAt = month, 0, false, 0, time.Time{}
	}
	return &Standing{Quota: *q, Events: s.cfg.limit(q)}
}

// MaxReported is how many owners a report lists, those with the most events.
const MaxReported = 100

// Report is what an organization has sent in a month.
type Report struct {
	Month  Month
	Events int64
	Days   []Day   // that have events, in order
	Owners []Owner // with the most events first, MaxReported at most
	// Others are those beyond, and OtherEvents what they have sent.
	Others      int
	OtherEvents int64
}

// Day is what was sent on a day.
type Day struct {
	Day    time.Time
	Events int64
}

// Owner is what one owner has sent.
type Owner struct {
	ID     string
	Events int64
	Days   []Day
}

// Report returns what an organization has sent in a month, the current one when
// month is empty; only what an owner has, unless ownerID is empty. It is a
// ServiceUnavailable error while usage cannot be read.
func (s *Service) Report(ctx context.Context, organizationID, ownerID string, month Month) (*Report, error) {
	if month == "" {
		month = MonthOf(s.now())
	}
	cells, err := s.usage.Cells(ctx, organizationID, ownerID, month)
	if err != nil {
		return nil, apierr.Wrap(apierr.ServiceUnavailable, err)
	}
	return report(month, cells), nil
}

func report(month Month, cells []Cell) *Report {
	r := &Report{Month: month}
	days := map[time.Time]int64{}
	for _, c := range cells {
		r.Events += c.Events
		days[c.Day] += c.Events
		if n := len(r.Owners); n == 0 || r.Owners[n-1].ID != c.OwnerID {
			r.Owners = append(r.Owners, Owner{ID: c.OwnerID})
		}
		o := &r.Owners[len(r.Owners)-1]
		o.Events += c.Events
		o.Days = append(o.Days, Day{c.Day, c.Events})
	}
	for day, events := range days {
		r.Days = append(r.Days, Day{day, events})
	}
	slices.SortFunc(r.Days, func(a, b Day) int { return a.Day.Compare(b.Day) })
	slices.SortFunc(r.Owners, func(a, b Owner) int {
		return cmp.Or(cmp.Compare(b.Events, a.Events), cmp.Compare(a.ID, b.ID))
	})
	for len(r.Owners) > MaxReported {
		last := &r.Owners[len(r.Owners)-1]
		r.Others++
		r.OtherEvents += last.Events
		r.Owners = r.Owners[:len(r.Owners)-1]
	}
	return r
}
