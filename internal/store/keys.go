package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/millrace/millrace/internal/apikey"
	"github.com/millrace/millrace/internal/org"
	"github.com/millrace/millrace/internal/website"
)

type keyRow struct {
	bun.BaseModel `bun:"table:api_keys,alias:k"`

	ID             string  `bun:"id,pk"`
	OrganizationID string  `bun:"organization_id,nullzero"`
	WebsiteID      string  `bun:"website_id,nullzero"`
	Name           string  `bun:"name"`
	Start          string  `bun:"start"`
	Hash           []byte  `bun:"hash"`
	OldHash        []byte  `bun:"old_hash"`
	OldHashUntil   instant `bun:"old_hash_until"`
	Scopes         list    `bun:"scopes"`
	ExpiresAt      instant `bun:"expires_at"`
	RevokedAt      instant `bun:"revoked_at"`
	RotatedAt      instant `bun:"rotated_at"`
	CreatedAt      instant `bun:"created_at"`
}

func newKeyRow(k *apikey.Key) *keyRow {
	row := &keyRow{
		ID: k.ID, OrganizationID: k.OrganizationID, WebsiteID: k.WebsiteID,
		Name: k.Name, Start: k.Start, Hash: k.Hash[:], Scopes: k.Scopes,
		ExpiresAt: at(k.ExpiresAt), RevokedAt: at(k.RevokedAt), RotatedAt: at(k.RotatedAt), CreatedAt: at(k.CreatedAt),
	}
	if !k.OldHashUntil.IsZero() {
		row.OldHash, row.OldHashUntil = k.OldHash[:], at(k.OldHashUntil)
	}
	return row
}

func (r *keyRow) key() *apikey.Key {
	k := &apikey.Key{
		ID: r.ID, OrganizationID: r.OrganizationID, WebsiteID: r.WebsiteID,
		Name: r.Name, Start: r.Start, OldHashUntil: r.OldHashUntil.Time, Scopes: r.Scopes,
		ExpiresAt: r.ExpiresAt.Time, RevokedAt: r.RevokedAt.Time, RotatedAt: r.RotatedAt.Time, CreatedAt: r.CreatedAt.Time,
	}
	copy(k.Hash[:], r.Hash) // 32 bytes, which the schema checks
	copy(k.OldHash[:], r.OldHash)
	return k
}

// CreateKey adds a key. It returns org.ErrNotFound for an organization that does
// not exist, and website.ErrNotFound when the key is limited to a website that
// is not the organization's.
func (s *Store) CreateKey(ctx context.Context, k *apikey.Key) error {
	return s.InTx(ctx, func(ctx context.Context, tx *Store) error {
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
		return nil
	})
}

// KeyByHash returns the key whose secret has the hash, also its old secret's
// within the grace of a rotation; else apikey.ErrNotFound. Expired and revoked
// keys are returned: whether a key is accepted is for Key.Accepts to say.
func (s *Store) KeyByHash(ctx context.Context, hash [apikey.HashLen]byte) (*apikey.Key, error) {
	return s.keyWhere(ctx, "k.hash = ? OR (k.old_hash = ? AND k.old_hash_until > ?)", hash[:], hash[:], at(s.opts.Now()))
}

// KeyByID returns a key of whatever organization, or apikey.ErrNotFound. It
// serves the operator's command, not tenants.
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
	return row.key(), nil
}

// ListKeys returns the keys that f selects, revoked ones among them, ordered by
// id.
func (s *Store) ListKeys(ctx context.Context, f apikey.Filter) ([]*apikey.Key, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var rows []keyRow
	q := s.read.NewSelect().Model(&rows).Where("k.organization_id = ?", f.OrganizationID).
		Order("k.id").Limit(limit(f.Limit))
	if f.After != "" {
		q = q.Where("k.id > ?", f.After)
	}
	if err := q.Scan(ctx); err != nil {
		return nil, fmt.Errorf("listing API keys of organization %s: %w", f.OrganizationID, err)
	}
	keys := make([]*apikey.Key, len(rows))
	for i := range rows {
		keys[i] = rows[i].key()
	}
	return keys, nil
}

// RevokeKey ends a key of an organization for good. Revoking it again changes
// nothing; a key that the organization does not have is apikey.ErrNotFound.
func (s *Store) RevokeKey(ctx context.Context, organizationID, id string, now time.Time) error {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	res, err := s.write.NewUpdate().Model((*keyRow)(nil)).
		Set("revoked_at = coalesce(revoked_at, ?)", at(now)).
		Where("id = ?", id).Where("organization_id = ?", organizationID).Exec(ctx)
	if err != nil {
		return fmt.Errorf("revoking API key %s: %w", id, err)
	}
	return mustTouch(res, apikey.ErrNotFound)
}

// RotateKey replaces the secret of an organization's key. The old secret dies at
// once, or at r.OldUntil when that lies later; the one before it dies in any
// case. A revoked key is apikey.ErrRevoked and a missing one apikey.ErrNotFound.
func (s *Store) RotateKey(ctx context.Context, organizationID, id string, r apikey.Rotation) error {
	return s.InTx(ctx, func(ctx context.Context, tx *Store) error {
		q := tx.write.NewUpdate().Model((*keyRow)(nil)).
			Where("id = ?", id).Where("organization_id = ?", organizationID).Where("revoked_at IS NULL").
			Set("hash = ?", r.Hash[:]).Set("start = ?", r.Start).Set("rotated_at = ?", at(r.At))
		if r.OldUntil.After(r.At) {
			q = q.Set("old_hash = hash").Set("old_hash_until = ?", at(r.OldUntil))
		} else {
			q = q.Set("old_hash = NULL").Set("old_hash_until = NULL")
		}
		res, err := q.Exec(ctx)
		if err != nil {
			return fmt.Errorf("rotating API key %s: %w", id, err)
		}
		err = mustTouch(res, apikey.ErrNotFound)
		if !errors.Is(err, apikey.ErrNotFound) {
			return err
		}
		k, err := tx.KeyByID(ctx, id)
		switch {
		case err != nil:
			return err
		case k.OrganizationID != organizationID:
			return apikey.ErrNotFound
		default:
			return apikey.ErrRevoked
		}
	})
}
