package ingest

import (
	"context"
	"errors"

	"github.com/millrace/millrace/internal/auth"
	"github.com/millrace/millrace/internal/ratelimit"
	"github.com/millrace/millrace/internal/website"
)

// limit is step 3.
func (r *run) limit(ctx context.Context) error {
	if r.deps.Limits == nil {
		return nil
	}
	req := ratelimit.Request{Family: r.req.Route.Family}
	if r.principal.Kind == auth.KindKey {
		req.Who, req.Custom = ratelimit.Identity{Kind: ratelimit.Key, ID: r.principal.KeyID}, r.principal.Limit()
	} else {
		req.Who = ratelimit.Identity{Kind: ratelimit.Client, Addr: r.req.Addr}
		switch w, err := r.website(ctx); {
		case err == nil:
			req.Who.ID = w.ID
		case !errors.Is(err, website.ErrNotFound):
			return err
		} // who tries out client ids is counted by the address alone
	}
	lease, err := r.deps.Limits.Admit(ctx, req)
	r.lease = lease
	return err
}

// website returns the website of the client id, which is looked up once.
func (r *run) website(ctx context.Context) (w *website.Website, err error) {
	if r.site == nil {
		r.site, err = r.deps.Access.ClientWebsite(ctx, view(r.clientID))
	}
	return r.site, err
}
