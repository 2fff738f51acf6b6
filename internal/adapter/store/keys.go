package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/platform/cidr"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
)

type keyRow struct {
	bun.BaseModel `bun:"table:api_keys,alias:k"`

	ID                string  `bun:"id,pk"`
	OrganizationID    string  `bun:"organization_id,nullzero"`
	WebsiteID         string  `bun:"website_id,nullzero"`
	Version           int64   `bun:"version"`
	Name              string  `bun:"name"`
	Start             string  `bun:"start"`
	Hash              []byte  `bun:"hash"`
	OldHash           []byte  `bun:"old_hash"`
	OldHashUntil      instant `bun:"old_hash_until"`
	Scopes            list    `bun:"scopes"`
	RateLimitEnabled  bool    `bun:"rate_limit_enabled"`
	RateLimit         int     `bun:"rate_limit"`
	RateWindowSeconds int64   `bun:"rate_window_seconds"`
	IPAllow           list    `bun:"ip_allow"`
	IdleExpiryDays    int     `bun:"idle_expiry_days"`
	Tags              list    `bun:"tags"`
	ExpiresAt         instant `bun:"expires_at"`
	RevokedAt         instant `bun:"revoked_at"`
	DeletedAt         instant `bun:"deleted_at"`
	RotatedAt         instant `bun:"rotated_at"`
	LastUsedAt        instant `bun:"last_used_at"`
	CreatedAt         instant `bun:"created_at"`
	UpdatedAt         instant `bun:"updated_at"`
	CreatedBy         string  `bun:"created_by"`
	SearchText        string  `bun:"search_text"`
}

func newKeyRow(k *apikey.Key) *keyRow {
	row := &keyRow{
		ID: k.ID, OrganizationID: k.OrganizationID, WebsiteID: k.WebsiteID, Version: max(k.Version, 1),
		Name: k.Name, Start: k.Start, Hash: k.Hash[:], Scopes: k.Scopes,
		RateLimitEnabled: k.RateLimit.Enabled, RateLimit: k.RateLimit.Limit,
		RateWindowSeconds: int64(k.RateLimit.Window / time.Second),
		IPAllow:           cidr.Format(k.IPAllow), IdleExpiryDays: k.IdleExpiryDays, Tags: k.Tags,
		ExpiresAt: at(k.ExpiresAt), RevokedAt: at(k.RevokedAt), DeletedAt: at(k.DeletedAt), RotatedAt: at(k.RotatedAt),
		LastUsedAt: at(k.LastUsedAt), CreatedAt: at(k.CreatedAt), UpdatedAt: at(k.UpdatedAt), CreatedBy: k.CreatedBy,
		SearchText: strings.ToLower(k.Name),
	}
	if !k.OldHashUntil.IsZero() {
		row.OldHash, row.OldHashUntil = k.OldHash[:], at(k.OldHashUntil)
	}
	return row
}

func (r *keyRow) key() (*apikey.Key, error) {
	k := &apikey.Key{
		Record: managed.Record{
			ID: r.ID, OrganizationID: r.OrganizationID, Version: r.Version, Name: r.Name, DeletedAt: r.DeletedAt.Time,
			CreatedAt: r.CreatedAt.Time, UpdatedAt: r.UpdatedAt.Time, CreatedBy: r.CreatedBy,
		}, WebsiteID: r.WebsiteID,
		Start: r.Start, OldHashUntil: r.OldHashUntil.Time, Scopes: r.Scopes,
		RateLimit: apikey.RateLimit{
			Enabled: r.RateLimitEnabled, Limit: r.RateLimit, Window: time.Duration(r.RateWindowSeconds) * time.Second,
		},
		IdleExpiryDays: r.IdleExpiryDays, Tags: r.Tags,
		ExpiresAt: r.ExpiresAt.Time, RevokedAt: r.RevokedAt.Time, RotatedAt: r.RotatedAt.Time,
		LastUsedAt: r.LastUsedAt.Time,
	}
	copy(k.Hash[:], r.Hash) // 32 bytes, which the schema checks
	copy(k.OldHash[:], r.OldHash)
	var err error
	if k.IPAllow, err = allowed(r.IPAllow); err != nil {
		// A list that cannot be read must not become the empty one, which allows all.
		return nil, fmt.Errorf("reading API key %s: %w", r.ID, err)
	}
	return k, nil
}

func allowed(texts []string) ([]netip.Prefix, error) {
	prefixes, _, err := cidr.ParseList(texts)
	return prefixes, err
}

// CreateKey adds a key, its audit entry and its change event. It returns org.ErrNotFound
// for an organization that does not exist, and website.ErrNotFound when the key
// is limited to a website that is not the organization's.
func (s *Store) CreateKey(ctx context.Context, by audit.By, k *apikey.Key) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		if k.WebsiteID != "" {
			w, err := tx.WebsiteByID(ctx, k.WebsiteID)
			if err != nil {
				return err
			}
			if w.OrganizationID != k.OrganizationID {
				return website.ErrNotFound
			}
		}
		_, err := tx.write.NewInsert().Model(newKeyRow(k)).Exec(ctx)
		if tx.dialect.violation(err) == foreignKeyViolation {
			return org.ErrNotFound
		}
		if err != nil {
			return fmt.Errorf("adding API key %s: %w", k.ID, err)
		}
		return journal(ctx, tx, &apikey.Noun, by, managed.Created, nil, k)
	})
}

// SaveKey replaces was by is, with its audit entry and its change event. A key that is
// not at was.Version any more is managed.ErrChanged, and nothing is written. When
// it was last used is not touched.
func (s *Store) SaveKey(ctx context.Context, by audit.By, action managed.Action, was, is *apikey.Key) error {
	return s.Change(ctx, by, func(ctx context.Context, tx *Store) error {
		res, err := tx.write.NewUpdate().Model(newKeyRow(is)).
			ExcludeColumn("id", "organization_id", "website_id", "created_at", "created_by", "last_used_at").
			Where("id = ?", was.ID).Where("version = ?", was.Version).Exec(ctx)
		if err != nil {
			return fmt.Errorf("changing API key %s: %w", was.ID, err)
		}
		if err := mustTouch(res, managed.ErrChanged); err != nil {
			return err
		}
		return journal(ctx, tx, &apikey.Noun, by, action, was, is)
	})
}

// KeyByHash returns the key whose secret has the hash, also its old secret's
// within the grace of a rotation; else, and for the key of a deleted organization,
// apikey.ErrNotFound. Expired and revoked
// keys are returned: whether a key is accepted is for Key.Accepts to say.
func (s *Store) KeyByHash(ctx context.Context, hash [apikey.HashLen]byte) (*apikey.Key, error) {
	return s.keyWhere(ctx, "(k.hash = ? OR (k.old_hash = ? AND k.old_hash_until > ?)) AND "+ownerLives,
		hash[:], hash[:], at(s.opts.Now()), bun.Ident("k"))
}

// KeyByID returns a key of whatever organization, also a deleted one, or
// apikey.ErrNotFound.
func (s *Store) KeyByID(ctx context.Context, id string) (*apikey.Key, error) {
	return s.keyWhere(ctx, "k.id = ?", id)
}

func (s *Store) keyWhere(ctx context.Context, where string, args ...any) (*apikey.Key, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var row keyRow
	err := s.read.NewSelect().Model(&row).Where(where, args...).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, apikey.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("reading an API key: %w", err)
	}
	return row.key()
}

// ListKeys returns the keys that f selects.
func (s *Store) ListKeys(ctx context.Context, f apikey.Filter) ([]*apikey.Key, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []keyRow
	q := s.read.NewSelect().Model(&rows).Where("k.organization_id = ?", f.OrganizationID).Where("k.deleted_at IS NULL")
	if f.WebsiteID != "" {
		q = q.Where("k.website_id = ?", f.WebsiteID)
	}
	if f.CreatedBy != "" {
		q = q.Where("k.created_by = ?", f.CreatedBy)
	}
	if f.Tag != "" {
		q = q.Where(s.dialect.holds, bun.Ident("k.tags"), f.Tag)
	}
	if f.Search != "" {
		q = q.Where("(k.search_text LIKE ? ESCAPE '!' OR substr(k.start, 1, length(?)) = ?)",
			"%"+escapeLike(strings.ToLower(f.Search))+"%", f.Search, f.Search)
	}
	if f.Status != "" {
		q = withStatus(q, f.Status, f.Now)
	}
	if err := page(q, "k.id", f.Newest, f.After, f.Limit).Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing API keys of organization %s: %w", f.OrganizationID, err)
	}
	return keysOf(rows)
}

func keysOf(rows []keyRow) ([]*apikey.Key, error) {
	keys := make([]*apikey.Key, len(rows))
	for i := range rows {
		var err error
		if keys[i], err = rows[i].key(); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// withStatus selects keys by what Key.Status says of them at now.
func withStatus(q *bun.SelectQuery, status apikey.Status, now time.Time) *bun.SelectQuery {
	if status == apikey.Revoked {
		return q.Where("k.revoked_at IS NOT NULL")
	}
	slack := apikey.IdleSlack.Milliseconds()
	const expired = "(coalesce(k.expires_at <= ?, FALSE) OR (k.idle_expiry_days > 0 AND ? + k.idle_expiry_days * " +
		"86400000 + " +
		"CASE WHEN coalesce(k.last_used_at, 0) > coalesce(k.rotated_at, k.created_at) THEN k.last_used_at ELSE " +
		"coalesce(k.rotated_at, k.created_at) END <= ?))"
	q = q.Where("k.revoked_at IS NULL")
	if status == apikey.Expired {
		return q.Where(expired, at(now), slack, at(now))
	}
	return q.Where("NOT "+expired, at(now), slack, at(now))
}

// TouchKeys notes when keys were last used, where that is later than what is
// known. It is no change of a key: no version, audit entry or change event comes of it.
func (s *Store) TouchKeys(ctx context.Context, uses []apikey.Use) error {
	if len(uses) == 0 {
		return nil
	}
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	rows := make([]string, len(uses))
	args := make([]any, 0, 2*len(uses))
	for i, u := range uses {
		rows[i] = "(?, ?)"
		args = append(args, u.KeyID, at(u.At))
	}
	query := "WITH u (id, used) AS (VALUES " + strings.Join(rows, ", ") +
		") UPDATE api_keys SET last_used_at = u.used FROM u " +
		"WHERE api_keys.id = u.id AND coalesce(api_keys.last_used_at, 0) < u.used"
	if _, err := s.write.NewRaw(query, args...).Exec(ctx); err != nil {
		return fmt.Errorf("recording the use of %d API keys: %w", len(uses), err)
	}
	return nil
}
