package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/wire"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
)

type flagRow struct {
	bun.BaseModel `bun:"table:flags,alias:f"`

	ID             string  `bun:"id,pk"`
	OrganizationID string  `bun:"organization_id"`
	WebsiteID      string  `bun:"website_id,nullzero"`
	Version        int64   `bun:"version"`
	Key            string  `bun:"key"`
	Name           string  `bun:"name"`
	State          string  `bun:"state"`
	Tags           list    `bun:"tags"`
	About          string  `bun:"about"`      // flag.About
	Definition     string  `bun:"definition"` // flageval.Definition
	Refs           string  `bun:"refs"`       // flag.Refs
	CreatedAt      instant `bun:"created_at"`
	UpdatedAt      instant `bun:"updated_at"`
	CreatedBy      string  `bun:"created_by"`
	SearchText     string  `bun:"search_text"`
}

func newFlagRow(f *flag.Flag) (*flagRow, error) {
	row := &flagRow{
		ID: f.ID, OrganizationID: f.OrganizationID, WebsiteID: f.WebsiteID, Version: f.Version, Key: f.Key(), Name: f.Name,
		State: string(f.State), Tags: f.About.Tags, CreatedAt: at(f.CreatedAt), UpdatedAt: at(f.UpdatedAt),
		CreatedBy:  f.CreatedBy,
		SearchText: strings.ToLower(strings.Join([]string{f.Key(), f.Name, f.About.Description}, "\n")),
	}
	for column, v := range map[*string]any{&row.About: f.About, &row.Definition: f.Definition, &row.Refs: f.Refs()} {
		text, err := wire.CompactJSON(v)
		if err != nil {
			return nil, fmt.Errorf("encoding flag %s: %w", f.ID, err)
		}
		*column = string(text)
	}
	return row, nil
}

// flag returns the flag; without its definition where that was not read.
func (r *flagRow) flag() (*flag.Flag, error) {
	f := &flag.Flag{
		Record: managed.Record{
			ID: r.ID, OrganizationID: r.OrganizationID, Name: r.Name, Version: r.Version,
			CreatedAt: r.CreatedAt.Time, UpdatedAt: r.UpdatedAt.Time, CreatedBy: r.CreatedBy,
		},
		WebsiteID: r.WebsiteID, State: flag.State(r.State),
	}
	f.Definition.Key = r.Key
	for column, v := range map[*string]any{&r.About: &f.About, &r.Definition: &f.Definition} {
		if *column == "" {
			continue
		}
		if err := json.Unmarshal([]byte(*column), v); err != nil {
			return nil, fmt.Errorf("reading flag %s: %w", r.ID, err)
		}
	}
	return f, nil
}

// websiteLives is a condition on what belongs to a website that is not deleted, or to all
// of an organization, under the alias that is put in.
const websiteLives = "NOT EXISTS (SELECT 1 FROM websites AS w WHERE w.id = ?.website_id AND w.deleted_at IS NOT NULL)"

// CreateFlag adds a flag with its first version, its audit entry and the change event of the set.
// Errors are those that flag.Store says.
func (s *Store) CreateFlag(
	ctx context.Context, by audit.By, action managed.Action, f *flag.Flag, caps flag.Caps, fits flag.Fits,
) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		// Those who look at the organization's flags before they change one do it one after
		// the other.
		if err := tx.lockOrganization(ctx, f.OrganizationID, org.ErrNotFound); err != nil {
			return err
		}
		if err := tx.ofWebsite(ctx, f.OrganizationID, f.WebsiteID); err != nil {
			return err
		}
		if err := tx.roomFor(ctx, (*flagRow)(nil), "flags", f.OrganizationID, 1, caps.Flags); err != nil {
			return err
		}
		if _, err := tx.flagWhere(ctx,
			ofKey("f", f.OrganizationID, f.WebsiteID, f.Key())); !errors.Is(err, flag.ErrNotFound) {
			return firstOf(err, flag.ErrKeyTaken)
		}
		if err := tx.askFits(ctx, f.OrganizationID, fits); err != nil {
			return err
		}
		row, err := newFlagRow(f)
		if err != nil {
			return err
		}
		if _, err := tx.write.NewInsert().Model(row).Exec(ctx); err != nil {
			return tx.taken(err, "adding flag "+f.ID, flag.ErrKeyTaken)
		}
		return tx.journalFlag(ctx, by, action, nil, f, row)
	})
}

// SaveFlag replaces was by is, with its version, its audit entry and the change event of the set;
// one that is deleted is removed. A flag that is not at was.Version any more is
// managed.ErrChanged, and nothing is written.
func (s *Store) SaveFlag(
	ctx context.Context, by audit.By, action managed.Action, was, is *flag.Flag, fits flag.Fits,
) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		if err := tx.lockOrganization(ctx, is.OrganizationID, org.ErrNotFound); err != nil {
			return err
		}
		if err := tx.askFits(ctx, is.OrganizationID, fits); err != nil {
			return err
		}
		row, err := newFlagRow(is)
		if err != nil {
			return err
		}
		if err := tx.replace(ctx, row, was.Common(), is.Common()); err != nil {
			return fmt.Errorf("changing flag %s: %w", is.ID, err)
		}
		return tx.journalFlag(ctx, by, action, was, is, row)
	})
}

// replace writes the row of what a record becomes, or removes it, where the record is still
// what it was; else it returns managed.ErrChanged.
func (s *Store) replace(ctx context.Context, row any, was, is *managed.Record) error {
	var res sql.Result
	var err error
	if is.Deleted() {
		res, err = s.write.NewDelete().Model(row).Where("id = ?", was.ID).Where("organization_id = ?", was.OrganizationID).
			Where("version = ?", was.Version).Exec(ctx)
	} else {
		res, err = s.write.NewUpdate().Model(row).ExcludeColumn("id", "organization_id", "website_id", "key",
			"created_at", "created_by").
			Where("id = ?", was.ID).Where("organization_id = ?", was.OrganizationID).Where("version = ?", was.Version).Exec(ctx)
	}
	if err != nil {
		return err
	}
	return mustTouch(res, managed.ErrChanged)
}

// journalFlag keeps what a flag is now as a version, and remembers and announces the change.
func (s *Store) journalFlag(
	ctx context.Context, by audit.By, action managed.Action, was, is *flag.Flag, row *flagRow,
) error {
	if !is.Deleted() {
		if err := s.keepVersion(ctx, by, action, was, is, row); err != nil {
			return err
		}
	}
	if err := journal(ctx, s, &flag.Noun, by, action, was, is); err != nil {
		return err
	}
	return s.raiseFlags(ctx, is.OrganizationID, is.UpdatedAt)
}

// ofWebsite returns website.ErrNotFound for a website that an organization has not.
func (s *Store) ofWebsite(ctx context.Context, organizationID, websiteID string) error {
	if websiteID == "" {
		return nil
	}
	found, err := s.read.NewSelect().Model((*websiteRow)(nil)).Where("w.id = ?", websiteID).
		Where("w.organization_id = ?", organizationID).Where("w.deleted_at IS NULL").Exists(ctx)
	if err == nil && !found {
		return website.ErrNotFound
	}
	return err
}

// roomFor returns managed.TooMany where an organization would have more of something than
// it may.
func (s *Store) roomFor(ctx context.Context, model any, what, organizationID string, more, most int) error {
	n, err := s.read.NewSelect().Model(model).Where("organization_id = ?", organizationID).Count(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("counting the %s of organization %s: %w", what, organizationID, err)
	case int(n)+more > most:
		return managed.TooMany(what, most)
	}
	return nil
}

// taken tells that a name is another record's already.
func (s *Store) taken(err error, doing string, known error) error {
	if s.dialect.violation(err) == uniqueViolation {
		return known
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// firstOf returns err, or other where that is nil.
func firstOf(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// where is a condition.
type where struct {
	is   string
	args []any
}

// ofKey selects the flag or segment, under an alias, of a website or with an empty one of all
// websites, that has a key.
func ofKey(alias, organizationID, websiteID, key string) where {
	a := bun.Ident(alias)
	if websiteID == "" {
		return where{"?.organization_id = ? AND ?.website_id IS NULL AND ?.key = ?", []any{a, organizationID, a, a, key}}
	}
	return where{
		"?.organization_id = ? AND ?.website_id = ? AND ?.key = ?", []any{a, organizationID, a, websiteID, a, key},
	}
}

// readAll makes nouns of rows.
func readAll[R, N any](rows []R, read func(*R) (N, error)) ([]N, error) {
	all := make([]N, len(rows))
	for i := range rows {
		var err error
		if all[i], err = read(&rows[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// FlagByID returns a flag of whatever organization, or flag.ErrNotFound. As for the others,
// one of a deleted organization or website is not found.
func (s *Store) FlagByID(ctx context.Context, id string) (*flag.Flag, error) {
	return s.flagWhere(ctx, where{"f.id = ?", []any{id}})
}

// FlagByKey returns the flag of a website, or with an empty one of all websites, that has a
// key, or flag.ErrNotFound.
func (s *Store) FlagByKey(ctx context.Context, organizationID, websiteID, key string) (*flag.Flag, error) {
	return s.flagWhere(ctx, ofKey("f", organizationID, websiteID, key))
}

func (s *Store) flagWhere(ctx context.Context, w where) (*flag.Flag, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var row flagRow
	err := s.read.NewSelect().Model(&row).Where(w.is, w.args...).
		Where(ownerLives, bun.Ident("f")).Where(websiteLives, bun.Ident("f")).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, flag.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("reading a flag: %w", err)
	}
	return row.flag()
}

// FlagsByID returns those of the flags that an organization has. Definitions with more than
// flag.MaxReadBytes together are a Validation error.
func (s *Store) FlagsByID(ctx context.Context, organizationID string, ids []string) ([]*flag.Flag, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if len(ids)*flag.MaxBytes > flag.MaxReadBytes {
		if err := s.mayRead(ctx, organizationID, ids); err != nil {
			return nil, err
		}
	}
	return s.flagsOf(ctx, organizationID,
		func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where("f.id IN (?)", bun.List(ids)) })
}

// mayRead rejects flags whose definitions are too large together.
func (s *Store) mayRead(ctx context.Context, organizationID string, ids []string) error {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var size int64
	if err := s.read.NewSelect().Model((*flagRow)(nil)).ColumnExpr("COALESCE(SUM(octet_length(f.definition)), 0)").
		Where("f.organization_id = ?", organizationID).Where("f.id IN (?)", bun.List(ids)).Scan(ctx, &size); err != nil {
		return fmt.Errorf("adding up the definitions of flags of organization %s: %w", organizationID, err)
	}
	if size > flag.MaxReadBytes {
		return apierr.Invalid("", "too_large", fmt.Sprintf("The flags and those that they depend on have definitions of "+
			"%d bytes; at most %d are evaluated at once", size, flag.MaxReadBytes))
	}
	return nil
}

// ListFlags returns the flags that f selects, without their definitions.
func (s *Store) ListFlags(ctx context.Context, f flag.Filter) ([]*flag.Flag, error) {
	return s.flagsOf(ctx, f.OrganizationID, func(q *bun.SelectQuery) *bun.SelectQuery {
		q = selected(q.ExcludeColumn("definition", "refs"), "f", &f)
		if f.Tag != "" {
			q = q.Where(s.dialect.holds, bun.Ident("f.tags"), f.Tag)
		}
		if f.State == "" {
			return q.Where("f.state <> ?", string(flag.Archived))
		}
		return q.Where("f.state = ?", string(f.State))
	})
}

// selected is what the filters of flags and segments have in common.
func selected(q *bun.SelectQuery, alias string, f *flag.Filter) *bun.SelectQuery {
	if f.WebsiteID != "" {
		q = q.Where("?.website_id = ?", bun.Ident(alias), f.WebsiteID)
	}
	if f.Shared {
		q = q.Where("?.website_id IS NULL", bun.Ident(alias))
	}
	if f.Search != "" {
		q = q.Where("?.search_text LIKE ? ESCAPE '!'", bun.Ident(alias), "%"+escapeLike(strings.ToLower(f.Search))+"%")
	}
	return page(q, alias+".id", f.Newest, f.After, f.Limit)
}

func (s *Store) flagsOf(
	ctx context.Context, organizationID string, selected func(*bun.SelectQuery) *bun.SelectQuery,
) ([]*flag.Flag, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []flagRow
	q := s.read.NewSelect().Model(&rows).Where("f.organization_id = ?", organizationID).Where(websiteLives, bun.Ident("f"))
	if err := selected(q).Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing flags of organization %s: %w", organizationID, err)
	}
	return readAll(rows, (*flagRow).flag)
}
