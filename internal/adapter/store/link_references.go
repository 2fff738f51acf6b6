package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/resource/link"
)

// ownReferences returns link.ErrFolderNotFound or link.ErrDomainGone for a link that is in a
// folder, or on a domain, that is not its organization's.
func (s *Store) ownReferences(ctx context.Context, l *link.Link) error {
	if err := s.folderOwn(ctx, l); err != nil {
		return err
	}
	return s.domainOwn(ctx, l)
}

// folderOwn returns link.ErrFolderNotFound for a link whose folder is not its
// organization's.
func (s *Store) folderOwn(ctx context.Context, l *link.Link) error {
	if l.FolderID == "" {
		return nil
	}
	found, err := s.read.NewSelect().Model((*folderRow)(nil)).Where("lf.id = ?", l.FolderID).
		Where("lf.organization_id = ?", l.OrganizationID).Exists(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("finding folder %s: %w", l.FolderID, err)
	case !found:
		return link.ErrFolderNotFound
	}
	return nil
}

// domainOwn returns link.ErrDomainGone for a link that is not deleted and whose domain is
// not its organization's.
func (s *Store) domainOwn(ctx context.Context, l *link.Link) error {
	if l.DomainID == "" || l.Deleted() {
		return nil
	}
	found, err := s.read.NewSelect().Model((*domainRow)(nil)).Where("ld.id = ?", l.DomainID).
		Where("ld.organization_id = ?", l.OrganizationID).Exists(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("finding domain %s: %w", l.DomainID, err)
	case !found:
		return link.ErrDomainGone
	}
	return nil
}

// withDomain adds what a link has of its domain, which may be no more.
func withDomain(q *bun.SelectQuery) *bun.SelectQuery {
	return q.Join("LEFT JOIN link_domains AS ld ON l.domain_id <> '' AND ld.id = l.domain_id").
		ColumnExpr("coalesce(ld.hostname, '') AS hostname").ColumnExpr("coalesce(ld.case_sensitive, FALSE) AS case_sensitive")
}
