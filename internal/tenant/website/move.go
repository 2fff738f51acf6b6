package website

import (
	"context"
	"fmt"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// Moves are websites that changed their organization, by id. Usage is counted for
// the organization that a website belonged to when its events came; the events are the
// website's, and are seen where it belongs now.
type Moves struct {
	Left []string // belonged to the organization, and do not any more; those too that it deleted
	Came []string // belong to it, and belonged to another one before
}

// Moved is a website after a move.
type Moved struct {
	Website *Website
	// RevokedKeys is how many API keys of the organization before were limited to the
	// website, and are revoked now.
	RevokedKeys int
}

// Move hands a website over to another organization, with all that is stored of it.
// API keys that are limited to it are the organization's before, and are revoked. also
// is what the caller's right in the other organization rests on; nil for who needs
// none. Besides the errors of Update it returns org.ErrNotFound for an organization
// that does not exist.
func (s *Service) Move(
	ctx context.Context, by audit.By, t managed.Target, organizationID string, also *audit.Grant,
) (*Moved, error) {
	if organizationID == t.OrganizationID {
		return nil, apierr.Invalid("toOrganizationId", "invalid_value", "toOrganizationId must be the id of another "+
			"organization")
	}
	was, err := s.Get(ctx, t)
	if err != nil {
		return nil, err
	}
	if t.Version != 0 && t.Version != was.Version {
		return nil, managed.ErrChanged
	}
	is := managed.Next(was, s.websites.Clock())
	is.OrganizationID = organizationID
	n, err := s.store.MoveWebsite(ctx, by, was, is, also)
	if err != nil {
		return nil, fmt.Errorf("website %s: %w", was.ID, err)
	}
	return &Moved{is, n}, nil
}

// MoveEntries is how the audits of both organizations remember a move.
func MoveEntries(by audit.By, was, is *Website) []audit.Entry {
	var all []audit.Entry
	for _, id := range []string{was.OrganizationID, is.OrganizationID} {
		all = append(all, audit.New(by, id, Noun.Type, string(HandedOver), is.UpdatedAt).Of(is.ID, is.Name).
			With(map[string]audit.Change{"organizationId": {From: was.OrganizationID, To: is.OrganizationID}}))
	}
	return all
}
