package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/link"
)

// linkHostRow is a host that a link leads to, or one above it. A link that leads to none
// has one row of an empty host, so that it is known to have been looked at.
type linkHostRow struct {
	bun.BaseModel `bun:"table:link_hosts,alias:lh"`

	LinkID string `bun:"link_id,pk"`
	Host   string `bun:"host,pk"`
}

// noteHosts notes where a link leads, which was nowhere before where was is nil, and in the
// link whether that is blocked.
func (s *Store) noteHosts(ctx context.Context, was, is *link.Link) error {
	hosts := is.Hosts()
	if was == nil || !slices.Equal(was.Hosts(), hosts) {
		if _, err := s.write.NewDelete().Model((*linkHostRow)(nil)).Where("link_id = ?", is.ID).Exec(ctx); err != nil {
			return fmt.Errorf("forgetting where link %s led: %w", is.ID, err)
		}
		if err := s.addHosts(ctx, hostRows(nil, is.ID, hosts)); err != nil {
			return err
		}
	}
	if err := s.read.NewRaw("SELECT "+linkBlocked+" FROM links AS l WHERE l.id = ?", is.ID).Scan(ctx, &is.Blocked); err != nil {
		return fmt.Errorf("looking whether link %s is blocked: %w", is.ID, err)
	}
	return nil
}

func hostRows(rows []linkHostRow, id string, hosts []string) []linkHostRow {
	if len(hosts) == 0 {
		hosts = []string{""}
	}
	for _, host := range hosts {
		rows = append(rows, linkHostRow{LinkID: id, Host: host})
	}
	return rows
}

func (s *Store) addHosts(ctx context.Context, rows []linkHostRow) error {
	for some := range slices.Chunk(rows, journalAtOnce) {
		if _, err := s.write.NewInsert().Model(&some).On("CONFLICT (link_id, host) DO NOTHING").Exec(ctx); err != nil {
			return fmt.Errorf("noting where link %s leads: %w", some[0].LinkID, err)
		}
	}
	return nil
}

// How many links are looked at with one question, and noted in one transaction.
const (
	unreadAtOnce = 20_000
	fillAtOnce   = 500
)

// linksUnread are links of a range of which it is not noted where they lead. The look-up is
// written so that no database makes a join of it, for which it would read all hosts.
const linksUnread = "SELECT l.id FROM links AS l WHERE l.id > ? AND l.id <= ? AND " +
	"(SELECT lh.link_id FROM link_hosts AS lh WHERE lh.link_id = l.id LIMIT 1) IS NULL ORDER BY l.id"

// fillLinkHosts notes where those links lead of which that is not noted: they were made
// before there was a place for it, or since by an earlier version of this program. Without
// any it passes over the ids of links, and changes nothing.
func (s *Store) fillLinkHosts(ctx context.Context) error {
	for from := ""; ; {
		var to string
		if err := s.read.NewRaw("SELECT coalesce(max(w.id), '') FROM (SELECT id FROM links WHERE id > ? ORDER BY id LIMIT ?) AS w",
			from, unreadAtOnce).Scan(ctx, &to); err != nil {
			return fmt.Errorf("walking through links: %w", err)
		}
		if to == "" {
			return nil
		}
		var ids []string
		if err := s.read.NewRaw(linksUnread, from, to).Scan(ctx, &ids); err != nil {
			return fmt.Errorf("looking for links whose hosts are not noted: %w", err)
		}
		for some := range slices.Chunk(ids, fillAtOnce) {
			if err := s.InTx(ctx, func(ctx context.Context, tx *Store) error { return tx.fillHostsOf(ctx, some) }); err != nil {
				return err
			}
		}
		from = to
	}
}

// fillHostsOf notes where links lead. Whoever changes one of them meanwhile waits, or is
// waited for, and then right is what they note.
func (s *Store) fillHostsOf(ctx context.Context, ids []string) error {
	var links []linkRow
	q := s.write.NewSelect().Model(&links).Where("l.id IN (?)", bun.List(ids))
	if s.dialect.name == "postgres" { // SQLite has one writer
		q = q.For("UPDATE")
	}
	if err := q.Scan(ctx); err != nil {
		return fmt.Errorf("reading links whose hosts are not noted: %w", err)
	}
	var rows []linkHostRow
	for i := range links {
		l, err := links[i].link()
		if err != nil {
			return err
		}
		rows = hostRows(rows, l.ID, l.Hosts())
	}
	return s.addHosts(ctx, rows)
}
