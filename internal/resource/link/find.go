package link

import (
	"context"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// Ref names a link by one of three: its id, its external id, or its slug on a host.
type Ref struct {
	OrganizationID string // whose link it must be
	ID             string
	ExternalID     string
	Domain         string // a hostname of the organization's own; empty for the shared host
	Slug           string
}

// Get returns a link that is not deleted, or ErrNotFound. A ref that names it not at all,
// or in several ways, is a Validation error.
func (s *Service) Get(ctx context.Context, ref Ref) (*Link, error) {
	ways := 0
	for _, way := range []string{ref.ID, ref.ExternalID, ref.Slug} {
		if way != "" {
			ways++
		}
	}
	switch {
	case ways != 1:
		return nil, apierr.Invalid("id", "one_of", "exactly one of id, externalId and slug is required")
	case ref.Domain != "" && ref.Slug == "":
		return nil, apierr.Invalid("domain", "one_of", "domain requires slug")
	case ref.ExternalID != "":
		return s.deps.Store.LinkByExternalID(ctx, ref.OrganizationID, ref.ExternalID)
	case ref.Slug != "":
		key, err := s.key(ctx, ref.OrganizationID, ref.Domain, ref.Slug)
		if err != nil {
			return nil, err
		}
		return s.deps.Store.LinkByKey(ctx, ref.OrganizationID, key)
	}
	return s.links.Get(ctx, managed.Target{OrganizationID: ref.OrganizationID, Ref: ref.ID})
}

// key is what a link is found by on a host of an organization.
func (s *Service) key(ctx context.Context, organizationID, hostname, slug string) (string, error) {
	if hostname == "" {
		return SlugKey(slug), nil
	}
	d, err := s.domainOf(ctx, organizationID, hostname)
	if err != nil {
		return "", err
	}
	return KeyOn(d.ID, d.CaseSensitive, NormSlug(slug)), nil
}

// List returns the links that f selects; a Domain that is not the organization's is a
// Validation error.
func (s *Service) List(ctx context.Context, f Filter) ([]*Link, error) {
	if f.Domain != "" {
		d, err := s.domainOf(ctx, f.OrganizationID, f.Domain)
		if err != nil {
			return nil, err
		}
		f.DomainID = d.ID
	}
	f.Now = s.links.Clock()
	return s.deps.Store.ListLinks(ctx, f)
}

// Tags returns at most limit tags of an organization, in order, those after the given one.
func (s *Service) Tags(ctx context.Context, organizationID, after string, limit int) ([]TagCount, error) {
	return s.deps.Store.ListTags(ctx, organizationID, after, limit)
}

// SlugFree returns nil for a slug that an organization may have now on a host, its own or,
// with an empty hostname, the shared one; a Validation error for one against the rules, and
// ErrSlugTaken.
func (s *Service) SlugFree(ctx context.Context, organizationID, hostname, slug string) error {
	key, err := s.key(ctx, organizationID, hostname, slug)
	switch {
	case err != nil:
		return err
	case hostname == "":
		err = CheckSlug(slug)
	default:
		err = CheckOwnSlug(NormSlug(slug))
	}
	if err != nil {
		return err
	}
	taken, err := s.deps.Store.SlugTaken(ctx, organizationID, key)
	if err == nil && taken {
		return ErrSlugTaken
	}
	return err
}
