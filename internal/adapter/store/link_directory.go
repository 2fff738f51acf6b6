package store

import (
	"context"
	"fmt"

	"github.com/millrace/millrace/internal/resource/link"
)

// What serves: domains that were proved, of organizations that live, also those that could
// not be proved again lately.
const selectDirectory = "SELECT ld.id, ld.organization_id, ld.hostname, ld.root_url, ld.not_found_url, " +
	"ld.expired_url, " +
	"ld.case_sensitive FROM link_domains AS ld WHERE " + domainServes +
	" AND ld.organization_id NOT IN (SELECT o.id FROM organizations AS o WHERE o.deleted_at IS NOT NULL) ORDER BY " +
	"ld.hostname"

// LinkDirectory returns the domains that serve short links, and all that is blocked.
func (s *Store) LinkDirectory(ctx context.Context) (*link.Directory, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	d := &link.Directory{}
	if err := s.readDomains(ctx, d); err != nil {
		return nil, fmt.Errorf("reading the domains that serve: %w", err)
	}
	if err := s.readBlocks(ctx, d); err != nil {
		return nil, fmt.Errorf("reading the blocks: %w", err)
	}
	return d, nil
}

func (s *Store) readDomains(ctx context.Context, to *link.Directory) error {
	rows, err := s.read.QueryContext(ctx, selectDirectory)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var d link.ServedDomain
		err := rows.Scan(&d.ID, &d.OrganizationID, &d.Hostname, &d.RootURL, &d.NotFoundURL, &d.ExpiredURL, &d.CaseSensitive)
		if err != nil {
			return err
		}
		to.Domains = append(to.Domains, d)
	}
	return rows.Err()
}

func (s *Store) readBlocks(ctx context.Context, to *link.Directory) error {
	rows, err := s.read.QueryContext(ctx, "SELECT b.kind, b.name FROM link_blocks AS b ORDER BY b.kind, b.name")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	lists := map[string]*[]string{"link": &to.BlockedLinks, "host": &to.BlockedHosts}
	for rows.Next() {
		var kind, name string
		if err := rows.Scan(&kind, &name); err != nil {
			return err
		}
		if list := lists[kind]; list != nil { // a later version may block more than this one knows
			*list = append(*list, name)
		}
	}
	return rows.Err()
}
