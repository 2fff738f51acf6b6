package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/resource/link"
)

// DomainByID returns a domain of whatever organization, or link.ErrDomainNotFound.
func (s *Store) DomainByID(ctx context.Context, id string) (*link.Domain, error) {
	return s.domainWhere(ctx, "ld.id = ?", id)
}

// DomainByHostname returns an organization's domain, or link.ErrDomainNotFound.
func (s *Store) DomainByHostname(ctx context.Context, organizationID, hostname string) (*link.Domain, error) {
	return s.domainWhere(ctx, "ld.organization_id = ? AND ld.hostname = ?", organizationID, hostname)
}

func (s *Store) domainWhere(ctx context.Context, where string, args ...any) (*link.Domain, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var row domainRow
	err := s.read.NewSelect().Model(&row).Where(where, args...).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, link.ErrDomainNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("reading a domain: %w", err)
	}
	return row.domain(), nil
}

// ListDomains returns an organization's domains in the order of their creation, those after
// the given id.
func (s *Store) ListDomains(ctx context.Context, organizationID, after string, limit int) ([]*link.Domain, error) {
	return s.domains(ctx, func(q *bun.SelectQuery) *bun.SelectQuery {
		return page(q.Where("ld.organization_id = ?", organizationID), "ld.id", false, after, limit)
	})
}

// DueDomains returns up to limit domains that serve, of organizations that live, and are due
// at or before a time, the longest due first.
func (s *Store) DueDomains(ctx context.Context, due time.Time, limit int) ([]*link.Domain, error) {
	return s.domains(ctx, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where(domainServes).Where("ld.due_at <= ?", at(due)).Where(ownerLives,
			bun.Ident("ld")).Order("ld.due_at").Limit(int64(limit))
	})
}

func (s *Store) domains(ctx context.Context, which func(*bun.SelectQuery) *bun.SelectQuery) ([]*link.Domain, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []domainRow
	if err := which(s.read.NewSelect().Model(&rows)).Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing domains: %w", err)
	}
	found := make([]*link.Domain, len(rows))
	for i := range rows {
		found[i] = rows[i].domain()
	}
	return found, nil
}

// CountDomains returns how many domains of organizations that live have a status.
func (s *Store) CountDomains(ctx context.Context, status link.DomainStatus) (int, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	n, err := s.read.NewSelect().Model((*domainRow)(nil)).Where("ld.status = ?", string(status)).Where(ownerLives,
		bun.Ident("ld")).Count(ctx)
	if err != nil {
		return 0, fmt.Errorf("counting domains: %w", err)
	}
	return int(n), nil
}

// ServingHosts returns those of the hosts that are domains which serve, whoever's.
func (s *Store) ServingHosts(ctx context.Context, hosts []string) (serving []string, err error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	err = s.read.NewSelect().Model((*domainRow)(nil)).Column("hostname").Where(domainServes).Where("ld.hostname IN (?)",
		bun.List(hosts)).Scan(ctx, &serving)
	if err != nil {
		return nil, fmt.Errorf("reading which hosts are domains: %w", err)
	}
	return serving, nil
}
