package website

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// Store keeps websites. Both mutating methods write the audit entry and the change event
// in the same transaction; both return ErrDomainTaken and ErrClientIDTaken.
type Store interface {
	// CreateWebsite adds a website. It returns org.ErrNotFound for an organization
	// that does not exist.
	CreateWebsite(ctx context.Context, by audit.By, w *Website) error
	// SaveWebsite replaces was by is, or returns managed.ErrChanged when the website is
	// not at was.Version any more.
	SaveWebsite(ctx context.Context, by audit.By, action managed.Action, was, is *Website) error
	// MoveWebsite replaces was by is, which belongs to another organization, where what
	// by and also rest on holds. It revokes the API keys that are limited to the website
	// and returns how many.
	MoveWebsite(ctx context.Context, by audit.By, was, is *Website, also *audit.Grant) (revokedKeys int, err error)
	// AnyWebsite returns the website with an id or client id, also a deleted one, or
	// ErrNotFound.
	AnyWebsite(ctx context.Context, ref string) (*Website, error)
	ListWebsites(ctx context.Context, f Filter) ([]*Website, error)
}

// Service makes, changes and deletes websites. It is safe for concurrent use.
type Service struct {
	store    Store
	websites managed.Changer[*Website]
}

// NewService returns the rules over a store. A nil now means time.Now.
func NewService(store Store, now func() time.Time) *Service {
	find := func(ctx context.Context, ref string) (*Website, error) {
		if !PlausibleRef(ref) {
			return nil, ErrNotFound
		}
		return store.AnyWebsite(ctx, ref)
	}
	return &Service{store: store, websites: managed.Changer[*Website]{
		Noun: &Noun, Find: find, Save: store.SaveWebsite, Next: managed.Next[Website], Now: now,
		NotFound: ErrNotFound, NotCovered: ErrNotCovered, NotDeleted: ErrNotDeleted,
	}}
}

// Create makes a website. A spec against the rules is a Validation error; other
// errors are those of Store.CreateWebsite.
func (s *Service) Create(ctx context.Context, by audit.By, spec Spec) (*Website, error) {
	w, err := NewFrom(spec, s.websites.Clock())
	if err != nil {
		return nil, err
	}
	if err := s.store.CreateWebsite(ctx, by, w); err != nil {
		return nil, err
	}
	return w, nil
}

// Get returns a website that exists, or ErrNotFound; its Ref is an id or a client id.
func (s *Service) Get(ctx context.Context, t managed.Target) (*Website, error) {
	return s.websites.Get(ctx, t)
}

// List returns the websites that f selects.
func (s *Service) List(ctx context.Context, f Filter) ([]*Website, error) {
	return s.store.ListWebsites(ctx, f)
}

// Deleted returns the websites of an organization that can be restored, by the
// other fields of f.
func (s *Service) Deleted(ctx context.Context, f Filter) ([]*Website, error) {
	f.DeletedAfter = s.websites.Clock().Add(-RestoreFor)
	return s.store.ListWebsites(ctx, f)
}

// Update changes a website. It returns ErrNotFound, managed.ErrChanged,
// ErrDomainTaken or a Validation error. A patch that changes nothing is no change.
func (s *Service) Update(ctx context.Context, by audit.By, t managed.Target, p Patch) (*Website, error) {
	return s.websites.Change(ctx, by, t, managed.Updated, func(was *Website, now time.Time) (*Website, error) {
		return was.with(p, now)
	})
}

// Publish makes a website's overview public, or private again. Errors are those
// of Update.
func (s *Service) Publish(ctx context.Context, by audit.By, t managed.Target, public bool) (*Website, error) {
	action := Unpublished
	if public {
		action = Published
	}
	return s.websites.Change(ctx, by, t, action, func(was *Website, now time.Time) (*Website, error) {
		is := managed.Next(was, now)
		is.Public = public
		return is, nil
	})
}

// RotateClientID gives a website a new client id. The old one dies at once, or
// is accepted for grace, up to MaxGrace. Errors are those of Update.
func (s *Service) RotateClientID(
	ctx context.Context, by audit.By, t managed.Target, grace time.Duration,
) (*Website, error) {
	return s.websites.Change(ctx, by, t, Rotated, func(was *Website, now time.Time) (*Website, error) {
		return was.rotated(grace, now)
	})
}

// Delete takes a website away: its events and queries are rejected, and its
// domain is free. It can be restored for RestoreFor. Errors are those of Update.
func (s *Service) Delete(ctx context.Context, by audit.By, t managed.Target) (*Website, error) {
	return s.websites.Delete(ctx, by, t)
}

// Restore brings a deleted website back as it was. It returns ErrNotDeleted for
// one that exists, ErrNotFound for one deleted too long ago, and ErrDomainTaken
// when another website has its domain by now.
func (s *Service) Restore(ctx context.Context, by audit.By, t managed.Target) (*Website, error) {
	return s.websites.Restore(ctx, by, t)
}
