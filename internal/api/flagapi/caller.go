package flagapi

import (
	"context"
	"errors"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
	"github.com/millrace/millrace/internal/tenant/website"
)

// errUnknown is the response to a client id that is no website's, or one without an
// organization, which has no flags.
var errUnknown = &apierr.Error{Code: apierr.NotFound, Message: "Website not found", Err: website.ErrNotFound}

// caller is who asks, and about which website's flags. Its place is given back with
// release, or once a large response is sent.
type caller struct {
	subject // its set is read by load

	principal auth.Principal // of a key; the zero value for whoever knows a client id
	lease     ratelimit.Lease
	claimed   bool // memory for a large response
}

func (who *caller) release(c *fiber.Ctx) {
	who.lease.Release(c.UserContext())
}

// bill has the memory of the response claimed in the name of the key, or of the website and the caller's
// address, and in that of the organization.
func (who *caller) bill(c *fiber.Ctx) {
	owner := who.principal.KeyID
	if owner == "" {
		owner = who.website.ID + " " + site(httpkit.ClientAddr(c)).String()
	}
	httpkit.Bill(c, owner, who.website.OrganizationID)
}

// hold keeps the caller's place beyond the handler, until the function that it returns is
// called.
func (who *caller) hold(ctx context.Context) (release func()) {
	lease := who.lease
	who.lease, ctx = ratelimit.Lease{}, context.WithoutCancel(ctx)
	return func() { lease.Release(ctx) }
}

// enter finds out who asks about the website that ref names, and counts the request: by the
// website and the address, or by the key. Whoever has no key names a website by its client id
// only. Cookies and the website's lists of origins and addresses count for nothing.
//
// The errors are API errors, in the order of httpkit.Checks: a key that is not good is rejected,
// never overlooked; RateLimited; NotFound for what is no website's, or with a key
// none of its organization's; AccessDenied for a key that does not cover it, whatever its
// scopes; Validation for no ref, or one that is too long.
// What is no website's is counted by the address alone, and an address that has used that up
// is RateLimited for a website that is not remembered. ref may alias memory of the request.
func (h *Host) enter(c *fiber.Ctx, ref string) (who caller, err error) {
	ctx := c.UserContext()
	from := auth.From{Addr: httpkit.ClientAddr(c), Limits: h.deps.Limits, Family: ratelimit.Flags}
	secret := httpkit.Credential(c)
	if secret == nil {
		err = h.enterPublic(ctx, &who, ref, from)
		return who, err
	}
	if who.principal, err = h.deps.Keys.Key(ctx, secret, from); err != nil {
		return caller{}, err
	}
	who.trusted = true
	if err = h.enterKeyed(ctx, &who, ref); err != nil {
		who.release(c)
		return caller{}, err
	}
	return who, nil
}

// enterPublic finds the website of a client id.
func (h *Host) enterPublic(ctx context.Context, who *caller, ref string, from auth.From) (err error) {
	if err := checkRef(ref); err != nil {
		return from.Failed(ctx, err)
	}
	if h.deps.Websites.Remembered(ref) == nil {
		if err := from.MayAsk(); err != nil {
			return err
		}
	}
	who.website, err = h.website(ctx, ref)
	if err == nil && !who.website.AcceptsClientID(ref, h.deps.Now()) {
		err = errUnknown
	}
	if errors.Is(err, website.ErrNotFound) {
		return from.Failed(ctx, err)
	}
	if err != nil {
		return err
	}
	site := ratelimit.Identity{Kind: ratelimit.Client, ID: who.website.ID, Addr: from.Addr}
	who.lease, err = h.deps.Limits.Admit(ctx, ratelimit.Request{Family: ratelimit.Flags, Who: site})
	return err
}

// enterKeyed finds a website that a key asks about, by its client id or its id.
func (h *Host) enterKeyed(ctx context.Context, who *caller, ref string) (err error) {
	key := ratelimit.Identity{Kind: ratelimit.Key, ID: who.principal.KeyID}
	request := ratelimit.Request{Family: ratelimit.Flags, Who: key, Custom: who.principal.Limit()}
	if who.lease, err = h.deps.Limits.Admit(ctx, request); err != nil {
		return err
	}
	if err := checkRef(ref); err != nil {
		return err
	}
	if who.website, err = h.website(ctx, ref); err != nil {
		return err
	}
	if !who.website.Accepts(ref, h.deps.Now()) {
		return errUnknown
	}
	err = auth.ReachWebsite(who.principal, who.website)
	switch {
	case errors.Is(err, website.ErrNotFound): // another organization's, about which nobody is told
		return errUnknown
	case err != nil:
		return &apierr.Error{Code: apierr.AccessDenied, Message: "Access denied to this website", Err: err}
	}
	return nil
}

func (h *Host) website(ctx context.Context, ref string) (*website.Website, error) {
	if !website.PlausibleRef(ref) {
		return nil, errUnknown
	}
	w, err := h.deps.Websites.FlagWebsite(ctx, ref)
	if errors.Is(err, website.ErrNotFound) || err == nil && w.OrganizationID == "" {
		return nil, errUnknown
	}
	return w, err
}

// load reads the flags of the caller's website.
func (h *Host) load(ctx context.Context, who *caller) (err error) {
	who.set, err = h.deps.Sets.Get(ctx, who.website.OrganizationID)
	return err
}

// checkRef rejects what names no website, and what is too long to be one's name.
func checkRef(ref string) error {
	name := paramRows[paramClient].name
	if ref == "" {
		return apierr.Invalid(name, "required", name+" is required")
	}
	return checkLen(name, ref, website.MaxRefLen)
}

// checkLen rejects a parameter that is too long, in code points.
func checkLen(name, value string, most int) error {
	if len(value) <= most || utf8.RuneCountInString(value) <= most {
		return nil
	}
	var bad apierr.Rejection
	bad.Add(name, "too_long", "%s must have at most %d characters", name, most)
	return bad.Err()
}
