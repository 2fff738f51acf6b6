package website

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/audit"
)

// Store keeps websites. Both mutating methods write the audit entry and the news
// of the change in the same transaction; both return ErrDomainTaken and
// ErrClientIDTaken.
type Store interface {
	// CreateWebsite adds a website. It returns org.ErrNotFound for an organization
	// that does not exist.
	CreateWebsite(ctx context.Context, w *Website, by audit.By) error
	// SaveWebsite replaces was by is, or returns ErrChanged when the website is not
	// at was.Version any more.
	SaveWebsite(ctx context.Context, action Action, was, is *Website, by audit.By) error
	// AnyWebsite returns the website with an id or client id, also a deleted one, or
	// ErrNotFound.
	AnyWebsite(ctx context.Context, ref string) (*Website, error)
	ListWebsites(ctx context.Context, f Filter) ([]*Website, error)
}

// Service makes, changes and deletes websites. It is safe for concurrent use.
type Service struct {
	store Store
	now   func() time.Time
}

// NewService returns the rules over a store. A nil now means time.Now.
func NewService(store Store, now func() time.Time) *Service {
	if now == nil {
		now = time.Now
	}
	return &Service{store: store, now: now}
}

// clock is the time as stores keep it.
func (s *Service) clock() time.Time { return s.now().UTC().Truncate(time.Millisecond) }

// Target names a website and what the caller believes of it.
type Target struct {
	OrganizationID string // whose website it must be
	// Only, where not empty, is the one website that the caller may reach; others of
	// the organization are ErrNotCovered.
	Only string
	Ref  string // id or client id
	// Version, where not 0, must be the website's; otherwise the change is
	// ErrChanged.
	Version int64
}

// Create makes a website. A spec against the rules is a Validation fault; other
// errors are those of Store.CreateWebsite.
func (s *Service) Create(ctx context.Context, spec Spec, by audit.By) (*Website, error) {
	w, err := NewFrom(spec, s.clock())
	if err != nil {
		return nil, err
	}
	if err := s.store.CreateWebsite(ctx, w, by); err != nil {
		return nil, err
	}
	return w, nil
}

// Get returns a website that exists, or ErrNotFound.
func (s *Service) Get(ctx context.Context, t Target) (*Website, error) {
	w, err := s.find(ctx, t)
	if err == nil && !w.DeletedAt.IsZero() {
		return nil, ErrNotFound
	}
	return w, err
}

// List returns the websites that f selects.
func (s *Service) List(ctx context.Context, f Filter) ([]*Website, error) {
	return s.store.ListWebsites(ctx, f)
}

// Deleted returns the websites of an organization that can be restored, by the
// other fields of f.
func (s *Service) Deleted(ctx context.Context, f Filter) ([]*Website, error) {
	f.DeletedAfter = s.clock().Add(-RestoreFor)
	return s.store.ListWebsites(ctx, f)
}

// Update changes a website. It returns ErrNotFound, ErrChanged, ErrDomainTaken or
// a Validation fault. A patch that changes nothing is no change.
func (s *Service) Update(ctx context.Context, t Target, p Patch, by audit.By) (*Website, error) {
	return s.change(ctx, ActionUpdated, t, by, func(was *Website, now time.Time) (*Website, error) {
		return was.with(p, now)
	})
}

// Publish makes a website's overview public, or private again. Errors are those
// of Update.
func (s *Service) Publish(ctx context.Context, t Target, public bool, by audit.By) (*Website, error) {
	action := ActionUnpublished
	if public {
		action = ActionPublished
	}
	return s.change(ctx, action, t, by, func(was *Website, now time.Time) (*Website, error) {
		is := was.next(now)
		is.Public = public
		return is, nil
	})
}

// RotateClientID gives a website a new client id. The old one dies at once, or
// is accepted for grace, up to MaxGrace. Errors are those of Update.
func (s *Service) RotateClientID(ctx context.Context, t Target, grace time.Duration, by audit.By) (*Website, error) {
	return s.change(ctx, ActionRotated, t, by, func(was *Website, now time.Time) (*Website, error) {
		return was.rotated(grace, now)
	})
}

// Delete takes a website away: its events and queries are refused, and its
// domain is free. It can be restored for RestoreFor. Errors are those of Update.
func (s *Service) Delete(ctx context.Context, t Target, by audit.By) (*Website, error) {
	return s.change(ctx, ActionDeleted, t, by, func(was *Website, now time.Time) (*Website, error) {
		is := was.next(now)
		is.DeletedAt = now
		return is, nil
	})
}

// Restore brings a deleted website back as it was. It returns ErrNotDeleted for
// one that exists, ErrNotFound for one deleted too long ago, and ErrDomainTaken
// when another website has its domain by now.
func (s *Service) Restore(ctx context.Context, t Target, by audit.By) (*Website, error) {
	was, err := s.find(ctx, t)
	if err != nil {
		return nil, err
	}
	now := s.clock()
	switch {
	case was.DeletedAt.IsZero():
		return nil, ErrNotDeleted
	case !was.Restorable(now):
		return nil, ErrNotFound
	}
	is := was.next(now)
	is.DeletedAt = time.Time{}
	return s.save(ctx, ActionRestored, t, was, is, by)
}

// change reads a website, lets edit say what it becomes, and keeps that. Two
// changes that read the same version do not both succeed, whatever the database:
// the reading stands outside the writing transaction, which compares the version.
func (s *Service) change(ctx context.Context, action Action, t Target, by audit.By, edit func(was *Website, now time.Time) (*Website, error)) (*Website, error) {
	was, err := s.Get(ctx, t)
	if err != nil {
		return nil, err
	}
	is, err := edit(was, s.clock())
	if err != nil {
		return nil, err
	}
	return s.save(ctx, action, t, was, is, by)
}

func (s *Service) save(ctx context.Context, action Action, t Target, was, is *Website, by audit.By) (*Website, error) {
	if t.Version != 0 && t.Version != was.Version {
		return nil, ErrChanged
	}
	if len(diff(was, is)) == 0 {
		return was, nil
	}
	if err := s.store.SaveWebsite(ctx, action, was, is, by); err != nil {
		return nil, fmt.Errorf("website %s: %w", was.ID, err)
	}
	return is, nil
}

func (s *Service) find(ctx context.Context, t Target) (*Website, error) {
	if !PlausibleRef(t.Ref) {
		return nil, ErrNotFound
	}
	w, err := s.store.AnyWebsite(ctx, t.Ref)
	if err != nil {
		return nil, err
	}
	switch {
	case t.OrganizationID == "" || w.OrganizationID != t.OrganizationID:
		return nil, ErrNotFound
	case t.Only != "" && w.ID != t.Only:
		return nil, ErrNotCovered
	}
	return w, nil
}
