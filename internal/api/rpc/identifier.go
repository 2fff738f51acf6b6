package rpc

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// Keys recognises API keys; *auth.Authenticator is one.
type Keys interface {
	Key(ctx context.Context, secret []byte, from auth.From) (auth.Principal, error)
}

// Identifier finds out who calls, and how often. It is made once and not copied.
type Identifier struct {
	Keys     Keys
	Sessions auth.Sessions // nil when nobody can sign in
	Site     *httpkit.Site
	// Limits counts callers' requests; nil limits nobody.
	Limits *ratelimit.Limiter

	known  sync.Once
	tokens *familiar // set by known
}

// Caller is who sent a request: nobody, a key, or a person with their memberships.
type Caller struct {
	// Principal is final for a key and for nobody. A person is in their only
	// organization, or in none; see In.
	Principal   auth.Principal
	Token       string // of the session
	User        *org.User
	Memberships []org.Member
}

// Identify returns who sent the request. A key wins over a cookie; a key that is
// sent and not good is rejected, never overlooked, while the cookie of a session
// that has ended counts as none, so that its owner may sign in again. What a
// cookie alone vouches for, and what may change something, must come from a page
// of our own, or from no page.
//
// A key that is not good is counted against its address as a request of the family; a
// cookie is by Admit. An address that has used up what callers without a credential
// have is a RateLimited error, unless the key or session is remembered.
func (g *Identifier) Identify(c *fiber.Ctx, f ratelimit.Family) (*Caller, error) {
	from := auth.From{Addr: httpkit.ClientAddr(c), Limits: g.Limits, Family: f}
	if secret := httpkit.Credential(c); secret != nil {
		p, err := g.Keys.Key(c.UserContext(), secret, from)
		return &Caller{Principal: p}, err
	}
	caller := &Caller{Token: g.Site.SessionToken(c)}
	if caller.Token == "" || g.Sessions == nil {
		return caller, nil
	}
	if c.Method() != fiber.MethodGet {
		if err := g.Site.CheckOrigin(c); err != nil {
			return nil, err
		}
	}
	known := g.familiar()
	if !known.knows(caller.Token) {
		if err := from.MayAsk(); err != nil {
			return nil, err
		}
	}
	id, user, memberships, err := g.Sessions.SignedIn(c.UserContext(), caller.Token)
	if apierr.Is(err, apierr.AuthRequired) {
		known.forget(caller.Token)
		return caller, nil
	}
	if err != nil {
		return nil, err
	}
	known.note(caller.Token)
	caller.User, caller.Memberships = user, memberships
	caller.Principal, err = auth.Enter(id, user, memberships, "")
	return caller, err
}

// again returns the principal of a call, with its key or session as they are now. Nothing is counted.
func (g *Identifier) again(ctx context.Context, secret []byte, call *Call) (auth.Principal, error) {
	if call.Principal.Kind != auth.KindSession {
		return g.Keys.Key(ctx, secret, auth.From{Addr: call.Client})
	}
	id, user, memberships, err := g.Sessions.SignedIn(ctx, call.SessionToken)
	if err != nil {
		return auth.Principal{}, err
	}
	return auth.Enter(id, user, memberships, call.OrganizationID())
}

func (g *Identifier) familiar() *familiar {
	g.known.Do(func() { g.tokens = newFamiliar() })
	return g.tokens
}

// In returns the principal in an organization, empty for the own or only one.
// One that the caller has no membership in is org.ErrNotFound; of several one has to be
// named, see auth.Unnamed.
func (c *Caller) In(organizationID string) (auth.Principal, error) {
	switch {
	case organizationID == "" && c.Principal.OrganizationID == "" && len(c.Memberships) > 1:
		return auth.Principal{}, auth.Unnamed(c.Memberships)
	case organizationID == "":
		return c.Principal, nil
	case c.Principal.Kind == auth.KindSession:
		return auth.Enter(c.Principal.SessionID, c.User, c.Memberships, organizationID)
	case organizationID != c.Principal.OrganizationID:
		return auth.Principal{}, org.ErrNotFound
	default:
		return c.Principal, nil
	}
}

// Holds reports whether the caller holds a scope in any organization that it may
// name.
func (c *Caller) Holds(scope auth.Scope) bool {
	return c.Principal.Has(scope) ||
		slices.ContainsFunc(c.Memberships, func(m org.Member) bool { return auth.ScopesOf(m.Role).Has(scope) })
}

// errNoOrganization is what someone learns who belongs to none.
var errNoOrganization = errors.New("the user belongs to no organization")

// enter is In for an operation's class and the body's organizationId, which may
// be anything yet.
func (c *Caller) enter(class auth.Class, organizationID any) (auth.Principal, error) {
	if row := class.Row(); row == nil || row.Role == "" {
		return c.Principal, nil
	}
	named, _ := organizationID.(string) // another type is for the schema to reject
	p, err := c.In(named)
	if err == nil && p.Kind == auth.KindSession && p.OrganizationID == "" {
		err = &apierr.Error{Code: apierr.AccessDenied, Message: "You do not belong to an " +
			"organization yet", Err: errNoOrganization}
	}
	return p, err
}
