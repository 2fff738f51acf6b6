package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/org"
)

type organizationRow struct {
	bun.BaseModel `bun:"table:organizations,alias:o"`

	ID        string  `bun:"id,pk"`
	Name      string  `bun:"name"`
	CreatedAt instant `bun:"created_at"`
}

func (r *organizationRow) organization() *org.Organization {
	return &org.Organization{ID: r.ID, Name: r.Name, CreatedAt: r.CreatedAt.Time}
}

// CreateOrganization adds an organization.
func (s *Store) CreateOrganization(ctx context.Context, o *org.Organization) error {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	row := organizationRow{ID: o.ID, Name: o.Name, CreatedAt: at(o.CreatedAt)}
	if _, err := s.write.NewInsert().Model(&row).Exec(ctx); err != nil {
		return fmt.Errorf("adding organization %s: %w", o.ID, err)
	}
	return nil
}

// OrganizationByID returns an organization, or org.ErrNotFound.
func (s *Store) OrganizationByID(ctx context.Context, id string) (*org.Organization, error) {
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

// ListOrganizations returns every organization, oldest first. It serves the
// operator's command, not tenants.
func (s *Store) ListOrganizations(ctx context.Context) ([]*org.Organization, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []organizationRow
	if err := s.read.NewSelect().Model(&rows).Order("o.id").Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing organizations: %w", err)
	}
	all := make([]*org.Organization, len(rows))
	for i := range rows {
		all[i] = rows[i].organization()
	}
	return all, nil
}

// DeleteOrganization removes an organization and its members. Its websites and
// keys stay, without an organization: events for them and calls with them are
// refused. A missing one is org.ErrNotFound.
func (s *Store) DeleteOrganization(ctx context.Context, id string) error {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	res, err := s.write.NewDelete().Model((*organizationRow)(nil)).Where("id = ?", id).Exec(ctx)
	if err != nil {
		return fmt.Errorf("deleting organization %s: %w", id, err)
	}
	return mustTouch(res, org.ErrNotFound)
}

// mustTouch returns missing when a statement changed no row.
func mustTouch(res sql.Result, missing error) error {
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		return missing
	}
	return err
}
