package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
)

type moveRow struct {
	bun.BaseModel `bun:"table:website_moves,alias:v"`

	WebsiteID      string  `bun:"website_id,pk"`
	OrganizationID string  `bun:"organization_id,pk"`
	MovedAt        instant `bun:"moved_at"`
}

// MoveWebsite replaces was by is, which belongs to another organization, revokes the
// API keys that are limited to it, and returns how many; its feature flags and segments go
// with it. The change is made where the grants of by and also hold. It returns the errors of
// SaveWebsite, org.ErrNotFound when there is no such organization, and managed.TooMany when
// that would have more flags or segments than it may.
func (s *Store) MoveWebsite(
	ctx context.Context, by audit.By, was, is *website.Website, also *audit.Grant,
) (revoked int, err error) {
	err = s.InTx(ctx, func(ctx context.Context, tx *Store) error {
		// Both in one order, before the person: two who move something the other way
		// do not wait for each other.
		for _, id := range slices.Sorted(slices.Values([]string{was.OrganizationID, is.OrganizationID})) {
			if err := tx.lockOrganization(ctx, id, org.ErrNotFound); err != nil && !errors.Is(err, org.ErrNotFound) {
				return err
			}
		}
		return tx.Change(ctx, by, func(ctx context.Context, tx *Store) error {
			if err := tx.judge(ctx, also); err != nil {
				return err
			}
			if _, err := tx.OrganizationByID(ctx, is.OrganizationID); err != nil {
				return err
			}
			if err := tx.move(ctx, was, is); err != nil {
				return err
			}
			if err := tx.moveFlags(ctx, was, is); err != nil {
				return err
			}
			limited := keysWhere{"website_id = ? AND organization_id = ?", []any{was.ID, was.OrganizationID}}
			made, err := tx.revokeKeys(ctx, by, limited, is.UpdatedAt)
			if err != nil {
				return err
			}
			revoked = made.Total
			return tx.journalMove(ctx, by, was, is)
		})
	})
	return revoked, err
}

func (s *Store) move(ctx context.Context, was, is *website.Website) error {
	if err := s.domainFree(ctx, is); err != nil {
		return err
	}
	row, err := newWebsiteRow(is)
	if err != nil {
		return err
	}
	res, err := s.write.NewUpdate().Model(row).Column("organization_id", "version", "updated_at").
		Where("id = ?", was.ID).Where("version = ?", was.Version).Exec(ctx)
	if err != nil {
		return s.websiteViolation(err, "moving", is)
	}
	if err := mustTouch(res, managed.ErrChanged); err != nil {
		return err
	}
	left := moveRow{WebsiteID: was.ID, OrganizationID: was.OrganizationID, MovedAt: at(is.UpdatedAt)}
	if _, err := s.write.NewInsert().Model(&left).On("CONFLICT (website_id, organization_id) DO UPDATE").
		Set("moved_at = EXCLUDED.moved_at").Exec(ctx); err != nil {
		return fmt.Errorf("recording the move of website %s: %w", was.ID, err)
	}
	return nil
}

// journalMove tells both organizations.
func (s *Store) journalMove(ctx context.Context, by audit.By, was, is *website.Website) error {
	if err := s.Record(ctx, website.MoveEntries(by, was, is)...); err != nil {
		return err
	}
	events := []control.Change{website.Noun.Event(was, is)}
	for _, id := range []string{was.OrganizationID, is.OrganizationID} {
		o, err := s.OrganizationByID(ctx, id)
		if err != nil {
			return err
		}
		events = append(events, control.Change{
			Kind: control.Organization, ID: id, OrganizationID: id, Version: o.Version, Refs: []string{id}, At: is.UpdatedAt,
		})
	}
	return s.Announce(ctx, events...)
}

// WebsiteMoves returns the websites that left an organization, or came to it, in the
// order of their ids. One that is deleted has left it until it is restored.
func (s *Store) WebsiteMoves(ctx context.Context, organizationID string) (*website.Moves, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var m website.Moves
	var deleted []string
	moved := func() *bun.SelectQuery {
		return s.read.NewSelect().Model((*moveRow)(nil)).ColumnExpr("DISTINCT v.website_id").
			Join("JOIN websites AS w ON w.id = v.website_id")
	}
	for _, q := range []struct {
		to    *[]string
		query *bun.SelectQuery
	}{
		{&m.Left, moved().Where("v.organization_id = ?", organizationID).Where("w.organization_id <> ?", organizationID)},
		{&deleted, s.read.NewSelect().TableExpr("websites AS w").ColumnExpr("w.id").
			Where("w.organization_id = ?", organizationID).Where("w.deleted_at IS NOT NULL")},
		{&m.Came, moved().Where("v.organization_id <> ?", organizationID).Where("w.organization_id = ?", organizationID).
			Where("w.deleted_at IS NULL").Order("v.website_id")},
	} {
		if err := q.query.Scan(ctx, q.to); err != nil {
			return nil, fmt.Errorf("listing the former websites of organization %s: %w", organizationID, err)
		}
	}
	m.Left = append(m.Left, deleted...)
	slices.Sort(m.Left)
	return &m, nil
}
