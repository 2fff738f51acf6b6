package queryapi

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/auth"
	"github.com/millrace/millrace/internal/fault"
	"github.com/millrace/millrace/internal/org"
	"github.com/millrace/millrace/internal/website"
)

func require(p auth.Principal, scope auth.Scope) error {
	if !p.Has(scope) {
		return fault.Wrap(fault.Forbidden, fmt.Errorf("%s lacks the scope %s", cmp.Or(p.KeyID, p.UserID), scope))
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
	resolve   func(h *handlers, c *fiber.Ctx, caller *rpc.Caller, id string) (analytics.Subject, error)
}{
	{"link_id", (*handlers).link},
	{"schedule_id", (*handlers).monitor},
	{"website_id", (*handlers).website},
	{"organization_id", (*handlers).organization},
}

// subject says what the request is about, from the query string. A request that
// names nothing is about the organization of a key that reaches all of it, or the
// first one of a person.
func (h *handlers) subject(c *fiber.Ctx, caller *rpc.Caller) (analytics.Subject, error) {
	for _, s := range subjects {
		if id := c.Query(s.parameter); id != "" {
			return s.resolve(h, c, caller, id)
		}
	}
	p := caller.Principal
	if !p.Global() || p.OrganizationID == "" {
		return analytics.Subject{}, fault.New(fault.MissingProjectID)
	}
	return analytics.Subject{Kind: analytics.Organization, ID: p.OrganizationID}, nil
}

// link and monitor refuse: no link and no monitor exists yet, and what does not
// exist is denied.
func (*handlers) link(*fiber.Ctx, *rpc.Caller, string) (analytics.Subject, error) {
	return analytics.Subject{}, denied("link", errNoSuch)
}

func (*handlers) monitor(_ *fiber.Ctx, caller *rpc.Caller, _ string) (analytics.Subject, error) {
	if err := require(caller.Principal, auth.ScopeReadMonitors); err != nil {
		return analytics.Subject{}, err
	}
	return analytics.Subject{}, denied("monitor", errNoSuch)
}

func (h *handlers) website(c *fiber.Ctx, caller *rpc.Caller, ref string) (analytics.Subject, error) {
	w, err := h.access.Website(c.UserContext(), ref)
	if err == nil {
		err = authorize(caller, w)
	}
	switch {
	case err == nil:
		return analytics.Subject{Kind: analytics.Website, ID: w.ID}, nil
	case errors.Is(err, website.ErrNotFound), errors.Is(err, org.ErrNotFound), fault.Is(err, fault.AccessDenied):
		return analytics.Subject{}, denied("website", err)
	}
	return analytics.Subject{}, err
}

// authorize says whether the caller may query a website: a person in the
// organization that the website belongs to, which need not be their first.
func authorize(caller *rpc.Caller, w *website.Website) error {
	p := caller.Principal
	if p.Kind == auth.KindSession && w.OrganizationID != "" {
		var err error
		if p, err = caller.In(w.OrganizationID); err != nil {
			return err
		}
	}
	return auth.AuthorizeWebsite(p, w, auth.ScopeReadData)
}

func (*handlers) organization(_ *fiber.Ctx, caller *rpc.Caller, id string) (analytics.Subject, error) {
	p, err := caller.In(id)
	if err != nil || !p.Global() {
		return analytics.Subject{}, denied("organization", errNoSuch)
	}
	return analytics.Subject{Kind: analytics.Organization, ID: id}, nil
}
