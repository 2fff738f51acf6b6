package ingest

import (
	"context"
	"errors"

	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
	"github.com/millrace/millrace/internal/tenant/website"
)

// limit is step 3.
func (r *run) limit(ctx context.Context) error {
	if r.limits == nil {
		return nil
	}
	req := ratelimit.Request{Family: r.req.Route.Family}
	if r.principal.Kind == auth.KindKey {
		req.Who, req.Custom = ratelimit.Identity{Kind: ratelimit.Key, ID: r.principal.KeyID}, r.principal.Limit()
	} else {
		w, err := r.website(ctx)
		if errors.Is(err, website.ErrNotFound) {
			return nil // who tries out client ids is counted by the address alone, and has been
		}
		if err != nil {
			return err
		}
		req.Who = ratelimit.Identity{Kind: ratelimit.Client, ID: w.ID, Addr: r.req.Addr}
	}
	lease, err := r.limits.Admit(ctx, req)
	r.lease = lease
	return err
}

// website returns the website of the client id, which is looked up and, where there is
// none, counted once. One that is not remembered is not looked up for an address that has
// used up what may be tried out.
func (r *run) website(ctx context.Context) (*website.Website, error) {
	if r.site != nil || r.noSite != nil {
		return r.site, r.noSite
	}
	id, from := view(r.clientID), r.from()
	if r.deps.Access.Remembered(id) == nil {
		if r.noSite = from.MayAsk(); r.noSite != nil {
			return nil, r.noSite
		}
	}
	r.site, r.noSite = r.deps.Access.ClientWebsite(ctx, id)
	if errors.Is(r.noSite, website.ErrNotFound) {
		r.noSite = from.Failed(ctx, r.noSite)
	}
	return r.site, r.noSite
}
