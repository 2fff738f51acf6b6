package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/resource/link"
)

// linkTagRow is a tag of a link that is not deleted.
type linkTagRow struct {
	bun.BaseModel `bun:"table:link_tags,alias:lt"`

	OrganizationID string `bun:"organization_id,pk"`
	Tag            string `bun:"tag,pk"`
	LinkID         string `bun:"link_id,pk"`
}

// tagLink notes the tags of a link; none of one that is deleted.
func (s *Store) tagLink(ctx context.Context, l *link.Link, caps link.Caps) error {
	var tags []string
	if !l.Deleted() {
		tags = l.Tags
	}
	isNew, err := s.newTags(ctx, l.OrganizationID, tags)
	if err != nil {
		return err
	}
	if _, err := s.write.NewDelete().Model((*linkTagRow)(nil)).Where("link_id = ?", l.ID).Exec(ctx); err != nil {
		return fmt.Errorf("removing the tags of link %s: %w", l.ID, err)
	}
	if len(tags) == 0 {
		return nil
	}
	rows := make([]linkTagRow, len(tags))
	for i, tag := range tags {
		rows[i] = linkTagRow{OrganizationID: l.OrganizationID, Tag: tag, LinkID: l.ID}
	}
	if _, err := s.write.NewInsert().Model(&rows).Exec(ctx); err != nil {
		return fmt.Errorf("tagging link %s: %w", l.ID, err)
	}
	if !isNew {
		return nil
	}
	return s.tagsFit(ctx, l.OrganizationID, caps)
}

// newTags reports whether no link of an organization bears one of the tags yet. Only then
// are its tags counted: with a hundred thousand links that takes a tenth of a second.
func (s *Store) newTags(ctx context.Context, organizationID string, tags []string) (bool, error) {
	if len(tags) == 0 {
		return false, nil
	}
	var known int
	if err := s.read.NewSelect().Model((*linkTagRow)(nil)).ColumnExpr("count(DISTINCT lt.tag)").
		Where("lt.organization_id = ?", organizationID).Where("lt.tag IN (?)", bun.List(tags)).Scan(ctx, &known); err != nil {
		return false, fmt.Errorf("finding tags of organization %s: %w", organizationID, err)
	}
	return known < len(tags), nil
}

// tagsFit returns link.TooMany where an organization has more different tags than it may.
func (s *Store) tagsFit(ctx context.Context, organizationID string, caps link.Caps) error {
	var tags int
	err := s.read.NewSelect().Model((*linkTagRow)(nil)).ColumnExpr("count(DISTINCT lt.tag)").
		Where("lt.organization_id = ?", organizationID).Scan(ctx, &tags)
	switch {
	case err != nil:
		return fmt.Errorf("counting the tags of organization %s: %w", organizationID, err)
	case tags > caps.Tags:
		return link.TooMany("different tags", caps.Tags)
	}
	return nil
}

// ListTags returns at most limit tags of an organization's links that are not deleted, in
// order, those after the given one.
func (s *Store) ListTags(ctx context.Context, organizationID, after string, limit int) ([]link.TagCount, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []struct {
		Tag   string
		Links int64
	}
	q := s.read.NewSelect().Model((*linkTagRow)(nil)).ColumnExpr("lt.tag").ColumnExpr("count(*) AS links").
		Where("lt.organization_id = ?", organizationID).Group("lt.tag")
	if err := page(q, "lt.tag", false, after, limit).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("listing the tags of organization %s: %w", organizationID, err)
	}
	tags := make([]link.TagCount, len(rows))
	for i, r := range rows {
		tags[i] = link.TagCount(r)
	}
	return tags, nil
}
