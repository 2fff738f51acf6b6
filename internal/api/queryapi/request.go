package queryapi

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/auth"
)

// request is one whose caller is known and counted.
type request struct {
	*rpc.Caller

	body []byte // of a POST
	// elsewhere is why the caller's session does not count: a page of another site
	// sent it. The caller is nobody then.
	elsewhere error
}

// anonymous reports whether nobody is known to call.
func (r *request) anonymous() bool { return r.Principal.Kind == auth.KindAnonymous }

// unauthorized is the response to nobody.
func (r *request) unauthorized() error {
	if r.elsewhere != nil {
		return r.elsewhere
	}
	return apierr.New(apierr.AuthRequired)
}

// identify finds out who calls. On a route that nobody in particular may call too, a
// session that another site's page sent counts as none.
func (h *handlers) identify(r *Route, c *fiber.Ctx) (*request, error) {
	caller, err := h.identifier.Identify(c, r.Limit)
	if r.Open && apierr.Is(err, apierr.Forbidden) {
		return &request{Caller: &rpc.Caller{}, elsewhere: err}, nil
	}
	if err != nil {
		return nil, err
	}
	return &request{Caller: caller}, nil
}

// serve reads the body, which may take a minute to arrive, then finds out who calls,
// counts the request, which it does of callers without a credential too, and checks the
// route's scope. What may be asked of an open route depends on the subject, and is for its
// handler to say.
func (h *handlers) serve(r *Route, c *fiber.Ctx) error {
	if r.Public {
		return r.handle(h, c, &request{Caller: &rpc.Caller{}})
	}
	if r.Open {
		h.allowElsewhere(c)
	}
	var body []byte
	if r.Method == fiber.MethodPost {
		var err error
		if body, err = httpkit.JSON(c, httpkit.Limits{Values: analytics.MaxValues}); err != nil {
			return err
		}
	}
	caller, err := h.identify(r, c)
	if err != nil {
		return err
	}
	caller.body = body
	lease, err := h.identifier.Admit(c, caller.Caller, r.Limit)
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(c.UserContext())
	httpkit.WhenSent(c, func() { lease.Release(ctx) })
	if r.Open {
		return r.handle(h, c, caller)
	}
	if caller.anonymous() {
		return apierr.New(apierr.AuthRequired)
	}
	if err := require(caller, r.Scope); err != nil {
		return err
	}
	return r.handle(h, c, caller)
}
