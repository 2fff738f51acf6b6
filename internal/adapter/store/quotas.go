package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/quota"
)

type quotaRow struct {
	bun.BaseModel `bun:"table:quotas,alias:q"`

	OrganizationID string  `bun:"organization_id,pk"`
	MonthlyEvents  *int64  `bun:"monthly_events"` // NULL for quota.Default
	Month          string  `bun:"month"`
	Used           int64   `bun:"used"`
	Exceeded       bool    `bun:"exceeded"`
	Noticed        int     `bun:"noticed"`
	Version        int64   `bun:"version"`
	CountedAt      instant `bun:"counted_at"`
}

func newQuotaRow(q *quota.Quota) *quotaRow {
	r := &quotaRow{
		OrganizationID: q.OrganizationID, Month: string(q.Month), Used: q.Used, Exceeded: q.Exceeded,
		Noticed: q.Noticed, Version: q.Version, CountedAt: at(q.CountedAt),
	}
	if q.Own != quota.Default {
		r.MonthlyEvents = &q.Own
	}
	return r
}

func (r *quotaRow) quota() quota.Quota {
	q := quota.Quota{
		OrganizationID: r.OrganizationID, Own: quota.Default, Month: quota.Month(r.Month), Used: r.Used,
		Exceeded: r.Exceeded, Noticed: r.Noticed, Version: r.Version, CountedAt: r.CountedAt.Time,
	}
	if r.MonthlyEvents != nil {
		q.Own = *r.MonthlyEvents
	}
	return q
}

// Quotas returns every quota that was ever set or counted.
func (s *Store) Quotas(ctx context.Context) ([]quota.Quota, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []quotaRow
	if err := s.read.NewSelect().Model(&rows).Order("q.organization_id").Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing quotas: %w", err)
	}
	all := make([]quota.Quota, len(rows))
	for i := range rows {
		all[i] = rows[i].quota()
	}
	return all, nil
}

// QuotaOf returns an organization's quota, that of one which nobody set or counted
// included; quota.ErrNotFound when there is no such organization.
func (s *Store) QuotaOf(ctx context.Context, organizationID string) (*quota.Quota, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var row quotaRow
	err := s.read.NewSelect().Model(&row).Where("q.organization_id = ?", organizationID).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		if _, err := s.anyOrganization(ctx, organizationID); err != nil {
			return nil, quotaless(err)
		}
		return &quota.Quota{OrganizationID: organizationID, Own: quota.Default}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the quota of organization %s: %w", organizationID, err)
	}
	q := row.quota()
	return &q, nil
}

// quotaless gives a missing organization its name here.
func quotaless(err error) error {
	if errors.Is(err, org.ErrNotFound) {
		return quota.ErrNotFound
	}
	return err
}

// SetQuota gives an organization a quota of its own, or quota.Default, and returns
// it. It decides nothing: whoever counts does.
func (s *Store) SetQuota(
	ctx context.Context, by audit.By, organizationID string, events int64, now time.Time,
) (*quota.Quota, error) {
	var q *quota.Quota
	err := s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		return tx.changeQuota(ctx, organizationID, func(ctx context.Context, tx *Store, found *quota.Quota) error {
			q = found
			changes := audit.Diff(ownQuota(q.Own), ownQuota(events))
			if len(changes) == 0 {
				return nil
			}
			q.Own = events
			o, err := tx.OrganizationByID(ctx, organizationID)
			if err != nil {
				return err
			}
			return tx.Record(ctx, audit.New(by, o.ID, "organization", "updated", now).Of(o.ID, o.Name).With(changes))
		})
	})
	return q, err
}

// ownQuota is a quota as the audit shows it.
func ownQuota(events int64) map[string]any {
	if events == quota.Default {
		return map[string]any{}
	}
	return map[string]any{"quota.monthlyEvents": events}
}

// CountQuota applies count to an organization's quota as it is now and keeps what
// became of it, with the change event when it was decided. It is quota.ErrNotFound when
// there is no such organization.
func (s *Store) CountQuota(
	ctx context.Context, organizationID string, now time.Time, count func(*quota.Quota) quota.Outcome,
) error {
	return s.changeQuota(ctx, organizationID, func(ctx context.Context, tx *Store, q *quota.Quota) error {
		if !count(q).Decided {
			return nil
		}
		return tx.Announce(ctx, changeOf(q, now))
	})
}

func changeOf(q *quota.Quota, now time.Time) control.Change {
	return control.Change{
		Kind: control.Quota, ID: q.OrganizationID, OrganizationID: q.OrganizationID, Version: q.Version,
		State: q.State(), At: now,
	}
}

// changeQuota changes a quota as it is now, one change at a time.
func (s *Store) changeQuota(
	ctx context.Context, organizationID string, change func(ctx context.Context, tx *Store, q *quota.Quota) error,
) error {
	return s.InTx(ctx, func(ctx context.Context, tx *Store) error {
		// What was stored counts on while an organization is deleted and may be restored.
		if err := tx.lockAny(ctx, organizationID, quota.ErrNotFound); err != nil {
			return err
		}
		q, err := tx.QuotaOf(ctx, organizationID)
		if err != nil {
			return err
		}
		if err := change(ctx, tx, q); err != nil {
			return err
		}
		if _, err := tx.write.NewInsert().Model(newQuotaRow(q)).On("CONFLICT (organization_id) DO UPDATE").
			Set("monthly_events = EXCLUDED.monthly_events").Set("month = EXCLUDED.month").Set("used = EXCLUDED.used").
			Set("exceeded = EXCLUDED.exceeded").Set("noticed = EXCLUDED.noticed").Set("version = EXCLUDED.version").
			Set("counted_at = EXCLUDED.counted_at").Exec(ctx); err != nil {
			return fmt.Errorf("storing the quota of organization %s: %w", organizationID, err)
		}
		return nil
	})
}

// QuotaStates returns the decisions that were ever announced, as they are now.
func (s *Store) QuotaStates(ctx context.Context) (control.Snapshot, error) {
	head, err := s.ControlHead(ctx) // first, so that no decision is taken for newer than it is
	if err != nil {
		return control.Snapshot{}, err
	}
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []quotaRow
	if err := s.read.NewSelect().Model(&rows).Where("q.version > 0").Scan(ctx); err != nil {
		return control.Snapshot{}, fmt.Errorf("reading the decisions on quotas: %w", err)
	}
	all := control.Snapshot{Epoch: head.Epoch, States: make([]control.Change, len(rows))}
	for i := range rows {
		q := rows[i].quota()
		all.States[i] = changeOf(&q, q.CountedAt)
	}
	return all, nil
}

// Owners returns an organization's name and the addresses of its owners.
func (s *Store) Owners(
	ctx context.Context, organizationID string,
) (organization string, addresses []string, err error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []personRow
	if err := s.people(&rows).Where("m.organization_id = ?", organizationID).Where("m.role = ?", string(org.RoleOwner)).
		Order("m.user_id").Scan(ctx); err != nil {
		return "", nil, fmt.Errorf("listing the owners of organization %s: %w", organizationID, err)
	}
	for i := range rows {
		organization, addresses = rows[i].Organization, append(addresses, rows[i].Email)
	}
	return organization, addresses, nil
}
