package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
)

type websiteRow struct {
	bun.BaseModel `bun:"table:websites,alias:w"`

	ID                  string  `bun:"id,pk"`
	OrganizationID      string  `bun:"organization_id,nullzero"`
	Version             int64   `bun:"version"`
	ClientID            string  `bun:"client_id"`
	OldClientID         string  `bun:"old_client_id,nullzero"`
	OldClientIDUntil    instant `bun:"old_client_id_until"`
	Name                string  `bun:"name"`
	Domain              string  `bun:"domain"`
	Timezone            string  `bun:"timezone"`
	AnonymizeVisitorIDs string  `bun:"anonymize_visitor_ids"`
	AllowedOrigins      list    `bun:"allowed_origins"`
	AllowedIPs          list    `bun:"allowed_ips"`
	Public              bool    `bun:"public"`
	Settings            string  `bun:"settings"` // websiteSettings
	CreatedAt           instant `bun:"created_at"`
	UpdatedAt           instant `bun:"updated_at"`
	DeletedAt           instant `bun:"deleted_at"`
	CreatedBy           string  `bun:"created_by"`
	SearchText          string  `bun:"search_text"`
}

// websiteSettings are the settings that no query asks for, as the column holds
// them. What is absent has the default, so that a row from before a setting means
// what it meant.
type websiteSettings struct {
	ExcludedPaths         []string `json:"excludedPaths,omitempty"`
	ExcludedIPs           []string `json:"excludedIps,omitempty"`
	MaskPatterns          []string `json:"maskPatterns,omitempty"`
	SessionTimeoutMinutes int      `json:"sessionTimeoutMinutes,omitempty"`
	KeepBots              bool     `json:"keepBots,omitempty"`
	HonorGPC              bool     `json:"honorGlobalPrivacyControl,omitempty"`
	HonorDNT              bool     `json:"honorDoNotTrack,omitempty"`
	DataRetentionDays     int      `json:"dataRetentionDays,omitempty"`
	TrackQueryParams      []string `json:"trackQueryParams,omitempty"`
}

func newWebsiteRow(w *website.Website) (*websiteRow, error) {
	settings, err := json.Marshal(websiteSettings{
		ExcludedPaths: w.ExcludedPaths, ExcludedIPs: w.ExcludedIPs, MaskPatterns: w.MaskPatterns,
		SessionTimeoutMinutes: w.SessionTimeoutMinutes, KeepBots: w.KeepBots,
		HonorGPC: w.HonorGlobalPrivacyControl, HonorDNT: w.HonorDoNotTrack,
		DataRetentionDays: w.DataRetentionDays, TrackQueryParams: w.TrackQueryParams,
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the settings of website %s: %w", w.ID, err)
	}
	row := &websiteRow{
		ID: w.ID, OrganizationID: w.OrganizationID, Version: max(w.Version, 1),
		ClientID: w.ClientID, OldClientID: w.OldClientID, OldClientIDUntil: at(w.OldClientIDUntil),
		Name: w.Name, Domain: w.Domain, Timezone: w.Timezone, AnonymizeVisitorIDs: w.AnonymizeVisitorIDs,
		AllowedOrigins: w.AllowedOrigins, AllowedIPs: w.AllowedIPs, Public: w.Public, Settings: string(settings),
		CreatedAt: at(w.CreatedAt), UpdatedAt: at(w.UpdatedAt), DeletedAt: at(w.DeletedAt), CreatedBy: w.CreatedBy,
		SearchText: strings.ToLower(w.Name) + " " + w.Domain,
	}
	if row.AnonymizeVisitorIDs == "" {
		row.AnonymizeVisitorIDs = "true"
	}
	if row.Timezone == "" {
		row.Timezone = "UTC"
	}
	return row, nil
}

func (r *websiteRow) website() (*website.Website, error) {
	var more websiteSettings
	if err := json.Unmarshal([]byte(r.Settings), &more); err != nil {
		return nil, fmt.Errorf("reading the settings of website %s: %w", r.ID, err)
	}
	if more.SessionTimeoutMinutes == 0 {
		more.SessionTimeoutMinutes = website.DefaultSessionTimeout
	}
	w := r.brief()
	w.Settings = website.Settings{
		AllowedOrigins: r.AllowedOrigins, AllowedIPs: r.AllowedIPs, AnonymizeVisitorIDs: r.AnonymizeVisitorIDs,
		ExcludedPaths: more.ExcludedPaths, ExcludedIPs: more.ExcludedIPs, MaskPatterns: more.MaskPatterns,
		SessionTimeoutMinutes: more.SessionTimeoutMinutes, KeepBots: more.KeepBots,
		HonorGlobalPrivacyControl: more.HonorGPC, HonorDoNotTrack: more.HonorDNT,
		DataRetentionDays: more.DataRetentionDays, TrackQueryParams: more.TrackQueryParams,
	}
	return w, nil
}

// brief is the website without its settings.
func (r *websiteRow) brief() *website.Website {
	return &website.Website{
		Record: managed.Record{
			ID: r.ID, OrganizationID: r.OrganizationID, Version: r.Version, Name: r.Name, CreatedAt: r.CreatedAt.Time,
			UpdatedAt: r.UpdatedAt.Time, DeletedAt: r.DeletedAt.Time, CreatedBy: r.CreatedBy,
		},
		ClientID: r.ClientID, OldClientID: r.OldClientID, OldClientIDUntil: r.OldClientIDUntil.Time,
		Domain: r.Domain, Timezone: r.Timezone, Public: r.Public,
	}
}

// settingColumns hold the settings.
var settingColumns = []string{"settings", "allowed_origins", "allowed_ips", "anonymize_visitor_ids"}

// CreateWebsite adds a website, its audit entry and its change event. It returns
// website.ErrClientIDTaken when another website bears the client id,
// website.ErrDomainTaken when another one of the organization has the domain, and
// org.ErrNotFound for an organization that does not exist.
func (s *Store) CreateWebsite(ctx context.Context, by audit.By, w *website.Website) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		if err := tx.domainFree(ctx, w); err != nil {
			return err
		}
		row, err := newWebsiteRow(w)
		if err != nil {
			return err
		}
		_, err = tx.write.NewInsert().Model(row).Exec(ctx)
		if tx.dialect.violation(err) == foreignKeyViolation {
			return org.ErrNotFound
		}
		if err != nil {
			return tx.websiteViolation(err, "adding", w)
		}
		return journal(ctx, tx, &website.Noun, by, managed.Created, nil, w)
	})
}

// SaveWebsite replaces was by is, with its audit entry and its change event. A website
// that is not at was.Version any more is managed.ErrChanged, and nothing is
// written; other errors are those of CreateWebsite.
func (s *Store) SaveWebsite(ctx context.Context, by audit.By, action managed.Action, was, is *website.Website) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		if err := tx.domainFree(ctx, is); err != nil {
			return err
		}
		row, err := newWebsiteRow(is)
		if err != nil {
			return err
		}
		res, err := tx.write.NewUpdate().Model(row).ExcludeColumn("id", "organization_id", "created_at", "created_by").
			Where("id = ?", was.ID).Where("version = ?", was.Version).Exec(ctx)
		if err != nil {
			return tx.websiteViolation(err, "changing", is)
		}
		if err := mustTouch(res, managed.ErrChanged); err != nil {
			return err
		}
		if err := journal(ctx, tx, &website.Noun, by, action, was, is); err != nil || was.Deleted() == is.Deleted() {
			return err
		}
		return tx.raiseFlagsOf(ctx, is.ID, is.UpdatedAt, is.OrganizationID) // they are not found, or are again
	})
}

// domainFree returns website.ErrDomainTaken when another website has the domain
// now. Of two who ask at the same time, the index rejects one.
func (s *Store) domainFree(ctx context.Context, w *website.Website) error {
	if !w.DeletedAt.IsZero() {
		return nil
	}
	taken, err := s.read.NewSelect().Model((*websiteRow)(nil)).Where("w.organization_id = ?", w.OrganizationID).
		Where("w.domain = ?", w.Domain).Where("w.deleted_at IS NULL").Where("w.id <> ?", w.ID).Exists(ctx)
	if err != nil {
		return fmt.Errorf("finding the domain of website %s: %w", w.ID, err)
	}
	if taken {
		return website.ErrDomainTaken
	}
	return nil
}

// websiteViolation says which unique thing was taken: the index tells its name
// in the text of either database.
func (s *Store) websiteViolation(err error, doing string, w *website.Website) error {
	switch {
	case s.dialect.violation(err) != uniqueViolation:
		return fmt.Errorf("%s website %s: %w", doing, w.ID, err)
	case strings.Contains(err.Error(), "domain"):
		return website.ErrDomainTaken
	default:
		return website.ErrClientIDTaken
	}
}

// WebsiteByID returns a website that is not deleted, nor its organization, or
// website.ErrNotFound.
func (s *Store) WebsiteByID(ctx context.Context, id string) (*website.Website, error) {
	return s.websiteWhere(ctx, "w.id = ? AND w.deleted_at IS NULL AND "+ownerLives, id, bun.Ident("w"))
}

// WebsiteByClientID returns the website that bears a client id, or bore it until
// a rotation whose grace is not over; else, also when it or its organization is
// deleted, website.ErrNotFound.
func (s *Store) WebsiteByClientID(ctx context.Context, clientID string) (*website.Website, error) {
	return s.websiteWhere(ctx,
		"(w.client_id = ? OR (w.old_client_id = ? AND w.old_client_id_until > ?)) AND w.deleted_at IS NULL AND "+ownerLives,
		clientID, clientID, at(s.opts.Now()), bun.Ident("w"))
}

// AnyWebsite returns the website with an id, or else a client id as
// WebsiteByClientID says, also a deleted one; else website.ErrNotFound.
func (s *Store) AnyWebsite(ctx context.Context, ref string) (*website.Website, error) {
	w, err := s.websiteWhere(ctx, "w.id = ?", ref)
	if errors.Is(err, website.ErrNotFound) {
		return s.websiteWhere(ctx, "w.client_id = ? OR (w.old_client_id = ? AND w.old_client_id_until > ?)",
			ref, ref, at(s.opts.Now()))
	}
	return w, err
}

func (s *Store) websiteWhere(ctx context.Context, where string, args ...any) (*website.Website, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var row websiteRow
	// One client id can be the current one of one website and the old one of
	// another only by hand; the current one wins.
	err := s.read.NewSelect().Model(&row).Where(where, args...).
		OrderExpr("w.old_client_id IS NOT NULL").Limit(1).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, website.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("reading a website: %w", err)
	}
	return row.website()
}

// ListWebsites returns the websites that f selects.
func (s *Store) ListWebsites(ctx context.Context, f website.Filter) ([]*website.Website, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []websiteRow
	q := s.read.NewSelect().Model(&rows).Where("w.organization_id = ?", f.OrganizationID)
	if f.DeletedAfter.IsZero() {
		q = q.Where("w.deleted_at IS NULL")
	} else {
		q = q.Where("w.deleted_at > ?", at(f.DeletedAfter))
	}
	if f.ID != "" {
		q = q.Where("w.id = ?", f.ID)
	}
	if f.Search != "" {
		q = q.Where("w.search_text LIKE ? ESCAPE '!'", "%"+escapeLike(strings.ToLower(f.Search))+"%")
	}
	if f.Brief {
		q = q.ExcludeColumn(settingColumns...)
	}
	if err := page(q, "w.id", f.Newest, f.After, f.Limit).Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing websites of organization %s: %w", f.OrganizationID, err)
	}
	all := make([]*website.Website, len(rows))
	for i := range rows {
		var err error
		if f.Brief {
			all[i] = rows[i].brief()
		} else if all[i], err = rows[i].website(); err != nil {
			return nil, err
		}
	}
	return all, nil
}
