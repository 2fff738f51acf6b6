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
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
)

type organizationRow struct {
	bun.BaseModel `bun:"table:organizations,alias:o"`

	ID        string  `bun:"id,pk"`
	Name      string  `bun:"name"`
	Slug      string  `bun:"slug,nullzero"`
	LogoURL   string  `bun:"logo_url"`
	Timezone  string  `bun:"timezone"`
	CreatedBy string  `bun:"created_by"`
	Version   int64   `bun:"version"`
	CreatedAt instant `bun:"created_at"`
	UpdatedAt instant `bun:"updated_at"`
	DeletedAt instant `bun:"deleted_at"`
}

func newOrganizationRow(o *org.Organization) *organizationRow {
	return &organizationRow{
		ID: o.ID, Name: o.Name, Slug: o.Slug, LogoURL: o.LogoURL, Timezone: o.Timezone,
		CreatedBy: o.CreatedBy, Version: o.Version, CreatedAt: at(o.CreatedAt), UpdatedAt: at(o.UpdatedAt),
		DeletedAt: at(o.DeletedAt),
	}
}

func (r *organizationRow) organization() *org.Organization {
	return &org.Organization{
		ID: r.ID, Name: r.Name, Slug: r.Slug, LogoURL: r.LogoURL, Timezone: r.Timezone,
		CreatedBy: r.CreatedBy, Version: r.Version, CreatedAt: r.CreatedAt.Time, UpdatedAt: r.UpdatedAt.Time,
		DeletedAt: r.DeletedAt.Time,
	}
}

// CreateOrganization adds an organization. A slug in use is org.ErrSlugTaken.
func (s *Store) CreateOrganization(ctx context.Context, by audit.By, o *org.Organization) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		_, err := tx.write.NewInsert().Model(newOrganizationRow(o)).Exec(ctx)
		switch {
		case tx.dialect.violation(err) == uniqueViolation:
			return org.ErrSlugTaken
		case err != nil:
			return fmt.Errorf("adding organization %s: %w", o.ID, err)
		}
		return tx.Record(ctx, audit.New(by, o.ID, "organization", "created", o.CreatedAt).
			Of(o.ID, o.Name).With(audit.Diff(nil, o.View())))
	})
}

// OrganizationByID returns an organization, or org.ErrNotFound, also for a deleted one.
func (s *Store) OrganizationByID(ctx context.Context, id string) (*org.Organization, error) {
	o, err := s.anyOrganization(ctx, id)
	if err == nil && !o.DeletedAt.IsZero() {
		return nil, org.ErrNotFound
	}
	return o, err
}

// anyOrganization is OrganizationByID that finds deleted ones too.
func (s *Store) anyOrganization(ctx context.Context, id string) (*org.Organization, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var row organizationRow
	err := s.read.NewSelect().Model(&row).Where("o.id = ?", id).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, org.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("reading organization %s: %w", id, err)
	}
	return row.organization(), nil
}

// ListOrganizations returns every organization, oldest first, except the reserved
// one and deleted ones. It serves the operator's command, not tenants.
func (s *Store) ListOrganizations(ctx context.Context) ([]*org.Organization, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []organizationRow
	if err := s.read.NewSelect().Model(&rows).Where("o.id <> ?",
		org.ReservedID).Where(organizationLives).Order("o.id").Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing organizations: %w", err)
	}
	all := make([]*org.Organization, len(rows))
	for i := range rows {
		all[i] = rows[i].organization()
	}
	return all, nil
}

// UpdateOrganization applies a change to an organization as it is now, keeps it
// with the next version and returns it. A change that changes nothing keeps the
// version. It returns the error of change, org.ErrNotFound, org.ErrSlugTaken, and
// managed.ErrChanged when version is neither 0 nor the organization's or when another
// change comes in between.
func (s *Store) UpdateOrganization(
	ctx context.Context, by audit.By, id string, version int64, now time.Time, change func(*org.Organization) error,
) (*org.Organization, error) {
	var o *org.Organization
	err := s.Change(ctx, by, func(ctx context.Context, tx *Store) (err error) {
		if o, err = tx.OrganizationByID(ctx, id); err != nil {
			return err
		}
		if version != 0 && version != o.Version {
			return managed.ErrChanged
		}
		before := o.View()
		if err := change(o); err != nil {
			return err
		}
		if changes := audit.Diff(before, o.View()); len(changes) > 0 {
			return tx.keepOrganization(ctx, by, o, now, changes)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

func (s *Store) keepOrganization(
	ctx context.Context, by audit.By, o *org.Organization, now time.Time, changes map[string]audit.Change,
) error {
	was := o.Version
	o.Version++
	o.UpdatedAt = at(now).Time
	res, err := s.write.NewUpdate().Model(newOrganizationRow(o)).
		Column("name", "slug", "logo_url", "timezone", "version", "updated_at").
		Where("id = ?", o.ID).Where("version = ?", was).Exec(ctx)
	if s.dialect.violation(err) == uniqueViolation {
		return org.ErrSlugTaken
	}
	if err != nil {
		return fmt.Errorf("changing organization %s: %w", o.ID, err)
	}
	if err := mustTouch(res, managed.ErrChanged); err != nil {
		return err
	}
	if err := s.Record(ctx,
		audit.New(by, o.ID, "organization", "updated", now).Of(o.ID, o.Name).With(changes)); err != nil {
		return err
	}
	return s.Announce(ctx, control.Change{
		Kind: control.Organization, ID: o.ID, OrganizationID: o.ID, Version: o.Version, Refs: []string{o.ID}, At: now,
	})
}

// mustTouch returns missing when a statement changed no row.
func mustTouch(res sql.Result, missing error) error {
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		return missing
	}
	return err
}
