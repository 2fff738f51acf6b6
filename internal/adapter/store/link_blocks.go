package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/audit"
)

type linkBlockRow struct {
	bun.BaseModel `bun:"table:link_blocks,alias:lb"`

	Kind      string  `bun:"kind,pk"`
	Name      string  `bun:"name,pk"`
	Reason    string  `bun:"reason"`
	CreatedAt instant `bun:"created_at"`
	CreatedBy string  `bun:"created_by"`
}

func (r *linkBlockRow) block() link.Block {
	return link.Block{
		Kind: link.BlockKind(r.Kind), Name: r.Name, Reason: r.Reason, CreatedAt: r.CreatedAt.Time, CreatedBy: r.CreatedBy,
	}
}

// What is blocked, as a condition on links under the alias l, and as the ids of links: the
// former for links that were found by something else, the latter to find those alone. The
// condition leaves no database a choice: a link has few hosts, and each is looked up by its
// name, however many are blocked; and that it holds is taken for neither likely nor unlikely.
const (
	linkBlocked = "coalesce((SELECT TRUE FROM link_blocks AS lb WHERE lb.kind = 'link' AND lb.name = l.slug_key), " +
		"(SELECT TRUE FROM link_hosts AS lh WHERE lh.link_id = l.id AND " +
		"coalesce((SELECT TRUE FROM link_blocks AS lb WHERE lb.kind = 'host' AND lb.name = lh.host), FALSE) LIMIT 1), FALSE)"
	blockedLinks = "SELECT bl.id FROM link_blocks AS lb JOIN links AS bl ON bl.slug_key = lb.name WHERE lb.kind = " +
		"'link' UNION ALL " +
		"SELECT lh.link_id FROM link_blocks AS lb JOIN link_hosts AS lh ON lh.host = lb.name WHERE lb.kind = 'host'"
)

// BlockLinks blocks a short link, or a host with all below it, with an audit entry: that of
// a link is its organization's, that of a host nobody's. What is blocked already is
// returned as it is. A short link that there is not is link.ErrNotFound.
func (s *Store) BlockLinks(ctx context.Context, by audit.By, b link.Block) (*link.Blocking, error) {
	done := &link.Blocking{}
	err := s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		of, err := tx.concerned(ctx, b)
		if err != nil {
			return err
		}
		row := linkBlockRow{
			Kind: string(b.Kind), Name: b.Name, Reason: b.Reason, CreatedAt: at(b.CreatedAt), CreatedBy: b.CreatedBy,
		}
		res, err := tx.write.NewInsert().Model(&row).On("CONFLICT (kind, name) DO NOTHING").Exec(ctx)
		if err == nil {
			done.Changed, err = touched(res)
		}
		if err == nil && !done.Changed {
			err = tx.read.NewSelect().Model(&row).WherePK().Scan(ctx)
		}
		if err != nil {
			return fmt.Errorf("blocking the %s %s: %w", b.Kind, b.Name, err)
		}
		done.Block, done.Links = row.block(), of.links
		if !done.Changed {
			return nil
		}
		return tx.journalBlock(ctx, by, of, b, "blocked", b.CreatedAt)
	})
	if err != nil {
		return nil, err
	}
	return done, nil
}

// UnblockLinks removes the block of a kind and a name, where there is one, with an audit
// entry as BlockLinks writes it.
func (s *Store) UnblockLinks(ctx context.Context, by audit.By, b link.Block, now time.Time) (*link.Blocking, error) {
	done := &link.Blocking{Block: b}
	err := s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		of, err := tx.concerned(ctx, b)
		if err != nil && !errors.Is(err, link.ErrNotFound) {
			return err
		}
		done.Links = of.links
		res, err := tx.write.NewDelete().Model((*linkBlockRow)(nil)).Where("kind = ?", b.Kind).Where(
			"name = ?", b.Name).Exec(ctx)
		if err == nil {
			done.Changed, err = touched(res)
		}
		if err != nil {
			return fmt.Errorf("unblocking the %s %s: %w", b.Kind, b.Name, err)
		}
		if !done.Changed {
			return nil
		}
		return tx.journalBlock(ctx, by, of, b, "unblocked", now)
	})
	if err != nil {
		return nil, err
	}
	return done, nil
}

// touched reports whether a statement changed a row.
func touched(res sql.Result) (bool, error) {
	n, err := res.RowsAffected()
	return n > 0, err
}

// concern is what a block is about: a short link, which has an id, or links.
type concern struct {
	id, organizationID, name string
	links                    int64 // that are not deleted
}

// concerned returns what a block is about, or link.ErrNotFound for a short link that there
// is not.
func (s *Store) concerned(ctx context.Context, b link.Block) (of concern, err error) {
	if b.Kind == link.BlockHost {
		err = s.read.NewRaw("SELECT count(*) FROM link_hosts AS lh JOIN links AS l ON l.id = lh.link_id "+
			"WHERE lh.host = ? AND l.deleted_at IS NULL", b.Name).Scan(ctx, &of.links)
	} else {
		err = s.read.NewRaw(
			"SELECT l.id, coalesce(l.organization_id, ''), l.name, CASE WHEN l.deleted_at IS NULL THEN 1 ELSE 0 END "+
				"FROM links AS l WHERE l.slug_key = ?", b.Name).Scan(ctx, &of.id, &of.organizationID, &of.name, &of.links)
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return of, link.ErrNotFound
	case err != nil:
		return of, fmt.Errorf("finding links of the %s %s: %w", b.Kind, b.Name, err)
	}
	return of, nil
}

// journalBlock remembers that something was blocked or unblocked, and has those who serve
// links look again at what is.
func (s *Store) journalBlock(
	ctx context.Context, by audit.By, of concern, b link.Block, action string, now time.Time,
) error {
	entry := audit.New(by, of.organizationID, link.Noun.Type, action, now).Of(of.id, of.name)
	if b.Kind == link.BlockHost {
		entry = audit.New(by, "", "linkHost", action, now).Of(b.Name, b.Name)
	}
	if b.Reason != "" {
		entry = entry.With(map[string]audit.Change{"reason": {To: b.Reason}})
	}
	if err := s.Record(ctx, entry); err != nil {
		return err
	}
	if err := s.Announce(ctx, control.Change{Kind: link.Noun.Kind, At: now}); err != nil {
		return err
	}
	return s.noteLinks(ctx, now, link.Change{})
}

// keepBlocked blocks a link under the name that it gets, where it is blocked under the one
// that it had; that one stays blocked. It is followed by the note of the link's own change.
func (s *Store) keepBlocked(ctx context.Context, was, is *link.Link) error {
	if was.Key() == is.Key() {
		return nil
	}
	res, err := s.write.NewRaw("INSERT INTO link_blocks (kind, name, reason, created_at, created_by) "+
		"SELECT kind, ?, reason, created_at, created_by FROM link_blocks WHERE kind = 'link' AND name = ? ON CONFLICT "+
		"(kind, name) DO NOTHING",
		is.Key(), was.Key()).Exec(ctx)
	if err != nil {
		return fmt.Errorf("storing link %s blocked: %w", is.ID, err)
	}
	blocked, err := touched(res)
	if err != nil || !blocked {
		return err
	}
	is.Blocked = true
	if err := s.Announce(ctx, control.Change{Kind: link.Noun.Kind, At: is.UpdatedAt}); err != nil {
		return err
	}
	return s.noteLinks(ctx, is.UpdatedAt, link.Change{})
}

// ListBlocks returns all blocks, the earliest first.
func (s *Store) ListBlocks(ctx context.Context) ([]link.Block, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []linkBlockRow
	if err := s.read.NewSelect().Model(&rows).Order("lb.created_at", "lb.kind", "lb.name").Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing the blocks: %w", err)
	}
	blocks, domains := make([]link.Block, len(rows)), []string{}
	for i := range rows {
		blocks[i] = rows[i].block()
		if id, _, own := strings.Cut(rows[i].Name, "/"); own {
			domains = append(domains, id)
		}
	}
	hostnames, err := s.hostnames(ctx, domains)
	if err != nil {
		return nil, err
	}
	for i := range blocks {
		id, _, _ := strings.Cut(blocks[i].Name, "/")
		blocks[i].Hostname = hostnames[id]
	}
	return blocks, nil
}

// hostnames returns those of domains that there are, by id.
func (s *Store) hostnames(ctx context.Context, ids []string) (map[string]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var rows []struct{ ID, Hostname string }
	if err := s.read.NewRaw("SELECT id, hostname FROM link_domains WHERE id IN (?)", bun.List(ids)).Scan(
		ctx, &rows); err != nil {
		return nil, fmt.Errorf("reading hosts of short links: %w", err)
	}
	names := make(map[string]string, len(rows))
	for _, r := range rows {
		names[r.ID] = r.Hostname
	}
	return names, nil
}

// BlockedHosts returns those of the hosts that are blocked.
func (s *Store) BlockedHosts(ctx context.Context, hosts []string) (blocked []string, err error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	if len(hosts) == 0 {
		return nil, nil
	}
	if err := s.read.NewSelect().Model((*linkBlockRow)(nil)).Column("name").Where("lb.kind = ?", link.BlockHost).
		Where("lb.name IN (?)", bun.List(hosts)).Scan(ctx, &blocked); err != nil {
		return nil, fmt.Errorf("finding %d hosts in the blocks: %w", len(hosts), err)
	}
	return blocked, nil
}

// ServingDomain returns the domain that serves under a hostname, or link.ErrNotFound. Of
// its addresses it reads none.
func (s *Store) ServingDomain(ctx context.Context, hostname string) (*link.ServedDomain, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	d := &link.ServedDomain{Hostname: hostname}
	err := s.read.NewRaw(
		"SELECT ld.id, ld.organization_id, ld.case_sensitive FROM link_domains AS ld WHERE ld.hostname = ? AND "+domainServes,
		hostname).Scan(ctx, &d.ID, &d.OrganizationID, &d.CaseSensitive)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, link.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("finding the host %s of short links: %w", hostname, err)
	}
	return d, nil
}
