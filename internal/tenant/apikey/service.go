package apikey

import (
	"cmp"
	"context"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// Store keeps keys. Both mutating methods write the audit entry and the change event in
// the same transaction.
type Store interface {
	// CreateKey adds a key. It returns org.ErrNotFound for an organization that
	// does not exist, and website.ErrNotFound when the key is limited to a website
	// that is not the organization's.
	CreateKey(ctx context.Context, by audit.By, k *Key) error
	// SaveKey replaces was by is, or returns managed.ErrChanged when the key is not at
	// was.Version any more.
	SaveKey(ctx context.Context, by audit.By, action managed.Action, was, is *Key) error
	// KeyByID returns a key, also a deleted one, or ErrNotFound.
	KeyByID(ctx context.Context, id string) (*Key, error)
	ListKeys(ctx context.Context, f Filter) ([]*Key, error)
}

// Config holds what an operator may set, and what the program knows.
type Config struct {
	Prefix string   // of secrets, without the underscore
	Scopes []string // the names of all scopes
	// Rate has the figures of limits that are enabled without; where they are
	// zero, they are DefaultRateLimit and DefaultRateWindow.
	Rate RateLimit
}

// withFigures fills in what an enabled limit does not say.
func (c Config) withFigures(r RateLimit) RateLimit {
	if r.Enabled {
		r.Limit, r.Window = cmp.Or(r.Limit, c.Rate.Limit), cmp.Or(r.Window, c.Rate.Window)
	}
	return r
}

// Service makes, changes and ends keys. It is safe for concurrent use.
type Service struct {
	cfg   Config
	store Store
	keys  managed.Changer[*Key]
}

// NewService returns the rules over a store. A nil now means time.Now.
func NewService(cfg Config, store Store, now func() time.Time) *Service {
	return &Service{cfg: cfg, store: store, keys: managed.Changer[*Key]{
		Noun: &Noun, Find: store.KeyByID, Save: store.SaveKey, Now: now, NotFound: ErrNotFound,
	}}
}

// Create makes a key and returns it with its secret, which is to be shown once. A
// spec against the rules is a Validation error; other errors are those of
// Store.CreateKey.
func (s *Service) Create(ctx context.Context, by audit.By, spec Spec) (k *Key, secret string, err error) {
	if err := s.checkScopes(spec.Scopes); err != nil {
		return nil, "", err
	}
	spec.RateLimit = s.cfg.withFigures(spec.RateLimit)
	k, secret, err = New(s.cfg.Prefix, spec, s.keys.Clock())
	if err != nil {
		return nil, "", err
	}
	if err := s.store.CreateKey(ctx, by, k); err != nil {
		return nil, "", err
	}
	return k, secret, nil
}

// Get returns an organization's key, or ErrNotFound, also for a deleted one.
func (s *Service) Get(ctx context.Context, organizationID, id string) (*Key, error) {
	return s.keys.Get(ctx, managed.Target{OrganizationID: organizationID, Ref: id})
}

// List returns the keys that f selects.
func (s *Service) List(ctx context.Context, f Filter) ([]*Key, error) {
	f.Now = s.keys.Clock()
	return s.store.ListKeys(ctx, f)
}

// Update changes settings. It returns ErrNotFound, also for a deleted key, ErrRevoked,
// managed.ErrChanged, or a Validation error. A patch that changes nothing is no change.
func (s *Service) Update(ctx context.Context, by audit.By, t managed.Target, p Patch) (*Key, error) {
	if p.Scopes != nil {
		if err := s.checkScopes(*p.Scopes); err != nil {
			return nil, err
		}
	}
	return s.keys.Change(ctx, by, t, managed.Updated, unlessRevoked(func(was *Key, now time.Time) (*Key, error) {
		return was.with(p, s.cfg, now)
	}))
}

// Rotate gives a key a new secret and returns it. The old one dies at once, or is
// accepted for grace, up to MaxGrace. Errors are those of Update.
func (s *Service) Rotate(
	ctx context.Context, by audit.By, t managed.Target, grace time.Duration,
) (k *Key, secret string, err error) {
	k, err = s.keys.Change(ctx, by, t, Rotated, unlessRevoked(func(was *Key, now time.Time) (is *Key, err error) {
		is, secret, err = was.rotated(s.cfg.Prefix, grace, now)
		return is, err
	}))
	if err != nil {
		return nil, "", err
	}
	return k, secret, nil
}

// Revoke ends a key at once and for good. Errors are those of Update; a key that
// was revoked already is ErrRevoked.
func (s *Service) Revoke(ctx context.Context, by audit.By, t managed.Target) (*Key, error) {
	return s.keys.Change(ctx, by, t, Ended, unlessRevoked(func(was *Key, now time.Time) (*Key, error) {
		return was.revoked(now), nil
	}))
}

// Delete ends a key, revoked or not, and takes it out of all lists; the audit
// keeps what it was. Errors are those of Update without ErrRevoked.
func (s *Service) Delete(ctx context.Context, by audit.By, t managed.Target) (*Key, error) {
	return s.keys.Change(ctx, by, t, managed.Deleted, func(was *Key, now time.Time) (*Key, error) {
		return was.deleted(now), nil
	})
}

// unlessRevoked keeps an edit from a key that is revoked, which is final.
func unlessRevoked(edit func(was *Key, now time.Time) (*Key, error)) func(was *Key, now time.Time) (*Key, error) {
	return func(was *Key, now time.Time) (*Key, error) {
		if !was.RevokedAt.IsZero() {
			return nil, ErrRevoked
		}
		return edit(was, now)
	}
}

func (s *Service) checkScopes(names []string) error {
	var bad apierr.Rejection
	bad.Append(CheckScopes(names, s.cfg.Scopes)...)
	return bad.Err()
}
