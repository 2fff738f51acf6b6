package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/tenant/audit"
)

// defaultEntries is how many entries a filter without a limit gets.
const defaultEntries = 50

// AuditEntries returns the entries that a filter wants, newest first.
func (s *Store) AuditEntries(ctx context.Context, f audit.Filter) ([]audit.Entry, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []auditRow
	q := s.read.NewSelect().Model(&rows).Order("a.id DESC").Limit(int64(cmp.Or(f.Limit, defaultEntries)))
	if !f.EveryOrganization {
		q = q.Where("a.organization_id = ?", f.OrganizationID)
	}
	for _, c := range []struct {
		column, value string
	}{
		{"resource_type", f.ResourceType},
		{"resource_id", f.ResourceID},
		{"actor_id", f.ActorID},
		{"action", f.Action},
	} {
		if c.value != "" {
			q = q.Where("a.? = ?", bun.Ident(c.column), c.value)
		}
	}
	if f.Before != "" {
		q = q.Where("a.id < ?", f.Before)
	}
	if !f.From.IsZero() {
		q = q.Where("a.at >= ?", at(f.From))
	}
	if !f.To.IsZero() {
		q = q.Where("a.at < ?", at(f.To))
	}
	if err := q.Scan(ctx); err != nil {
		return nil, fmt.Errorf("reading the audit: %w", err)
	}
	entries := make([]audit.Entry, len(rows))
	for i := range rows {
		var err error
		if entries[i], err = rows[i].entry(); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// Remember adds an entry about something that changed nothing in the store, such as
// an export. What did is remembered by Record, next to the change.
func (s *Store) Remember(ctx context.Context, e audit.Entry) error {
	return s.Change(ctx, e.By, func(ctx context.Context, tx *Store) error { return tx.Record(ctx, e) })
}

func (r *auditRow) entry() (audit.Entry, error) {
	e := audit.Entry{
		ID: r.ID, At: r.At.Time, OrganizationID: r.OrganizationID,
		By: audit.By{
			Actor: audit.Actor{Type: audit.ActorType(r.ActorType), ID: r.ActorID, Name: r.ActorName},
			IP:    r.IP, UserAgent: r.UserAgent, RequestID: r.RequestID,
		},
		Action: r.Action, ResourceType: r.ResourceType, ResourceID: r.ResourceID, ResourceName: r.ResourceName,
	}
	if err := json.Unmarshal([]byte(r.Changes), &e.Changes); err != nil {
		return e, fmt.Errorf("reading the changes of audit entry %s: %w", r.ID, err)
	}
	return e, nil
}
