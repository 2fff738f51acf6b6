package store

import (
	"context"
	"fmt"
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
		return fmt.Errorf("checking whether link %s is blocked: %w", is.ID, err)
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
		return fmt.Errorf("deleting the target hosts of %d links: %w", len(links), err)
	}
	for some := range slices.Chunk(rows, journalAtOnce) {
		if _, err := s.write.NewInsert().Model(&some).Exec(ctx); err != nil {
			return fmt.Errorf("recording the target host of link %s: %w", some[0].LinkID, err)
		}
	}
	return nil
}
