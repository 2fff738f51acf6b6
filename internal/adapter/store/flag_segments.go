package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/contract/wire"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
)

type segmentRow struct {
	bun.BaseModel `bun:"table:flag_segments,alias:sg"`

	ID             string  `bun:"id,pk"`
	OrganizationID string  `bun:"organization_id"`
	WebsiteID      string  `bun:"website_id,nullzero"`
	Version        int64   `bun:"version"`
	Key            string  `bun:"key"`
	Name           string  `bun:"name"`
	Description    string  `bun:"description"`
	Definition     string  `bun:"definition"` // flageval.Segment
	CreatedAt      instant `bun:"created_at"`
	UpdatedAt      instant `bun:"updated_at"`
	CreatedBy      string  `bun:"created_by"`
	SearchText     string  `bun:"search_text"`
}

func newSegmentRow(g *flag.Segment) (*segmentRow, error) {
	text, err := wire.CompactJSON(g.Definition)
	if err != nil {
		return nil, fmt.Errorf("encoding segment %s: %w", g.ID, err)
	}
	return &segmentRow{
		ID: g.ID, OrganizationID: g.OrganizationID, WebsiteID: g.WebsiteID, Version: g.Version, Key: g.Key(), Name: g.Name,
		Description: g.Description, Definition: string(text), CreatedAt: at(g.CreatedAt), UpdatedAt: at(g.UpdatedAt),
		CreatedBy:  g.CreatedBy,
		SearchText: strings.ToLower(strings.Join([]string{g.Key(), g.Name, g.Description}, "\n")),
	}, nil
}

// segment returns the segment; without its definition where that was not read.
func (r *segmentRow) segment() (*flag.Segment, error) {
	g := &flag.Segment{
		Record: managed.Record{
			ID: r.ID, OrganizationID: r.OrganizationID, Name: r.Name, Version: r.Version,
			CreatedAt: r.CreatedAt.Time, UpdatedAt: r.UpdatedAt.Time, CreatedBy: r.CreatedBy,
		},
		WebsiteID: r.WebsiteID, Description: r.Description,
	}
	g.Definition.Key = r.Key
	if r.Definition == "" {
		return g, nil
	}
	if err := json.Unmarshal([]byte(r.Definition), &g.Definition); err != nil {
		return nil, fmt.Errorf("reading segment %s: %w", r.ID, err)
	}
	return g, nil
}

// CreateSegment adds a segment with its audit entry and the change event of the set. Errors are
// those that flag.SegmentStore says.
func (s *Store) CreateSegment(ctx context.Context, by audit.By, g *flag.Segment, caps flag.Caps) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		if err := tx.lockOrganization(ctx, g.OrganizationID, org.ErrNotFound); err != nil {
			return err
		}
		if err := tx.ofWebsite(ctx, g.OrganizationID, g.WebsiteID); err != nil {
			return err
		}
		if err := tx.roomFor(ctx, (*segmentRow)(nil), "segments", g.OrganizationID, 1, caps.Segments); err != nil {
			return err
		}
		row, err := newSegmentRow(g)
		if err != nil {
			return err
		}
		if _, err := tx.write.NewInsert().Model(row).Exec(ctx); err != nil {
			return tx.taken(err, "adding segment "+g.ID, flag.ErrSegmentKeyTaken)
		}
		return tx.journalSegment(ctx, by, managed.Created, nil, g)
	})
}

// SaveSegment replaces was by is; one that is deleted is removed. A segment that is not at
// was.Version any more is managed.ErrChanged, and nothing is written.
func (s *Store) SaveSegment(
	ctx context.Context, by audit.By, action managed.Action, was, is *flag.Segment, fits flag.Fits,
) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		if err := tx.lockOrganization(ctx, is.OrganizationID, org.ErrNotFound); err != nil {
			return err
		}
		if err := tx.askFits(ctx, is.OrganizationID, fits); err != nil {
			return err
		}
		row, err := newSegmentRow(is)
		if err != nil {
			return err
		}
		if err := tx.replace(ctx, row, was.Common(), is.Common()); err != nil {
			return fmt.Errorf("changing segment %s: %w", is.ID, err)
		}
		return tx.journalSegment(ctx, by, action, was, is)
	})
}

func (s *Store) journalSegment(ctx context.Context, by audit.By, action managed.Action, was, is *flag.Segment) error {
	if err := journal(ctx, s, &flag.Segments, by, action, was, is); err != nil {
		return err
	}
	return s.raiseFlags(ctx, is.OrganizationID, is.UpdatedAt)
}

// SegmentByID returns a segment of whatever organization, or flag.ErrSegmentNotFound. As
// for the others, one of a deleted organization or website is not found.
func (s *Store) SegmentByID(ctx context.Context, id string) (*flag.Segment, error) {
	return s.segmentWhere(ctx, where{"sg.id = ?", []any{id}})
}

// SegmentByKey returns the segment of a website, or with an empty one of all websites, that
// has a key, or flag.ErrSegmentNotFound.
func (s *Store) SegmentByKey(ctx context.Context, organizationID, websiteID, key string) (*flag.Segment, error) {
	return s.segmentWhere(ctx, ofKey("sg", organizationID, websiteID, key))
}

func (s *Store) segmentWhere(ctx context.Context, w where) (*flag.Segment, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var row segmentRow
	err := s.read.NewSelect().Model(&row).Where(w.is, w.args...).
		Where(ownerLives, bun.Ident("sg")).Where(websiteLives, bun.Ident("sg")).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, flag.ErrSegmentNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("reading a segment: %w", err)
	}
	return row.segment()
}

// SegmentsByID returns those of the segments that an organization has.
func (s *Store) SegmentsByID(ctx context.Context, organizationID string, ids []string) ([]*flag.Segment, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return s.segmentsOf(ctx, organizationID,
		func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where("sg.id IN (?)", bun.List(ids)) })
}

// ListSegments returns the segments that f selects, without their definitions.
func (s *Store) ListSegments(ctx context.Context, f flag.Filter) ([]*flag.Segment, error) {
	return s.segmentsOf(ctx, f.OrganizationID, func(q *bun.SelectQuery) *bun.SelectQuery {
		return selected(q.ExcludeColumn("definition"), "sg", &f)
	})
}

func (s *Store) segmentsOf(
	ctx context.Context, organizationID string, selected func(*bun.SelectQuery) *bun.SelectQuery,
) ([]*flag.Segment, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []segmentRow
	q := s.read.NewSelect().Model(&rows).Where("sg.organization_id = ?", organizationID).Where(
		websiteLives, bun.Ident("sg"))
	if err := selected(q).Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing segments of organization %s: %w", organizationID, err)
	}
	return readAll(rows, (*segmentRow).segment)
}
