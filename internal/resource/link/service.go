package link

import (
	"context"
	"errors"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/fair"
	"github.com/millrace/millrace/internal/tenant/attempt"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// Caps are how many links, and different tags of them, an organization may have.
type Caps struct{ Links, Tags int }

// Store keeps links. Both mutating methods write the audit entry in the same transaction.
// They return ErrSlugTaken, ErrExternalIDTaken, ErrFolderNotFound, ErrDomainGone for a link
// that is not deleted and whose domain is no more, and TooMany where that goes beyond a cap,
// and note in the link whether it is blocked.
type Store interface {
	NameStore

	// CreateLink adds a link. It returns org.ErrNotFound for an organization that does
	// not exist.
	CreateLink(ctx context.Context, by audit.By, l *Link, caps Caps) error
	// SaveLink replaces was by is, or returns managed.ErrChanged when the link is not at
	// was.Version any more.
	SaveLink(ctx context.Context, by audit.By, action managed.Action, was, is *Link, caps Caps) error
	// LinkByID returns a link, also a deleted one, or ErrNotFound.
	LinkByID(ctx context.Context, id string) (*Link, error)
	// LinkByExternalID and LinkByKey return an organization's link that is not deleted, or
	// ErrNotFound.
	LinkByExternalID(ctx context.Context, organizationID, externalID string) (*Link, error)
	LinkByKey(ctx context.Context, organizationID, key string) (*Link, error)
	ListLinks(ctx context.Context, f Filter) ([]*Link, error)
	// ListTags returns the tags of an organization's links that are not deleted, in
	// order, those after the given one.
	ListTags(ctx context.Context, organizationID, after string, limit int) ([]TagCount, error)
}

// NameStore says which slugs and hosts cannot be had.
type NameStore interface {
	// SlugTaken reports whether an organization cannot have a slug, by the link's Key.
	SlugTaken(ctx context.Context, organizationID, key string) (bool, error)
	// BlockedHosts returns those of the hosts that are blocked.
	BlockedHosts(ctx context.Context, hosts []string) ([]string, error)
}

// Hasher hashes passwords; share is whose turn it takes.
type Hasher interface {
	HashText(ctx context.Context, share fair.Owner, text string) (string, error)
}

// Deps are what a service works with.
type Deps struct {
	Store     Store
	Folders   FolderStore
	Domains   DomainStore
	Passwords Hasher
	DNS       DomainChecker    // required for VerifyDomain, with Attempts
	Attempts  attempt.Store    // how often DNS was asked
	Now       func() time.Time // nil means time.Now
}

// Service makes, changes and deletes links, folders and domains. It is safe for concurrent use.
type Service struct {
	rules   Rules
	deps    Deps
	links   managed.Changer[*Link]
	folders managed.Changer[*Folder]
	domains managed.Changer[*Domain]
}

// NewService returns the rules over a store.
func NewService(rules Rules, deps Deps) *Service {
	s := &Service{rules: rules, deps: deps}
	s.links = managed.Changer[*Link]{
		Noun: &Noun, Find: deps.Store.LinkByID, Next: managed.Next[Link], Now: deps.Now, NotFound: ErrNotFound,
		NotDeleted: ErrNotDeleted,
		Save: func(ctx context.Context, by audit.By, action managed.Action, was, is *Link) error {
			return deps.Store.SaveLink(ctx, by, action, was, is, s.caps())
		},
	}
	s.folders = managed.Changer[*Folder]{
		Noun: &Folders, Find: deps.Folders.FolderByID, Save: deps.Folders.SaveFolder, Next: managed.Next[Folder],
		Now: deps.Now, NotFound: ErrFolderNotFound,
	}
	s.domains = managed.Changer[*Domain]{
		Noun: &Domains, Find: deps.Domains.DomainByID, Save: deps.Domains.SaveDomain, Next: managed.Next[Domain],
		Now: deps.Now, NotFound: ErrDomainNotFound,
	}
	return s
}

func (s *Service) caps() Caps { return Caps{Links: s.rules.MaxLinks, Tags: MaxOwnTags} }

// Rules returns what an operator says about links.
func (s *Service) Rules() *Rules { return &s.rules }

// Now is the time by which the service says what a link is.
func (s *Service) Now() time.Time { return s.links.Clock() }

// slugTries bounds the drawing of slugs: of 3.8·10¹¹ one in four thousand is taken when
// there are a hundred million links.
const slugTries = 5

// Create makes a link. Fields against the rules are a Validation error; other errors are
// those of Store.CreateLink.
func (s *Service) Create(ctx context.Context, by audit.By, organizationID string, f Fields) (*Link, error) {
	l := &Link{
		Record:  managed.New("lnk", organizationID, by.Actor.ID, s.links.Clock()),
		Enabled: true, RedirectStatus: DefaultStatus, ForwardQuery: true, Secret: newSecret(),
	}
	if f.URL == nil {
		f.URL = new(string)
	}
	if err := s.edit(ctx, l, &f); err != nil {
		return nil, err
	}
	if err := s.keep(ctx, by, l); err != nil {
		return nil, err
	}
	return l, nil
}

// keep adds a link, under a slug that is made up where it has none.
func (s *Service) keep(ctx context.Context, by audit.By, l *Link) (err error) {
	if l.Slug != "" {
		return s.deps.Store.CreateLink(ctx, by, l, s.caps())
	}
	for range slugTries {
		l.Slug = newSlug()
		if err = s.deps.Store.CreateLink(ctx, by, l, s.caps()); !errors.Is(err, ErrSlugTaken) {
			return err
		}
	}
	return err
}

// Update changes a link. It returns ErrNotFound, managed.ErrChanged, a Validation error,
// or an error of Store. Fields that change nothing are no change.
func (s *Service) Update(ctx context.Context, by audit.By, t managed.Target, f Fields) (*Link, error) {
	return s.links.Change(ctx, by, t, managed.Updated, func(was *Link, now time.Time) (*Link, error) {
		is := managed.Next(was, now)
		return is, s.edit(ctx, is, &f)
	})
}

// Upsert changes the link that has the external id, or makes one, and says which. Errors
// are those of Update and Create; without an external id it is a Validation error.
func (s *Service) Upsert(
	ctx context.Context, by audit.By, organizationID string, f Fields,
) (l *Link, made bool, err error) {
	if f.ExternalID == nil || *f.ExternalID == "" {
		return nil, false, apierr.Invalid("externalId", "required", "externalId is required")
	}
	const tries = 3 // somebody may make it, or delete it, between the look and the change
	for try := 1; ; try++ {
		l, err = s.deps.Store.LinkByExternalID(ctx, organizationID, *f.ExternalID)
		switch {
		case err == nil:
			l, err = s.Update(ctx, by, managed.Target{OrganizationID: organizationID, Ref: l.ID}, f)
		case errors.Is(err, ErrNotFound):
			made = true
			l, err = s.Create(ctx, by, organizationID, f)
		}
		again := errors.Is(err, ErrNotFound) || errors.Is(err, managed.ErrChanged) || errors.Is(err, ErrExternalIDTaken)
		if !again || try == tries {
			return l, made && err == nil, err
		}
		made = false
	}
}

// Delete takes a link away: its host does not know it any more. It can be restored for
// RestoreFor. Errors are those of Update.
func (s *Service) Delete(ctx context.Context, by audit.By, t managed.Target) (*Link, error) {
	return s.links.Delete(ctx, by, t)
}

// Restore brings a deleted link back as it was. It returns ErrNotDeleted for one that
// exists, ErrNotFound for one deleted too long ago, and errors of Store.
func (s *Service) Restore(ctx context.Context, by audit.By, t managed.Target) (*Link, error) {
	return s.links.Restore(ctx, by, t)
}
