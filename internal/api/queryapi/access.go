package queryapi

import (
	"errors"
	"fmt"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/auth"
	"github.com/millrace/millrace/internal/fault"
	"github.com/millrace/millrace/internal/httpkit"
	"github.com/millrace/millrace/internal/website"
)

// authenticate returns whom the request's key stands for.
func (h *handlers) authenticate(c *fiber.Ctx) (auth.Principal, error) {
	secret := httpkit.Credential(c)
	if secret == nil {
		return auth.Principal{}, fault.New(fault.AuthRequired)
	}
	return h.access.Key(c.UserContext(), secret)
}

func require(p auth.Principal, scope auth.Scope) error {
	if !p.Has(scope) {
		return fault.Wrap(fault.Forbidden, fmt.Errorf("key %s lacks the scope %s", p.KeyID, scope))
	}
	return nil
}

// denied is the answer for what the caller may not see and for what is not there.
func denied(what string, cause error) error {
	return &fault.Error{Code: fault.AccessDenied, Message: "Access denied to this " + what, Err: cause}
}

var errNoSuch = errors.New("nothing has this id")

// subjects are the ways to say what a query is about, in the order in which they
// win over each other.
var subjects = []struct {
	parameter string
	resolve   func(h *handlers, c *fiber.Ctx, p auth.Principal, id string) (analytics.Subject, error)
}{
	{"link_id", (*handlers).link},
	{"schedule_id", (*handlers).monitor},
	{"website_id", (*handlers).website},
	{"organization_id", (*handlers).organization},
}

// subject says what the request is about, from the query string. A request that
// names nothing is about the organization of a key that reaches all of it.
func (h *handlers) subject(c *fiber.Ctx, p auth.Principal) (analytics.Subject, error) {
	for _, s := range subjects {
		if id := c.Query(s.parameter); id != "" {
			return s.resolve(h, c, p, id)
		}
	}
	if !p.Global() {
		return analytics.Subject{}, fault.New(fault.MissingProjectID)
	}
	return analytics.Subject{Kind: analytics.Organization, ID: p.OrganizationID}, nil
}

// link and monitor refuse: no link and no monitor exists yet, and what does not
// exist is denied.
func (*handlers) link(*fiber.Ctx, auth.Principal, string) (analytics.Subject, error) {
	return analytics.Subject{}, denied("link", errNoSuch)
}

func (*handlers) monitor(_ *fiber.Ctx, p auth.Principal, _ string) (analytics.Subject, error) {
	if err := require(p, auth.ScopeReadMonitors); err != nil {
		return analytics.Subject{}, err
	}
	return analytics.Subject{}, denied("monitor", errNoSuch)
}

func (h *handlers) website(c *fiber.Ctx, p auth.Principal, ref string) (analytics.Subject, error) {
	w, err := h.access.Website(c.UserContext(), ref)
	if err == nil {
		err = auth.AuthorizeWebsite(p, w, auth.ScopeReadData)
	}
	switch {
	case err == nil:
		return analytics.Subject{Kind: analytics.Website, ID: w.ID}, nil
	case errors.Is(err, website.ErrNotFound), fault.Is(err, fault.AccessDenied):
		return analytics.Subject{}, denied("website", err)
	}
	return analytics.Subject{}, err
}

func (*handlers) organization(_ *fiber.Ctx, p auth.Principal, id string) (analytics.Subject, error) {
	if !p.Global() || id != p.OrganizationID {
		return analytics.Subject{}, denied("organization", errNoSuch)
	}
	return analytics.Subject{Kind: analytics.Organization, ID: id}, nil
}
