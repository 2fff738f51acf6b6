package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
)

type domainRow struct {
	bun.BaseModel `bun:"table:link_domains,alias:ld"`

	ID             string  `bun:"id,pk"`
	OrganizationID string  `bun:"organization_id"`
	Version        int64   `bun:"version"`
	Hostname       string  `bun:"hostname"`
	Status         string  `bun:"status"`
	Token          string  `bun:"token"`
	RootURL        string  `bun:"root_url"`
	NotFoundURL    string  `bun:"not_found_url"`
	ExpiredURL     string  `bun:"expired_url"`
	CaseSensitive  bool    `bun:"case_sensitive"`
	Problem        string  `bun:"problem"`
	PointsHere     bool    `bun:"points_here"`
	BadDays        int     `bun:"bad_days"`
	CheckedAt      instant `bun:"checked_at"`
	VerifiedAt     instant `bun:"verified_at"`
	DueAt          instant `bun:"due_at"`
	CreatedAt      instant `bun:"created_at"`
	UpdatedAt      instant `bun:"updated_at"`
	CreatedBy      string  `bun:"created_by"`
}

// domainServes is a condition on domains under the alias ld: the hostname is theirs.
const domainServes = "ld.status IN ('verified', 'failing')"

func newDomainRow(d *link.Domain) *domainRow {
	return &domainRow{
		ID: d.ID, OrganizationID: d.OrganizationID, Version: d.Version, Hostname: d.Name, Status: string(d.Status),
		Token:   d.Token,
		RootURL: d.RootURL, NotFoundURL: d.NotFoundURL, ExpiredURL: d.ExpiredURL, CaseSensitive: d.CaseSensitive,
		Problem: d.Problem, PointsHere: d.PointsHere, BadDays: d.BadDays,
		CheckedAt: at(d.CheckedAt), VerifiedAt: at(d.VerifiedAt), DueAt: at(d.DueAt),
		CreatedAt: at(d.CreatedAt), UpdatedAt: at(d.UpdatedAt), CreatedBy: d.CreatedBy,
	}
}

func (r *domainRow) domain() *link.Domain {
	return &link.Domain{
		Record: managed.Record{
			ID: r.ID, OrganizationID: r.OrganizationID, Name: r.Hostname, Version: r.Version,
			CreatedAt: r.CreatedAt.Time, UpdatedAt: r.UpdatedAt.Time, CreatedBy: r.CreatedBy,
		},
		Status: link.DomainStatus(r.Status), Token: r.Token, RootURL: r.RootURL, NotFoundURL: r.NotFoundURL,
		ExpiredURL:    r.ExpiredURL,
		CaseSensitive: r.CaseSensitive, Problem: r.Problem, PointsHere: r.PointsHere, BadDays: r.BadDays,
		CheckedAt: r.CheckedAt.Time, VerifiedAt: r.VerifiedAt.Time, DueAt: r.DueAt.Time,
	}
}

// CreateDomain adds a domain and its audit entry. It returns link.TooMany where there are
// limit, link.ErrHostnameClaimed, and org.ErrNotFound for an organization that does not
// exist.
func (s *Store) CreateDomain(ctx context.Context, by audit.By, d *link.Domain, limit int) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		// Those who count the organization's domains do it one after the other.
		if err := tx.lockOrganization(ctx, d.OrganizationID, org.ErrNotFound); err != nil {
			return err
		}
		n, err := tx.read.NewSelect().Model((*domainRow)(nil)).Where("ld.organization_id = ?", d.OrganizationID).Count(ctx)
		if err != nil {
			return fmt.Errorf("counting the domains of organization %s: %w", d.OrganizationID, err)
		}
		switch _, err := tx.DomainByHostname(ctx, d.OrganizationID, d.Name); {
		case err == nil:
			return link.ErrHostnameClaimed
		case !errors.Is(err, link.ErrDomainNotFound):
			return err
		case int(n) >= limit:
			return link.TooMany("domains", limit)
		}
		if _, err := tx.write.NewInsert().Model(newDomainRow(d)).Exec(ctx); err != nil {
			return tx.domainViolation(err, "adding", d)
		}
		return tx.journalDomain(ctx, by, managed.Created, nil, d)
	})
}

// SaveDomain replaces was by is, as link.DomainStore says it.
func (s *Store) SaveDomain(ctx context.Context, by audit.By, action managed.Action, was, is *link.Domain) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		if is.Deleted() {
			return tx.deleteDomain(ctx, by, was, is)
		}
		if is.Serves() && !was.Serves() {
			if err := tx.takeHostname(ctx, is); err != nil {
				return err
			}
		}
		if err := tx.replaceDomain(ctx, was, is); err != nil || is.Version == was.Version {
			return err
		}
		return tx.journalDomain(ctx, by, action, was, is)
	})
}

func (s *Store) replaceDomain(ctx context.Context, was, is *link.Domain) error {
	res, err := s.write.NewUpdate().Model(newDomainRow(is)).
		ExcludeColumn("id", "organization_id", "hostname", "token", "case_sensitive", "created_at", "created_by").
		Where("id = ?", was.ID).Where("version = ?", was.Version).Exec(ctx)
	if err != nil {
		return s.domainViolation(err, "changing", is)
	}
	return mustTouch(res, managed.ErrChanged)
}

// takeHostname has a hostname serve no other domain: it is link.ErrHostnameVerified unless
// that is failing, or its organization is deleted.
func (s *Store) takeHostname(ctx context.Context, d *link.Domain) error {
	var row domainRow
	err := s.read.NewSelect().Model(&row).Where("ld.hostname = ?", d.Name).Where("ld.id <> ?",
		d.ID).Where(domainServes).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading whose %s is: %w", d.Name, err)
	}
	was := row.domain()
	if was.Status == link.DomainVerified {
		lives, err := s.read.NewSelect().Model((*organizationRow)(nil)).Where("o.id = ?",
			was.OrganizationID).Where(organizationLives).Exists(ctx)
		if err != nil {
			return fmt.Errorf("finding organization %s: %w", was.OrganizationID, err)
		}
		if lives {
			return link.ErrHostnameVerified
		}
	}
	is := was.Lost(d.UpdatedAt)
	if err := s.replaceDomain(ctx, was, is); err != nil {
		return err
	}
	// Who took it is for the other organization alone to know.
	return journal(ctx, s, &link.Domains, audit.BySystem(), "lost", was, is)
}

// deleteDomain removes a domain that has no links but deleted ones. Those cannot be restored
// any more.
func (s *Store) deleteDomain(ctx context.Context, by audit.By, was, is *link.Domain) error {
	// Whoever puts a link on it waits here, and finds it gone.
	if err := s.lockOrganization(ctx, was.OrganizationID, org.ErrNotFound); err != nil {
		return err
	}
	n, err := s.read.NewSelect().Model((*linkRow)(nil)).Where("l.domain_id = ?",
		was.ID).Where("l.domain_id <> ''").Where("l.deleted_at IS NULL").Count(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("counting the links of domain %s: %w", was.ID, err)
	case n > 0:
		return link.DomainInUse(int(n))
	}
	res, err := s.write.NewDelete().Model((*domainRow)(nil)).Where("id = ?", was.ID).Where(
		"version = ?", was.Version).Exec(ctx)
	if err != nil {
		return fmt.Errorf("removing domain %s: %w", was.ID, err)
	}
	if err := mustTouch(res, managed.ErrChanged); err != nil {
		return err
	}
	return s.journalDomain(ctx, by, managed.Deleted, was, is)
}

// journalDomain remembers and announces a change of a domain, and notes that hosts have to
// read the Directory anew.
func (s *Store) journalDomain(ctx context.Context, by audit.By, action managed.Action, was, is *link.Domain) error {
	if err := journal(ctx, s, &link.Domains, by, action, was, is); err != nil {
		return err
	}
	return s.noteLinks(ctx, is.UpdatedAt, link.Change{})
}

// domainViolation says which constraint was broken: it tells its name, or in SQLite its
// columns, in the text.
func (s *Store) domainViolation(err error, doing string, d *link.Domain) error {
	switch {
	case s.dialect.violation(err) != uniqueViolation:
		return fmt.Errorf("%s domain %s: %w", doing, d.ID, err)
	case strings.Contains(err.Error(), "link_domains_claim") || strings.Contains(err.Error(), "organization_id"):
		return link.ErrHostnameClaimed
	default:
		return link.ErrHostnameVerified
	}
}
