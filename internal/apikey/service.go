package apikey

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/audit"
	"github.com/millrace/millrace/internal/fault"
)

// Store keeps keys. Both mutating methods write the audit entry and the news of
// the change in the same transaction.
type Store interface {
	// CreateKey adds a key. It returns org.ErrNotFound for an organization that
	// does not exist, and website.ErrNotFound when the key is limited to a website
	// that is not the organization's.
	CreateKey(ctx context.Context, k *Key, by audit.By) error
	// SaveKey replaces was by is, or returns ErrChanged when the key is not at
	// was.Version any more.
	SaveKey(ctx context.Context, action Action, was, is *Key, by audit.By) error
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
	now   func() time.Time
}

// NewService returns the rules over a store. A nil now means time.Now.
func NewService(cfg Config, store Store, now func() time.Time) *Service {
	if now == nil {
		now = time.Now
	}
	return &Service{cfg: cfg, store: store, now: now}
}

// clock is the time as stores keep it.
func (s *Service) clock() time.Time { return s.now().UTC().Truncate(time.Millisecond) }

// Target names a key and what the caller believes of it.
type Target struct {
	OrganizationID string // whose key it must be
	ID             string
	// Version, where not 0, must be the key's; otherwise the change is ErrChanged.
	Version int64
}

// Create makes a key and returns it with its secret, which is to be shown once. A
// spec against the rules is a Validation fault; other errors are those of
// Store.CreateKey.
func (s *Service) Create(ctx context.Context, spec Spec, by audit.By) (k *Key, secret string, err error) {
	if err := s.checkScopes(spec.Scopes); err != nil {
		return nil, "", err
	}
	spec.RateLimit = s.cfg.withFigures(spec.RateLimit)
	k, secret, err = New(s.cfg.Prefix, spec, s.clock())
	if err != nil {
		return nil, "", err
	}
	if err := s.store.CreateKey(ctx, k, by); err != nil {
		return nil, "", err
	}
	return k, secret, nil
}

// Get returns an organization's key, or ErrNotFound, also for a deleted one.
func (s *Service) Get(ctx context.Context, organizationID, id string) (*Key, error) {
	k, err := s.store.KeyByID(ctx, id)
	if err != nil {
		return nil, err
	}
	if organizationID == "" || k.OrganizationID != organizationID || !k.DeletedAt.IsZero() {
		return nil, ErrNotFound
	}
	return k, nil
}

// List returns the keys that f selects.
func (s *Service) List(ctx context.Context, f Filter) ([]*Key, error) {
	f.Now = s.clock()
	return s.store.ListKeys(ctx, f)
}

// Update changes settings. It returns ErrNotFound, ErrDeleted, ErrRevoked,
// ErrChanged, or a Validation fault. A patch that changes nothing is no change.
func (s *Service) Update(ctx context.Context, t Target, p Patch, by audit.By) (*Key, error) {
	if p.Scopes != nil {
		if err := s.checkScopes(*p.Scopes); err != nil {
			return nil, err
		}
	}
	if p.RateLimit != nil {
		rate := s.cfg.withFigures(*p.RateLimit)
		p.RateLimit = &rate
	}
	return s.change(ctx, ActionUpdated, t, by, func(was *Key, now time.Time) (*Key, error) {
		is, err := was.with(p, now)
		if err == nil && len(diff(was, is)) == 0 {
			return was, nil
		}
		return is, err
	})
}

// Rotate gives a key a new secret and returns it. The old one dies at once, or is
// accepted for grace, up to MaxGrace. Errors are those of Update.
func (s *Service) Rotate(ctx context.Context, t Target, grace time.Duration, by audit.By) (k *Key, secret string, err error) {
	k, err = s.change(ctx, ActionRotated, t, by, func(was *Key, now time.Time) (is *Key, err error) {
		is, secret, err = was.rotated(s.cfg.Prefix, grace, now)
		return is, err
	})
	if err != nil {
		return nil, "", err
	}
	return k, secret, nil
}

// Revoke ends a key at once and for good. Errors are those of Update; a key that
// was revoked already is ErrRevoked.
func (s *Service) Revoke(ctx context.Context, t Target, by audit.By) (*Key, error) {
	return s.change(ctx, ActionRevoked, t, by, func(was *Key, now time.Time) (*Key, error) {
		return was.revoked(now), nil
	})
}

// Delete ends a key, revoked or not, and takes it out of all lists; the audit
// keeps what it was. Errors are those of Update without ErrRevoked.
func (s *Service) Delete(ctx context.Context, t Target, by audit.By) (*Key, error) {
	return s.change(ctx, ActionDeleted, t, by, func(was *Key, now time.Time) (*Key, error) {
		return was.deleted(now), nil
	})
}

// change reads a key, lets edit say what it becomes, and keeps that. Two changes
// that read the same version do not both succeed, whatever the database: the
// reading stands outside the writing transaction, which compares the version.
func (s *Service) change(ctx context.Context, action Action, t Target, by audit.By, edit func(was *Key, now time.Time) (*Key, error)) (*Key, error) {
	was, err := s.store.KeyByID(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	switch {
	case t.OrganizationID == "" || was.OrganizationID != t.OrganizationID:
		return nil, ErrNotFound
	case !was.DeletedAt.IsZero():
		return nil, ErrDeleted
	case !was.RevokedAt.IsZero() && action != ActionDeleted:
		return nil, ErrRevoked
	case t.Version != 0 && t.Version != was.Version:
		return nil, ErrChanged
	}
	is, err := edit(was, s.clock())
	if err != nil || is == was {
		return is, err
	}
	if err := s.store.SaveKey(ctx, action, was, is, by); err != nil {
		return nil, fmt.Errorf("key %s: %w", t.ID, err)
	}
	return is, nil
}

func (s *Service) checkScopes(names []string) error {
	var bad fault.Refusal
	bad.Append(CheckScopes(names, s.cfg.Scopes)...)
	return bad.Err()
}
