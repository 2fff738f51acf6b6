package store

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/resource/link"
)

// linkHostRow is a host that a link leads to, or one above it.
type linkHostRow struct {
	bun.BaseModel `bun:"table:link_hosts,alias:lh"`

	LinkID string `bun:"link_id,pk"`
	Host   string `bun:"host,pk"`
}

// noteHosts notes where a link leads, which is elsewhere than where it led, and in the link
// whether that is blocked. was is nil for a new one.
func (s *Store) noteHosts(ctx context.Context, was, is *link.Link) error {
	if was == nil || !slices.Equal(was.Hosts(), is.Hosts()) {
		if err := s.replaceHosts(ctx, []*link.Link{is}); err != nil {
			return err
		}
	}
	if err := s.read.NewRaw("SELECT "+linkBlocked+" FROM links AS l WHERE l.id = ?", is.ID).Scan(ctx,
		&is.Blocked); err != nil {
		return fmt.Errorf("looking whether link %s is blocked: %w", is.ID, err)
	}
	return nil
}

// replaceHosts notes where links lead, and not any more where they led.
func (s *Store) replaceHosts(ctx context.Context, links []*link.Link) error {
	ids, rows := make([]string, len(links)), []linkHostRow{}
	for i, l := range links {
		ids[i] = l.ID
		for _, host := range l.Hosts() {
			rows = append(rows, linkHostRow{LinkID: l.ID, Host: host})
		}
	}
	if _, err := s.write.NewDelete().Model((*linkHostRow)(nil)).Where("link_id IN (?)",
		bun.List(ids)).Exec(ctx); err != nil {
		return fmt.Errorf("forgetting where %d links led: %w", len(links), err)
	}
	for some := range slices.Chunk(rows, journalAtOnce) {
		if _, err := s.write.NewInsert().Model(&some).Exec(ctx); err != nil {
			return fmt.Errorf("noting where link %s leads: %w", some[0].LinkID, err)
		}
	}
	return nil
}

// fillAtOnce is of how many links it is noted in one transaction where they lead.
const fillAtOnce = 500

// fillLinkHosts notes where those links lead of which that is not noted: they were made
// before there was a place for it, or changed since by an earlier version of this program.
// Where there are none it costs nothing.
func (s *Store) fillLinkHosts(ctx context.Context) error {
	for after, more := "", true; more; {
		if err := s.InTx(ctx, func(ctx context.Context, tx *Store) (err error) {
			after, more, err = tx.fillSomeHosts(ctx, after)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// fillSomeHosts is fillLinkHosts of some links after an id. It returns the last of them, and
// whether there may be more. Whoever changes one of them meanwhile waits, or is waited for
// and has noted it.
func (s *Store) fillSomeHosts(ctx context.Context, after string) (last string, more bool, err error) {
	var rows []linkRow
	q := s.write.NewSelect().Model(&rows).Where("l.hosts_version <> l.version").Where("l.id > ?",
		after).Order("l.id").Limit(fillAtOnce)
	if s.dialect.name == "postgres" { // SQLite has one writer
		q = q.For("UPDATE")
	}
	if err := q.Scan(ctx); err != nil {
		return "", false, fmt.Errorf("reading links whose hosts are not noted: %w", err)
	}
	if len(rows) == 0 {
		return "", false, nil
	}
	ids, links := make([]string, len(rows)), make([]*link.Link, 0, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
		if l, err := rows[i].link(); err == nil {
			links = append(links, l)
		} else { // nobody can serve or change it either
			s.log.LogAttrs(ctx, slog.LevelWarn, "of a link it is not noted where it leads", slog.Any("error", err))
		}
	}
	if err := s.replaceHosts(ctx, links); err != nil {
		return "", false, err
	}
	if _, err := s.write.NewRaw("UPDATE links SET hosts_version = version WHERE id IN (?)",
		bun.List(ids)).Exec(ctx); err != nil {
		return "", false, fmt.Errorf("noting of %d links that their hosts are noted: %w", len(ids), err)
	}
	return ids[len(ids)-1], len(ids) == fillAtOnce, nil
}
