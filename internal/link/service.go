package link

import (
	"context"
	"errors"
	"time"

	"github.com/millrace/millrace/internal/audit"
	"github.com/millrace/millrace/internal/fault"
	"github.com/millrace/millrace/internal/managed"
)

// Caps are how many links, and different tags of them, an organization may have.
type Caps struct{ Links, Tags int }

// Store keeps links. Both mutating methods write the audit entry in the same transaction.
// They return ErrSlugTaken, ErrExternalIDTaken, ErrFolderNotFound, and TooMany where that
// goes beyond a cap, and note in the link whether it is blocked.
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
	// LinkByExternalID and LinkBySlug return an organization's link that is not deleted,
	// or ErrNotFound.
	LinkByExternalID(ctx context.Context, organizationID, externalID string) (*Link, error)
	LinkBySlug(ctx context.Context, organizationID, slug string) (*Link, error)
	ListLinks(ctx context.Context, f Filter) ([]*Link, error)
	// ListTags returns the tags of an organization's links that are not deleted, in
	// order, those after the given one.
	ListTags(ctx context.Context, organizationID, after string, limit int) ([]TagCount, error)
}

// NameStore says which slugs and hosts cannot be had.
type NameStore interface {
	// SlugTaken reports whether an organization cannot have a slug.
	SlugTaken(ctx context.Context, organizationID, slug string) (bool, error)
	// BlockedHosts returns those of the hosts that are blocked.
	BlockedHosts(ctx context.Context, hosts []string) ([]string, error)
}

// Hasher hashes passwords.
type Hasher interface {
	HashText(ctx context.Context, text string) (string, error)
}

// Deps are what a service works with.
type Deps struct {
	Store     Store
	Folders   FolderStore
	Passwords Hasher
	Now       func() time.Time // nil means time.Now
}

// Service makes, changes and deletes links and folders. It is safe for concurrent use.
type Service struct {
	rules   Rules
	deps    Deps
	links   managed.Changer[*Link]
	folders managed.Changer[*Folder]
}

// NewService returns the rules over a store.
func NewService(rules Rules, deps Deps) *Service {
	s := &Service{rules: rules, deps: deps}
	s.links = managed.Changer[*Link]{
		Noun: &Noun, Find: deps.Store.LinkByID, Next: (*Link).next, Now: deps.Now, NotFound: ErrNotFound, NotDeleted: ErrNotDeleted,
		Save: func(ctx context.Context, by audit.By, action managed.Action, was, is *Link) error {
			return deps.Store.SaveLink(ctx, by, action, was, is, s.caps())
		},
	}
	s.folders = managed.Changer[*Folder]{
		Noun: &Folders, Find: deps.Folders.FolderByID, Save: deps.Folders.SaveFolder, Next: (*Folder).next, Now: deps.Now, NotFound: ErrFolderNotFound,
	}
	return s
}

func (s *Service) caps() Caps { return Caps{Links: s.rules.MaxLinks, Tags: MaxOwnTags} }

// Rules returns what an operator says about links.
func (s *Service) Rules() *Rules { return &s.rules }

// Now is the time by which the service says what a link is.
func (s *Service) Now() time.Time { return s.links.Clock() }

// Ref names a link by one of three: its id, its external id, or its slug.
type Ref struct {
	OrganizationID string // whose link it must be
	ID             string
	ExternalID     string
	Slug           string
}

// Get returns a link that is not deleted, or ErrNotFound. A ref that names it not at all,
// or in several ways, is a Validation fault.
func (s *Service) Get(ctx context.Context, ref Ref) (*Link, error) {
	ways := 0
	for _, way := range []string{ref.ID, ref.ExternalID, ref.Slug} {
		if way != "" {
			ways++
		}
	}
	switch {
	case ways != 1:
		return nil, fault.Invalid("id", "one_of", "give one of id, externalId and slug")
	case ref.ExternalID != "":
		return s.deps.Store.LinkByExternalID(ctx, ref.OrganizationID, ref.ExternalID)
	case ref.Slug != "":
		return s.deps.Store.LinkBySlug(ctx, ref.OrganizationID, ref.Slug)
	}
	return s.links.Get(ctx, managed.Target{OrganizationID: ref.OrganizationID, Ref: ref.ID})
}

// List returns the links that f selects.
func (s *Service) List(ctx context.Context, f Filter) ([]*Link, error) {
	f.Now = s.links.Clock()
	return s.deps.Store.ListLinks(ctx, f)
}

// Tags returns at most limit tags of an organization, in order, those after the given one.
func (s *Service) Tags(ctx context.Context, organizationID, after string, limit int) ([]TagCount, error) {
	return s.deps.Store.ListTags(ctx, organizationID, after, limit)
}

// SlugFree returns nil for a slug that an organization may have now, a Validation fault
// for one against the rules, and ErrSlugTaken.
func (s *Service) SlugFree(ctx context.Context, organizationID, slug string) error {
	if err := CheckSlug(slug); err != nil {
		return err
	}
	taken, err := s.deps.Store.SlugTaken(ctx, organizationID, slug)
	if err == nil && taken {
		return ErrSlugTaken
	}
	return err
}

// slugTries bounds the drawing of slugs: of 3.8·10¹¹ one in four thousand is taken when
// there are a hundred million links.
const slugTries = 5

// Create makes a link. Fields against the rules are a Validation fault; other errors are
// those of Store.CreateLink.
func (s *Service) Create(ctx context.Context, by audit.By, organizationID string, f Fields) (*Link, error) {
	l := &Link{
		Record:  managed.New("lnk", organizationID, by.Actor.ID, s.links.Clock()),
		Enabled: true, RedirectStatus: DefaultStatus, ForwardQuery: true, Secret: newSecret(),
	}
	if f.URL == nil {
		f.URL = new(string)
	}
	rules, err := s.rulesFor(ctx, f.addresses())
	if err != nil {
		return nil, err
	}
	if err := f.apply(l, rules); err != nil {
		return nil, err
	}
	if err := s.hash(ctx, l, f.Password); err != nil {
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

// hash keeps a password that was sent; an empty one removes it.
func (s *Service) hash(ctx context.Context, l *Link, password *string) (err error) {
	if password == nil {
		return nil
	}
	if l.PasswordHash = ""; *password != "" {
		l.PasswordHash, err = s.deps.Passwords.HashText(ctx, *password)
	}
	return err
}

// Update changes a link. It returns ErrNotFound, managed.ErrChanged, a Validation fault,
// or an error of Store. Fields that change nothing are no change.
func (s *Service) Update(ctx context.Context, by audit.By, t managed.Target, f Fields) (*Link, error) {
	rules, err := s.rulesFor(ctx, f.addresses())
	if err != nil {
		return nil, err
	}
	return s.links.Change(ctx, by, t, managed.Updated, func(was *Link, now time.Time) (*Link, error) {
		is := was.next(now)
		if err := f.apply(is, rules); err != nil {
			return nil, err
		}
		return is, s.hash(ctx, is, f.Password)
	})
}

// Upsert changes the link that has the external id, or makes one, and says which. Errors
// are those of Update and Create; without an external id it is a Validation fault.
func (s *Service) Upsert(ctx context.Context, by audit.By, organizationID string, f Fields) (l *Link, made bool, err error) {
	if f.ExternalID == nil || *f.ExternalID == "" {
		return nil, false, fault.Invalid("externalId", "required", "externalId is what upsert finds a link by")
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
