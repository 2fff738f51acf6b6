package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/org"
	"github.com/millrace/millrace/internal/website"
)

// pageLimit is the most rows of a list that names no limit.
const pageLimit = 1000

type websiteRow struct {
	bun.BaseModel `bun:"table:websites,alias:w"`

	ID                  string  `bun:"id,pk"`
	OrganizationID      string  `bun:"organization_id,nullzero"`
	ClientID            string  `bun:"client_id"`
	OldClientID         string  `bun:"old_client_id,nullzero"`
	OldClientIDUntil    instant `bun:"old_client_id_until"`
	Name                string  `bun:"name"`
	Domain              string  `bun:"domain"`
	AnonymizeVisitorIDs string  `bun:"anonymize_visitor_ids"`
	AllowedOrigins      list    `bun:"allowed_origins"`
	AllowedIPs          list    `bun:"allowed_ips"`
	Public              bool    `bun:"public"`
	CreatedAt           instant `bun:"created_at"`
	UpdatedAt           instant `bun:"updated_at"`
}

func newWebsiteRow(w *website.Website) *websiteRow {
	row := &websiteRow{
		ID: w.ID, OrganizationID: w.OrganizationID,
		ClientID: w.ClientID, OldClientID: w.OldClientID, OldClientIDUntil: at(w.OldClientIDUntil),
		Name: w.Name, Domain: w.Domain, AnonymizeVisitorIDs: w.AnonymizeVisitorIDs,
		AllowedOrigins: w.AllowedOrigins, AllowedIPs: w.AllowedIPs, Public: w.Public,
		CreatedAt: at(w.CreatedAt), UpdatedAt: at(w.UpdatedAt),
	}
	if row.AnonymizeVisitorIDs == "" {
		row.AnonymizeVisitorIDs = "true"
	}
	return row
}

func (r *websiteRow) website() *website.Website {
	return &website.Website{
		ID: r.ID, OrganizationID: r.OrganizationID,
		ClientID: r.ClientID, OldClientID: r.OldClientID, OldClientIDUntil: r.OldClientIDUntil.Time,
		Name: r.Name, Domain: r.Domain, AnonymizeVisitorIDs: r.AnonymizeVisitorIDs,
		AllowedOrigins: r.AllowedOrigins, AllowedIPs: r.AllowedIPs, Public: r.Public,
		CreatedAt: r.CreatedAt.Time, UpdatedAt: r.UpdatedAt.Time,
	}
}

// CreateWebsite adds a website. It returns website.ErrClientIDTaken when another
// website bears the client id, and org.ErrNotFound for an organization that does
// not exist.
func (s *Store) CreateWebsite(ctx context.Context, w *website.Website) error {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	_, err := s.write.NewInsert().Model(newWebsiteRow(w)).Exec(ctx)
	switch {
	case s.dialect.violation(err) == uniqueViolation:
		return website.ErrClientIDTaken
	case s.dialect.violation(err) == foreignKeyViolation:
		return org.ErrNotFound
	case err != nil:
		return fmt.Errorf("adding website %s: %w", w.ID, err)
	}
	return nil
}

// WebsiteByID returns a website, or website.ErrNotFound.
func (s *Store) WebsiteByID(ctx context.Context, id string) (*website.Website, error) {
	return s.websiteWhere(ctx, "w.id = ?", id)
}

// WebsiteByClientID returns the website that bears a client id, or bore it until
// a rotation whose grace is not over; else website.ErrNotFound.
func (s *Store) WebsiteByClientID(ctx context.Context, clientID string) (*website.Website, error) {
	return s.websiteWhere(ctx, "w.client_id = ? OR (w.old_client_id = ? AND w.old_client_id_until > ?)",
		clientID, clientID, at(s.opts.Now()))
}

func (s *Store) websiteWhere(ctx context.Context, where string, args ...any) (*website.Website, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var row websiteRow
	// One client id can be the current one of one website and the old one of
	// another only by hand; the current one wins.
	err := s.read.NewSelect().Model(&row).Where(where, args...).
		OrderExpr("w.old_client_id IS NOT NULL").Limit(1).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, website.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("reading a website: %w", err)
	}
	return row.website(), nil
}

// ListWebsites returns the websites that f selects, ordered by id.
func (s *Store) ListWebsites(ctx context.Context, f website.Filter) ([]*website.Website, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []websiteRow
	q := s.read.NewSelect().Model(&rows).Where("w.organization_id = ?", f.OrganizationID).
		Order("w.id").Limit(limit(f.Limit))
	if f.ID != "" {
		q = q.Where("w.id = ?", f.ID)
	}
	if f.After != "" {
		q = q.Where("w.id > ?", f.After)
	}
	if err := q.Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing websites of organization %s: %w", f.OrganizationID, err)
	}
	all := make([]*website.Website, len(rows))
	for i := range rows {
		all[i] = rows[i].website()
	}
	return all, nil
}

// RotateClientID gives a website of an organization a new client id; the one
// before is accepted until oldUntil, when that lies after now. It returns
// website.ErrNotFound and website.ErrClientIDTaken.
func (s *Store) RotateClientID(ctx context.Context, organizationID, id, clientID string, now, oldUntil time.Time) error {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	q := s.write.NewUpdate().Model((*websiteRow)(nil)).
		Where("id = ?", id).Where("organization_id = ?", organizationID).
		Set("client_id = ?", clientID).Set("updated_at = ?", at(now))
	if oldUntil.After(now) {
		q = q.Set("old_client_id = client_id").Set("old_client_id_until = ?", at(oldUntil))
	} else {
		q = q.Set("old_client_id = NULL").Set("old_client_id_until = NULL")
	}
	res, err := q.Exec(ctx)
	if s.dialect.violation(err) == uniqueViolation {
		return website.ErrClientIDTaken
	}
	if err != nil {
		return fmt.Errorf("rotating the client id of website %s: %w", id, err)
	}
	return mustTouch(res, website.ErrNotFound)
}

func limit(n int) int64 {
	if n <= 0 || n > pageLimit {
		return pageLimit
	}
	return int64(n)
}
