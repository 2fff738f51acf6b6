package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/tenant/website"
)

type flagSetRow struct {
	bun.BaseModel `bun:"table:flag_sets,alias:fs"`

	OrganizationID string `bun:"organization_id,pk"`
	Version        int64  `bun:"version"`
}

// raiseFlags makes the set of an organization's flags the next version, and announces that.
// It works only inside InTx, next to the change.
func (s *Store) raiseFlags(ctx context.Context, organizationID string, now time.Time) error {
	row := flagSetRow{OrganizationID: organizationID, Version: 1}
	if _, err := s.write.NewInsert().Model(&row).On("CONFLICT (organization_id) DO UPDATE").
		Set("version = fs.version + 1").Returning("version").Exec(ctx); err != nil {
		return fmt.Errorf("counting a change of the flags of organization %s: %w", organizationID, err)
	}
	return s.Announce(ctx, control.Change{
		Kind: control.Flags, ID: organizationID, OrganizationID: organizationID, Version: row.Version,
		Refs: []string{organizationID}, At: now,
	})
}

// raiseFlagsOf is raiseFlags of the organizations that have, or had, a website with flags or
// segments.
func (s *Store) raiseFlagsOf(ctx context.Context, websiteID string, now time.Time, organizations ...string) error {
	var has bool
	if err := s.read.NewRaw("SELECT EXISTS (SELECT 1 FROM flags WHERE website_id = ?) OR "+
		"EXISTS (SELECT 1 FROM flag_segments WHERE website_id = ?)", websiteID, websiteID).Scan(ctx, &has); err != nil {
		return fmt.Errorf("finding flags of website %s: %w", websiteID, err)
	}
	for _, id := range organizations {
		if !has {
			break
		}
		if err := s.raiseFlags(ctx, id, now); err != nil {
			return err
		}
	}
	return nil
}

// moveFlags gives the flags and segments of a website that is moved to its organization.
// What they refer to and that has not is not met there. It returns managed.TooMany where the
// organization would have more than it may.
func (s *Store) moveFlags(ctx context.Context, was, is *website.Website) error {
	for _, k := range []struct {
		model any
		what  string
		most  int
	}{
		{(*flagRow)(nil), "flags", flag.MaxFlags},
		{(*segmentRow)(nil), "segments", flag.MaxSegments},
	} {
		res, err := s.write.NewUpdate().Model(k.model).Set("organization_id = ?", is.OrganizationID).Where(
			"website_id = ?", is.ID).Exec(ctx)
		if err != nil {
			return fmt.Errorf("moving the %s of website %s: %w", k.what, is.ID, err)
		}
		n, err := res.RowsAffected()
		if err == nil && n > 0 {
			err = s.roomFor(ctx, k.model, k.what, is.OrganizationID, 0, k.most)
		}
		if err != nil {
			return err
		}
	}
	if err := s.trimVersions(ctx, is.OrganizationID); err != nil {
		return err
	}
	return s.raiseFlagsOf(ctx, is.ID, is.UpdatedAt, was.OrganizationID, is.OrganizationID)
}

// askFits asks whether a change may be made next to all that an organization has.
func (s *Store) askFits(ctx context.Context, organizationID string, fits flag.Fits) error {
	all, err := s.FlagOutlines(ctx, organizationID)
	if err != nil {
		return err
	}
	return fits(all)
}

// FlagOutlines returns the flags of an organization that are not archived, and its segments,
// as others refer to them; none of deleted websites.
func (s *Store) FlagOutlines(ctx context.Context, organizationID string) (*flag.Outlines, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var flags []flagRow
	if err := s.read.NewSelect().Model(&flags).Column("id", "website_id", "key", "refs").
		Where("f.organization_id = ?", organizationID).
		Where("f.state <> ?", string(flag.Archived)).Where(websiteLives, bun.Ident("f")).Scan(ctx); err != nil {
		return nil, fmt.Errorf("reading the references of flags of organization %s: %w", organizationID, err)
	}
	var segments []segmentRow
	if err := s.read.NewSelect().Model(&segments).Column("id", "website_id", "key").
		Where("sg.organization_id = ?", organizationID).
		Where(websiteLives, bun.Ident("sg")).Scan(ctx); err != nil {
		return nil, fmt.Errorf("reading the names of segments of organization %s: %w", organizationID, err)
	}
	all := &flag.Outlines{Flags: make([]flag.Outline, len(flags)), Segments: make([]flag.Outline, len(segments))}
	for i, r := range flags {
		all.Flags[i] = flag.Outline{ID: r.ID, WebsiteID: r.WebsiteID, Key: r.Key}
		if err := json.Unmarshal([]byte(r.Refs), &all.Flags[i].Refs); err != nil {
			return nil, fmt.Errorf("reading the references of flag %s: %w", r.ID, err)
		}
	}
	for i, r := range segments {
		all.Segments[i] = flag.Outline{ID: r.ID, WebsiteID: r.WebsiteID, Key: r.Key}
	}
	return all, nil
}
