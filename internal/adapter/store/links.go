package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
)

type linkRow struct {
	bun.BaseModel `bun:"table:links,alias:l"`

	ID             string  `bun:"id,pk"`
	OrganizationID string  `bun:"organization_id,nullzero"`
	Version        int64   `bun:"version"`
	Slug           string  `bun:"slug"`
	SlugKey        string  `bun:"slug_key"`
	URL            string  `bun:"url"`
	Name           string  `bun:"name"`
	FolderID       string  `bun:"folder_id,nullzero"`
	Tags           list    `bun:"tags"`
	ExternalID     string  `bun:"external_id,nullzero"`
	Enabled        bool    `bun:"enabled"`
	StartsAt       instant `bun:"starts_at"`
	ExpiresAt      instant `bun:"expires_at"`
	ExpiredURL     string  `bun:"expired_url"`
	MaxClicks      int64   `bun:"max_clicks"`
	PasswordHash   string  `bun:"password_hash"`
	RedirectStatus int     `bun:"redirect_status"`
	ForwardQuery   bool    `bun:"forward_query"`
	UTM            string  `bun:"utm"`      // link.UTM
	Rules          string  `bun:"rules"`    // []link.Rule
	Variants       string  `bun:"variants"` // []link.Variant
	Preview        string  `bun:"preview"`  // link.Preview
	Secret         string  `bun:"secret"`   // in hexadecimal
	CreatedAt      instant `bun:"created_at"`
	UpdatedAt      instant `bun:"updated_at"`
	DeletedAt      instant `bun:"deleted_at"`
	CreatedBy      string  `bun:"created_by"`
	SearchText     string  `bun:"search_text"`
	DomainID       string  `bun:"domain_id"`
	Uses           int64   `bun:"uses,scanonly"`
	Blocked        bool    `bun:"blocked,scanonly"`
	Hostname       string  `bun:"hostname,scanonly"`       // of the domain
	CaseSensitive  bool    `bun:"case_sensitive,scanonly"` // likewise
}

func newLinkRow(l *link.Link) (*linkRow, error) {
	row := &linkRow{
		ID: l.ID, OrganizationID: l.OrganizationID, Version: l.Version, DomainID: l.DomainID, Slug: l.Slug, SlugKey: l.Key(),
		URL: l.URL, Name: l.Name, FolderID: l.FolderID, Tags: l.Tags, ExternalID: l.ExternalID, Enabled: l.Enabled,
		StartsAt: at(l.StartsAt), ExpiresAt: at(l.ExpiresAt), ExpiredURL: l.ExpiredURL, MaxClicks: l.MaxClicks,
		PasswordHash: l.PasswordHash, RedirectStatus: l.RedirectStatus, ForwardQuery: l.ForwardQuery,
		Secret:    hex.EncodeToString(l.Secret),
		CreatedAt: at(l.CreatedAt), UpdatedAt: at(l.UpdatedAt), DeletedAt: at(l.DeletedAt), CreatedBy: l.CreatedBy,
		SearchText: strings.ToLower(strings.Join([]string{l.Slug, l.Name, l.URL, l.ExternalID}, "\n")),
	}
	for column, v := range map[*string]any{
		&row.UTM: l.UTM, &row.Rules: orEmpty(l.Rules), &row.Variants: orEmpty(l.Variants), &row.Preview: l.Preview,
	} {
		text, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("encoding link %s: %w", l.ID, err)
		}
		*column = string(text)
	}
	return row, nil
}

// orEmpty is an empty list instead of none, whose JSON is an array.
func orEmpty[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

func (r *linkRow) link() (*link.Link, error) {
	l := &link.Link{
		Record: managed.Record{
			ID: r.ID, OrganizationID: r.OrganizationID, Name: r.Name, Version: r.Version,
			CreatedAt: r.CreatedAt.Time, UpdatedAt: r.UpdatedAt.Time, DeletedAt: r.DeletedAt.Time, CreatedBy: r.CreatedBy,
		},
		DomainID: r.DomainID, Hostname: r.Hostname, CaseSensitive: r.CaseSensitive, Slug: r.Slug, URL: r.URL,
		FolderID: r.FolderID, Tags: r.Tags, ExternalID: r.ExternalID, Enabled: r.Enabled,
		StartsAt: r.StartsAt.Time, ExpiresAt: r.ExpiresAt.Time, ExpiredURL: r.ExpiredURL, MaxClicks: r.MaxClicks,
		PasswordHash: r.PasswordHash, RedirectStatus: r.RedirectStatus, ForwardQuery: r.ForwardQuery, Uses: r.Uses,
		Blocked: r.Blocked,
	}
	for column, v := range map[*string]any{
		&r.UTM: &l.UTM, &r.Rules: &l.Rules, &r.Variants: &l.Variants, &r.Preview: &l.Preview,
	} {
		if *column == "[]" {
			continue // read as none
		}
		if err := json.Unmarshal([]byte(*column), v); err != nil {
			return nil, fmt.Errorf("reading link %s: %w", r.ID, err)
		}
	}
	var err error
	if l.Secret, err = hex.DecodeString(r.Secret); err != nil {
		return nil, fmt.Errorf("reading the secret of link %s: %w", r.ID, err)
	}
	return l, nil
}

// CreateLink adds a link and its audit entry. It returns the errors that link.Store says,
// and org.ErrNotFound for an organization that does not exist.
func (s *Store) CreateLink(ctx context.Context, by audit.By, l *link.Link, caps link.Caps) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		// Those who count the organization's links do it one after the other.
		if err := tx.lockOrganization(ctx, l.OrganizationID, org.ErrNotFound); err != nil {
			return err
		}
		if err := tx.takeSlug(ctx, l); err != nil {
			return err
		}
		if err := tx.linkFits(ctx, l, caps); err != nil {
			return err
		}
		if err := tx.ownReferences(ctx, l); err != nil {
			return err
		}
		row, err := newLinkRow(l)
		if err != nil {
			return err
		}
		if _, err := tx.write.NewInsert().Model(row).Exec(ctx); err != nil {
			return tx.linkViolation(err, "adding", l)
		}
		if err := tx.noteHosts(ctx, nil, l); err != nil {
			return err
		}
		if err := tx.tagLink(ctx, l, caps); err != nil {
			return err
		}
		return tx.journalLink(ctx, by, managed.Created, nil, l)
	})
}

// SaveLink replaces was by is, with its audit entry. A link that is not at was.Version any
// more is managed.ErrChanged, and nothing is written; other errors are those of CreateLink.
// How many of its clicks are used up is not touched.
func (s *Store) SaveLink(
	ctx context.Context, by audit.By, action managed.Action, was, is *link.Link, caps link.Caps,
) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		if err := tx.lockOrganization(ctx, is.OrganizationID, org.ErrNotFound); err != nil {
			return err
		}
		if was.Slug != is.Slug || was.DomainID != is.DomainID {
			if err := tx.takeSlug(ctx, is); err != nil {
				return err
			}
		}
		if was.Deleted() && !is.Deleted() {
			if err := tx.linkFits(ctx, is, caps); err != nil {
				return err
			}
		}
		if err := tx.ownReferences(ctx, is); err != nil {
			return err
		}
		row, err := newLinkRow(is)
		if err != nil {
			return err
		}
		res, err := tx.write.NewUpdate().Model(row).ExcludeColumn("id", "organization_id", "created_at", "created_by").
			Where("id = ?", was.ID).Where("version = ?", was.Version).Exec(ctx)
		if err != nil {
			return tx.linkViolation(err, "changing", is)
		}
		if err := mustTouch(res, managed.ErrChanged); err != nil {
			return err
		}
		if err := tx.noteHosts(ctx, was, is); err != nil {
			return err
		}
		if err := tx.tagLink(ctx, is, caps); err != nil {
			return err
		}
		if err := tx.keepBlocked(ctx, was, is); err != nil {
			return err
		}
		return tx.journalLink(ctx, by, action, was, is)
	})
}

// takeSlug gives a link's slug to its organization, on the shared host for good. Whose it is
// already, and which link bears it, is looked at before the row is written: a constraint that
// is broken ends the transaction, and says less.
func (s *Store) takeSlug(ctx context.Context, l *link.Link) error {
	key := l.Key()
	if l.DomainID == "" {
		_, err := s.write.NewRaw(
			"INSERT INTO link_slugs (slug_key, organization_id) VALUES (?, ?) ON CONFLICT (slug_key) DO NOTHING",
			key, l.OrganizationID).Exec(ctx)
		if err != nil {
			return fmt.Errorf("taking the slug of link %s: %w", l.ID, err)
		}
	}
	taken, err := s.slugTaken(ctx, l.OrganizationID, key, l.ID)
	if err == nil && taken {
		return link.ErrSlugTaken
	}
	return err
}

// SlugTaken reports whether an organization cannot have a slug, by its key: another one has
// had it, or one of its links bears it, deleted or not.
func (s *Store) SlugTaken(ctx context.Context, organizationID, key string) (bool, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	return s.slugTaken(ctx, organizationID, key, "")
}

func (s *Store) slugTaken(ctx context.Context, organizationID, key, except string) (taken bool, err error) {
	err = s.read.NewRaw("SELECT EXISTS (SELECT 1 FROM link_slugs WHERE slug_key = ? AND organization_id <> ?) OR "+
		"EXISTS (SELECT 1 FROM links WHERE slug_key = ? AND id <> ?)", key, organizationID, key, except).Scan(ctx, &taken)
	if err != nil {
		return false, fmt.Errorf("finding slug %s: %w", key, err)
	}
	return taken, nil
}

// linkFits returns link.TooMany where the organization has as many links as it may.
func (s *Store) linkFits(ctx context.Context, l *link.Link, caps link.Caps) error {
	n, err := s.read.NewSelect().Model((*linkRow)(nil)).Where("l.organization_id = ?", l.OrganizationID).
		Where("l.deleted_at IS NULL").Count(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("counting the links of organization %s: %w", l.OrganizationID, err)
	case int(n) >= caps.Links:
		return link.TooMany("links", caps.Links)
	}
	return nil
}

// linkViolation says which constraint was broken: it tells its name in the text of either
// database.
func (s *Store) linkViolation(err error, doing string, l *link.Link) error {
	switch {
	case s.dialect.violation(err) != uniqueViolation:
		return fmt.Errorf("%s link %s: %w", doing, l.ID, err)
	case strings.Contains(err.Error(), "external_id"):
		return link.ErrExternalIDTaken
	default:
		return link.ErrSlugTaken
	}
}

// LinkByID returns a link of whatever organization, also a deleted one, or
// link.ErrNotFound. As for the others, a link of a deleted organization is not found.
func (s *Store) LinkByID(ctx context.Context, id string) (*link.Link, error) {
	return s.linkWhere(ctx, "l.id = ?", id)
}

// LinkByExternalID returns an organization's link that is not deleted, or
// link.ErrNotFound.
func (s *Store) LinkByExternalID(ctx context.Context, organizationID, externalID string) (*link.Link, error) {
	return s.linkWhere(ctx, "l.organization_id = ? AND l.external_id = ? AND l.deleted_at IS NULL",
		organizationID, externalID)
}

// LinkByKey returns an organization's link that is not deleted, or link.ErrNotFound.
func (s *Store) LinkByKey(ctx context.Context, organizationID, key string) (*link.Link, error) {
	return s.linkWhere(ctx, "l.organization_id = ? AND l.slug_key = ? AND l.deleted_at IS NULL", organizationID, key)
}

// used are the clicks that a link has used up.
const used = "coalesce((SELECT u.used FROM link_uses AS u WHERE u.link_id = l.id), 0)"

func (s *Store) linkWhere(ctx context.Context, where string, args ...any) (*link.Link, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var row linkRow
	err := withDomain(s.read.NewSelect().Model(&row).ColumnExpr("?TableColumns").ColumnExpr(used+" AS uses").
		ColumnExpr(linkBlocked+" AS blocked")).Where(where, args...).
		Where(ownerLives, bun.Ident("l")).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, link.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("reading a link: %w", err)
	}
	return row.link()
}

// ListLinks returns the links that f selects.
func (s *Store) ListLinks(ctx context.Context, f link.Filter) ([]*link.Link, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []linkRow
	q := withDomain(s.read.NewSelect().Model(&rows).ColumnExpr("?TableColumns").ColumnExpr(used+" AS uses").
		ColumnExpr(linkBlocked+" AS blocked")).
		Where("l.organization_id = ?", f.OrganizationID)
	if f.Domain != "" {
		q = q.Where("l.domain_id = ?", f.DomainID).Where("l.domain_id <> ''")
	}
	if f.Shared {
		q = q.Where("l.domain_id = ''")
	}
	if f.FolderID != "" {
		q = q.Where("l.folder_id = ?", f.FolderID)
	}
	if f.Unfiled {
		q = q.Where("l.folder_id IS NULL")
	}
	if f.Tag != "" {
		q = q.Where("l.id IN (SELECT lt.link_id FROM link_tags AS lt WHERE lt.organization_id = ? AND lt.tag = ?)",
			f.OrganizationID, f.Tag)
	}
	if f.Search != "" {
		q = q.Where("l.search_text LIKE ? ESCAPE '!'", "%"+escapeLike(strings.ToLower(f.Search))+"%")
	}
	q = withLinkStatus(q, f.Status, f.Now)
	if err := page(q, "l.id", f.Newest, f.After, f.Limit).Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing links of organization %s: %w", f.OrganizationID, err)
	}
	links := make([]*link.Link, len(rows))
	for i := range rows {
		var err error
		if links[i], err = rows[i].link(); err != nil {
			return nil, err
		}
	}
	return links, nil
}

// withLinkStatus selects links by what Link.Status says of them at now.
func withLinkStatus(q *bun.SelectQuery, status link.Status, now time.Time) *bun.SelectQuery {
	if status == link.Deleted {
		return q.Where("l.deleted_at > ?", at(now.Add(-link.RestoreFor)))
	}
	q = q.Where("l.deleted_at IS NULL")
	if status == link.Blocked {
		return q.Where("l.id IN (" + blockedLinks + ")")
	}
	conditions := []struct {
		status link.Status
		is     string
		args   []any
	}{
		{link.Blocked, linkBlocked, nil},
		{link.Disabled, "NOT l.enabled", nil},
		{link.Scheduled, "coalesce(l.starts_at, 0) > ?", []any{at(now)}},
		{link.Expired, "coalesce(l.expires_at <= ?, FALSE)", []any{at(now)}},
		{link.Exhausted, "(l.max_clicks > 0 AND " + used + " >= l.max_clicks)", nil},
	}
	if status == "" {
		return q
	}
	// The first that holds is the status; Active is none of them.
	for _, c := range conditions {
		if c.status == status {
			return q.Where(c.is, c.args...)
		}
		q = q.Where("NOT ("+c.is+")", c.args...)
	}
	return q
}
