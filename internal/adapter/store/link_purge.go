package store

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/audit"
)

// linkDue is a condition on links that nobody can restore any more: they were deleted at
// or before a time, or their organization is gone.
const linkDue = "(deleted_at <= ? OR organization_id IS NULL)"

// PurgeableLinks returns the ids of up to limit links that were deleted at or before a
// time, or whose organization is gone.
func (s *Store) PurgeableLinks(ctx context.Context, deleted time.Time, limit int) (ids []string, err error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	if err := s.read.NewSelect().Model((*linkRow)(nil)).Column("id").Where(linkDue, at(deleted)).Limit(int64(limit)).Scan(
		ctx, &ids); err != nil {
		return nil, fmt.Errorf("listing links that were deleted by %s: %w", deleted.UTC().Format(time.RFC3339), err)
	}
	return ids, nil
}

// PurgeLinks removes those of the links that are still due, with their tags and how often
// they were used, and an audit entry for each that has an organization. It returns how
// many they were. Their slugs stay with the organization.
func (s *Store) PurgeLinks(ctx context.Context, by audit.By, ids []string, deleted, now time.Time) (n int, err error) {
	err = s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		var rows []linkRow
		// What was restored meanwhile is not due any more: the condition is looked at once
		// a change that is under way has ended.
		if _, err := tx.write.NewDelete().Model(&rows).Where("id IN (?)", bun.List(ids)).Where(linkDue, at(deleted)).
			Returning("id, organization_id, version, slug_key, name").Exec(ctx); err != nil {
			return fmt.Errorf("removing %d links: %w", len(ids), err)
		}
		n = len(rows)
		return tx.journalPurged(ctx, by, rows, now)
	})
	return n, err
}

// journalPurged remembers and announces that links were removed.
func (s *Store) journalPurged(ctx context.Context, by audit.By, rows []linkRow, now time.Time) error {
	var entries []audit.Entry
	changes := make([]link.Change, len(rows))
	announced := make([]control.Change, len(rows))
	for i := range rows {
		r := &rows[i]
		if r.OrganizationID != "" {
			entries = append(entries, audit.New(by, r.OrganizationID, link.Noun.Type, "purged", now).Of(r.ID, r.Name))
		}
		changes[i] = link.Change{OrganizationID: r.OrganizationID, LinkID: r.ID, SlugKey: r.SlugKey, Version: r.Version + 1}
		announced[i] = control.Change{
			Kind: link.Noun.Kind, ID: r.ID, OrganizationID: r.OrganizationID, Version: r.Version + 1, Refs: []string{r.SlugKey},
			Gone: true, At: now,
		}
	}
	if err := s.Record(ctx, entries...); err != nil {
		return err
	}
	if err := s.Announce(ctx, announced...); err != nil {
		return err
	}
	return s.noteLinks(ctx, now, changes...)
}
