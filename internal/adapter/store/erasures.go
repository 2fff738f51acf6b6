package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/privacy/erasure"
	"github.com/millrace/millrace/internal/privacy/tombstone"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
)

type erasureRow struct {
	bun.BaseModel `bun:"table:erasures,alias:e"`

	ID             string  `bun:"id,pk"`
	OrganizationID string  `bun:"organization_id"`
	OwnerID        string  `bun:"owner_id"`
	Kind           string  `bun:"kind"`
	Stones         list    `bun:"stones"` // kind and id, a colon between them
	Before         instant `bun:"before"`
	Days           list    `bun:"days"`
	Shared         int     `bun:"shared"`
	State          string  `bun:"state"`
	Deleted        string  `bun:"deleted"` // JSON object
	Failures       int     `bun:"failures"`
	ActorType      string  `bun:"actor_type"`
	ActorID        string  `bun:"actor_id"`
	ActorName      string  `bun:"actor_name"`
	RequestedAt    instant `bun:"requested_at"`
	TombstonedAt   instant `bun:"tombstoned_at"`
	DoneAt         instant `bun:"done_at"`
}

func newErasureRow(e *erasure.Erasure) (*erasureRow, error) {
	deleted, err := json.Marshal(e.Deleted)
	if err != nil || e.Deleted == nil {
		deleted = []byte("{}")
	}
	row := &erasureRow{
		ID: e.ID, OrganizationID: e.OrganizationID, OwnerID: e.OwnerID, Kind: string(e.Kind), Before: at(e.Before),
		Days:   e.Days,
		Shared: e.Shared, State: string(e.State), Deleted: string(deleted), Failures: e.Failures,
		ActorType: string(e.By.Type), ActorID: e.By.ID, ActorName: e.By.Name,
		RequestedAt: at(e.RequestedAt), TombstonedAt: at(e.TombstonedAt), DoneAt: at(e.DoneAt),
	}
	for _, s := range e.Stones {
		row.Stones = append(row.Stones, string(s.Kind)+":"+s.ID.String())
	}
	return row, err
}

func (r *erasureRow) erasure() (*erasure.Erasure, error) {
	e := &erasure.Erasure{
		ID: r.ID, OrganizationID: r.OrganizationID, OwnerID: r.OwnerID, Kind: tombstone.Kind(r.Kind), Before: r.Before.Time,
		Days:   r.Days,
		Shared: r.Shared, State: erasure.State(r.State), Failures: r.Failures,
		By:          audit.Actor{Type: audit.ActorType(r.ActorType), ID: r.ActorID, Name: r.ActorName},
		RequestedAt: r.RequestedAt.Time, TombstonedAt: r.TombstonedAt.Time, DoneAt: r.DoneAt.Time,
	}
	if err := json.Unmarshal([]byte(r.Deleted), &e.Deleted); err != nil {
		return nil, fmt.Errorf("decoding the deleted rows of erasure %s: %w", r.ID, err)
	}
	for _, text := range r.Stones {
		s, err := parseStone(text)
		if err != nil {
			return nil, fmt.Errorf("decoding the target of erasure %s: %w", r.ID, err)
		}
		e.Stones = append(e.Stones, s)
	}
	return e, nil
}

func parseStone(text string) (s erasure.Stone, err error) {
	kind, id, _ := strings.Cut(text, ":")
	s.Kind = tombstone.Kind(kind)
	s.ID, err = tombstone.ParseID(id)
	return s, err
}

// CreateErasure adds an erasure, and who asked for it to the audit. It returns managed.TooMany
// for a visitor of an organization that waits for erasure.MaxWaiting already.
func (s *Store) CreateErasure(ctx context.Context, by audit.By, e *erasure.Erasure) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		if err := tx.mayWait(ctx, e); err != nil {
			return err
		}
		row, err := newErasureRow(e)
		if err != nil {
			return fmt.Errorf("encoding erasure %s: %w", e.ID, err)
		}
		if _, err := tx.write.NewInsert().Model(row).Exec(ctx); err != nil {
			return fmt.Errorf("adding erasure %s: %w", e.ID, err)
		}
		return tx.Record(ctx, e.Entry("requested", by, e.RequestedAt))
	})
}

// mayWait returns managed.TooMany where an organization has as many unfinished erasures as it
// may have.
func (s *Store) mayWait(ctx context.Context, e *erasure.Erasure) error {
	if e.Kind == tombstone.Website {
		return nil
	}
	// Those who count the organization's erasures do it one after the other.
	if err := s.lockOrganization(ctx, e.OrganizationID, nil); err != nil {
		return err
	}
	n, err := s.read.NewSelect().Model((*erasureRow)(nil)).Where("e.organization_id = ?", e.OrganizationID).
		Where("e.state <> 'done'").Count(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("counting the open erasures of organization %s: %w", e.OrganizationID, err)
	case int(n) >= erasure.MaxWaiting:
		return managed.TooMany("unfinished erasures", erasure.MaxWaiting)
	}
	return nil
}

// SaveErasure keeps how far an erasure got. With one that is done, an entry of the
// audit is written, and a website's row goes, with the API keys that are limited
// to it and an entry of its own. One that was done before stays so.
func (s *Store) SaveErasure(ctx context.Context, e *erasure.Erasure, now time.Time) error {
	return s.InTx(ctx, func(ctx context.Context, tx *Store) error {
		row, err := newErasureRow(e)
		if err != nil {
			return fmt.Errorf("encoding erasure %s: %w", e.ID, err)
		}
		res, err := tx.write.NewUpdate().Model(row).Column("stones", "shared", "state", "deleted", "failures",
			"tombstoned_at", "done_at").
			Where("id = ?", e.ID).Where("state <> ?", string(erasure.Done)).Exec(ctx)
		if err != nil {
			return fmt.Errorf("storing erasure %s: %w", e.ID, err)
		}
		touched, err := res.RowsAffected()
		if err != nil || touched == 0 || e.State != erasure.Done {
			return err
		}
		if err := tx.Record(ctx, e.Entry("completed", audit.BySystem(), now)); err != nil {
			return err
		}
		return tx.purge(ctx, e, now)
	})
}

// purge removes the row of a website that was erased, or of an organization.
func (s *Store) purge(ctx context.Context, e *erasure.Erasure, now time.Time) error {
	if e.Kind != tombstone.Website {
		return nil
	}
	if e.OwnerID == e.OrganizationID {
		if err := s.PurgeOrganization(ctx, audit.BySystem(), e.OwnerID, now); !errors.Is(err, org.ErrNotFound) {
			return err
		}
		return nil
	}
	w, err := s.AnyWebsite(ctx, e.OwnerID)
	if errors.Is(err, website.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	// Its API keys go with its row; the audit of each says that it ended.
	if _, err := s.revokeKeys(ctx, audit.BySystem(), keysWhere{"website_id = ?", []any{w.ID}}, now); err != nil {
		return err
	}
	if _, err := s.write.NewDelete().Model((*websiteRow)(nil)).Where("id = ?", w.ID).
		Where("deleted_at IS NOT NULL OR organization_id IN (SELECT o.id FROM organizations AS o WHERE o.deleted_at IS " +
			"NOT NULL)").Exec(ctx); err != nil {
		return fmt.Errorf("removing website %s: %w", w.ID, err)
	}
	return s.Record(ctx, website.PurgeEntry(w, audit.BySystem(), now))
}

// Erasure returns an erasure, or erasure.ErrNotFound.
func (s *Store) Erasure(ctx context.Context, id string) (*erasure.Erasure, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var row erasureRow
	err := s.read.NewSelect().Model(&row).Where("e.id = ?", id).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, erasure.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("reading erasure %s: %w", id, err)
	}
	return row.erasure()
}

// ListErasures returns the erasures that f selects, newest first.
func (s *Store) ListErasures(ctx context.Context, f erasure.Filter) ([]*erasure.Erasure, error) {
	return s.erasures(ctx, "listing erasures of organization "+f.OrganizationID,
		func(q *bun.SelectQuery) *bun.SelectQuery {
			q = q.Where("e.organization_id = ?", f.OrganizationID)
			if f.OwnerID != "" {
				q = q.Where("e.owner_id = ?", f.OwnerID)
			}
			if f.Before != "" {
				q = q.Where("e.id < ?", f.Before)
			}
			return q.Order("e.id DESC").Limit(int64(cmp.Or(f.Limit, defaultEntries)))
		})
}

// OpenErasures returns the erasures that a selection names: the oldest of each organization
// first, then the second oldest of each, and so on.
func (s *Store) OpenErasures(ctx context.Context, named erasure.Selection) ([]*erasure.Erasure, error) {
	return s.erasures(ctx, "listing open erasures", func(q *bun.SelectQuery) *bun.SelectQuery {
		q = q.Where("e.state <> 'done'")
		if len(named.In) > 0 {
			q = q.Where("e.state IN (?)", bun.List(named.In))
		}
		if len(named.Without) > 0 {
			q = q.Where("e.id NOT IN (?)", bun.List(named.Without))
		}
		return q.OrderExpr("row_number() OVER (PARTITION BY e.organization_id ORDER BY e.id), e.id").
			Limit(int64(named.Limit))
	})
}

// CountErasures counts the erasures that are not done.
func (s *Store) CountErasures(ctx context.Context) (is erasure.Standing, err error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []struct {
		State  erasure.State
		Count  int
		Oldest instant
	}
	if err := s.read.NewSelect().Model((*erasureRow)(nil)).ColumnExpr("e.state").ColumnExpr("count(*) AS count").
		ColumnExpr("min(e.requested_at) AS oldest").Where("e.state <> 'done'").Group("e.state").Scan(ctx, &rows); err != nil {
		return is, fmt.Errorf("counting open erasures: %w", err)
	}
	is.Open = make(map[erasure.State]int, len(rows))
	for _, r := range rows {
		is.Open[r.State] = r.Count
		if is.Oldest.IsZero() || r.Oldest.Before(is.Oldest) {
			is.Oldest = r.Oldest.Time
		}
	}
	return is, nil
}

// DoneErasures returns those of the erasures with these ids that were done at or before a time.
func (s *Store) DoneErasures(ctx context.Context, ids []string, by time.Time) (done []string, err error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	if err := s.read.NewSelect().Model((*erasureRow)(nil)).Column("e.id").Where("e.id IN (?)", bun.List(ids)).
		Where("e.state = 'done'").Where("e.done_at <= ?", at(by)).Order("e.id").Scan(ctx, &done); err != nil {
		return nil, fmt.Errorf("listing finished erasures: %w", err)
	}
	return done, nil
}

// AllErasures returns every erasure that has tombstones, oldest first.
func (s *Store) AllErasures(ctx context.Context) ([]*erasure.Erasure, error) {
	return s.erasures(ctx, "listing all erasures", func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("e.state <> ?", string(erasure.Requested)).Order("e.id")
	})
}

func (s *Store) erasures(
	ctx context.Context, doing string, selected func(*bun.SelectQuery) *bun.SelectQuery,
) ([]*erasure.Erasure, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []erasureRow
	if err := selected(s.read.NewSelect().Model(&rows)).Scan(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	all := make([]*erasure.Erasure, len(rows))
	for i := range rows {
		var err error
		if all[i], err = rows[i].erasure(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// DeletedWebsites returns up to limit websites, without their settings, that were deleted
// at or before a time, or whose organization was, and that no erasure is about.
func (s *Store) DeletedWebsites(ctx context.Context, by time.Time, limit int) ([]*website.Website, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []websiteRow
	if err := s.read.NewSelect().Model(&rows).ExcludeColumn(settingColumns...).
		Where("(w.deleted_at <= ? OR w.organization_id IN (SELECT o.id FROM organizations AS o WHERE o.deleted_at <= ?))",
			at(by), at(by)).
		Where("NOT EXISTS (SELECT 1 FROM erasures AS e WHERE e.owner_id = w.id AND e.kind = 'website')").
		Order("w.deleted_at", "w.id").Limit(int64(limit)).Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing websites that were deleted by %s: %w", by.UTC().Format(time.RFC3339), err)
	}
	all := make([]*website.Website, len(rows))
	for i := range rows {
		all[i] = rows[i].brief()
	}
	return all, nil
}
