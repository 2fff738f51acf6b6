package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// linkChangeRow is a change of what hosts serve.
type linkChangeRow struct {
	bun.BaseModel `bun:"table:link_changes,alias:lc"`

	Seq            int64   `bun:"seq,pk"`
	Mark           int64   `bun:"mark"`
	OrganizationID string  `bun:"organization_id"`
	LinkID         string  `bun:"link_id"`
	SlugKey        string  `bun:"slug_key"`
	Version        int64   `bun:"version"`
	ChangedAt      instant `bun:"changed_at"`
}

// How long changes are kept: for a day, and the latest for as long as there are no others.
// A few of those that are due are removed now and then, with new ones.
const (
	linkChangesFor  = 24 * time.Hour
	linkChangesKept = 1000
	pruneEvery      = 100
	pruneAtMost     = 1000
)

// linkChanges are the changes of a link: one for each slug by which it was or is found.
// was is nil for a new one.
func linkChanges(was, is *link.Link) []link.Change {
	keys := []string{is.Key()}
	if was != nil && was.Key() != keys[0] {
		keys = append(keys, was.Key())
	}
	changes := make([]link.Change, len(keys))
	for i, key := range keys {
		changes[i] = link.Change{OrganizationID: is.OrganizationID, LinkID: is.ID, SlugKey: key, Version: is.Version}
	}
	return changes
}

// journalLink remembers and announces a change of a link, and notes it for LinkChanges.
func (s *Store) journalLink(ctx context.Context, by audit.By, action managed.Action, was, is *link.Link) error {
	if err := journal(ctx, s, &link.Noun, by, action, was, is); err != nil {
		return err
	}
	return s.noteLinks(ctx, is.UpdatedAt, linkChanges(was, is)...)
}

// noteLinks keeps changes for LinkChanges. It is the last that a transaction does: from
// here on the others that change links wait until this one has ended. So a change that is
// seen has all of smaller numbers before it, and none of them comes later.
func (s *Store) noteLinks(ctx context.Context, now time.Time, changes ...link.Change) error {
	if !s.inTx() {
		return errNoTransaction
	}
	if len(changes) == 0 {
		return nil
	}
	var last int64
	if err := s.write.NewRaw("UPDATE link_changes_head SET seq = seq + ? RETURNING seq", len(changes)).Scan(
		ctx, &last); err != nil {
		return fmt.Errorf("numbering %d changes of links: %w", len(changes), err)
	}
	first := last - int64(len(changes)) + 1
	rows := make([]linkChangeRow, len(changes))
	for i, c := range changes {
		rows[i] = linkChangeRow{
			Seq: first + int64(i), Mark: rand.Int64(), //nolint:gosec // tells two lives of a store apart, and is no secret
			OrganizationID: c.OrganizationID, LinkID: c.LinkID, SlugKey: c.SlugKey, Version: c.Version, ChangedAt: at(now),
		}
	}
	for some := range slices.Chunk(rows, journalAtOnce) {
		if _, err := s.write.NewInsert().Model(&some).Exec(ctx); err != nil {
			return fmt.Errorf("recording a change of link %s: %w", some[0].LinkID, err)
		}
	}
	if last/pruneEvery == (first-1)/pruneEvery {
		return nil
	}
	return s.pruneLinkChanges(ctx, last, now)
}

// pruneLinkChanges removes changes of before a day, the oldest first. Whoever has not looked
// since finds a number missing.
func (s *Store) pruneLinkChanges(ctx context.Context, last int64, now time.Time) error {
	_, err := s.write.NewDelete().Model((*linkChangeRow)(nil)).
		Where("seq < (SELECT min(seq) + ? FROM link_changes)", pruneAtMost).
		Where("seq <= ?", last-linkChangesKept).Where("changed_at < ?", at(now.Add(-linkChangesFor))).Exec(ctx)
	if err != nil {
		return fmt.Errorf("removing old changes of links: %w", err)
	}
	return nil
}

// LinkCursor returns where the changes of links have come to: what is read after it has all
// changes up to it.
func (s *Store) LinkCursor(ctx context.Context) (c link.Cursor, err error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	err = s.read.NewSelect().Model((*linkChangeRow)(nil)).Column("seq", "mark").Order("lc.seq DESC").Limit(1).Scan(ctx,
		&c.Seq, &c.Mark)
	if err != nil {
		return c, fmt.Errorf("reading the latest change of links: %w", err)
	}
	return c, nil
}

// LinkChanges returns up to limit changes after a cursor, in the order in which they became
// visible, and the cursor behind them; link.ErrChangesLost when it cannot say what they are.
func (s *Store) LinkChanges(ctx context.Context, after link.Cursor, limit int) ([]link.Change, link.Cursor, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []linkChangeRow
	// The change that was seen last comes too: it must be the one that it was.
	if err := s.read.NewSelect().Model(&rows).Where("lc.seq >= ?", after.Seq).Order("lc.seq").Limit(int64(limit) +
		1).Scan(ctx); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, after, fmt.Errorf("reading changes of links: %w", err)
	}
	if len(rows) == 0 || rows[0].Seq != after.Seq || rows[0].Mark != after.Mark {
		return nil, after, link.ErrChangesLost
	}
	changes := make([]link.Change, 0, len(rows)-1)
	for _, r := range rows[1:] {
		if r.Seq != after.Seq+1 { // the number of one that is lost
			return nil, after, link.ErrChangesLost
		}
		after = link.Cursor{Seq: r.Seq, Mark: r.Mark}
		changes = append(changes,
			link.Change{OrganizationID: r.OrganizationID, LinkID: r.LinkID, SlugKey: r.SlugKey, Version: r.Version})
	}
	return changes, after, nil
}
