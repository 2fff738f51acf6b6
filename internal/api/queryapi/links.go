package queryapi

import (
	"context"
	"errors"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
)

// Links finds links.
type Links interface {
	// LinkByID returns a link of whatever organization, or link.ErrNotFound.
	LinkByID(ctx context.Context, id string) (*link.Link, error)
}

// link finds a short link. What is said of one that the caller may not see, a key of one
// website among them, is the same as of one that does not exist.
func (h *handlers) link(c *fiber.Ctx, caller *request, id string) (standing, error) {
	missing, err := absent(caller, auth.ScopeReadData, "link")
	if err != nil || h.links == nil || !website.PlausibleRef(id) {
		return missing, err // what can be no id at all is none that the store could be asked for
	}
	l, err := h.links.LinkByID(c.UserContext(), id)
	if errors.Is(err, link.ErrNotFound) {
		return missing, nil
	}
	if err != nil {
		return standing{}, err
	}
	p, err := caller.In(l.OrganizationID)
	switch {
	case errors.Is(err, org.ErrNotFound), err == nil && !p.Global():
		return missing, nil
	case err != nil:
		return standing{}, err
	}
	subject := analytics.Subject{Kind: analytics.Link, ID: l.ID, Organization: l.OrganizationID}
	return standing{subject: subject, scopes: p.Scopes}, nil
}
