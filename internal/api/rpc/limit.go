package rpc

import (
	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// Admit counts a request of the query host against the limits of its caller: a
// key, a person, or an address. It returns a RateLimited error, or a lease to be
// given back when the request is answered. Signing in is counted by the address,
// whoever else the caller is.
func (g *Identifier) Admit(c *fiber.Ctx, caller *Caller, f ratelimit.Family) (ratelimit.Lease, error) {
	req := ratelimit.Request{Family: f}
	switch p := caller.Principal; {
	case f == ratelimit.SignIn || p.Kind == auth.KindAnonymous:
		req.Who = ratelimit.Identity{Kind: ratelimit.Client, Addr: httpkit.ClientAddr(c)}
	case p.Kind == auth.KindKey:
		req.Who, req.Custom = ratelimit.Identity{Kind: ratelimit.Key, ID: p.KeyID}, p.Limit()
	default:
		req.Who = ratelimit.Identity{Kind: ratelimit.User, ID: p.UserID}
	}
	return g.Limits.Admit(c.UserContext(), req)
}
