package ingest

import (
	"bytes"
	"context"
	"unsafe"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/website"
)

// authorize is step 5.
func (r *run) authorize(ctx context.Context) (err error) {
	if r.principal.Kind == auth.KindAnonymous {
		err = r.authorizeClient(ctx)
	} else {
		err = r.authorizeKey(ctx)
	}
	r.aimedAt = err == nil
	return err
}

// authorizeKey finds what each event of a key is meant for.
func (r *run) authorizeKey(ctx context.Context) error {
	if !r.principal.Has(auth.ScopeTrackEvents) {
		return apierr.New(apierr.Forbidden)
	}
	r.organization = r.principal.OrganizationID
	// Most batches name one website, so only a change is looked at; package auth
	// remembers the others.
	var last []byte
	for i := range r.events {
		ref := r.events[i].WebsiteID
		if len(ref) == 0 {
			ref = r.req.WebsiteID
		}
		if i > 0 && bytes.Equal(ref, last) {
			continue
		}
		to, err := r.target(ctx, ref)
		if err != nil {
			return err
		}
		to.from = i
		r.aims = append(r.aims, to)
		last = ref
	}
	return nil
}

// target returns what a key's event with this website reference is meant for.
func (r *run) target(ctx context.Context, ref []byte) (aim, error) {
	p := r.principal
	name := view(ref)
	if name == "" {
		if p.Global() {
			if r.req.Route != nil && r.req.Route.OfWebsite {
				return aim{}, apierr.Invalid("websiteId", string(event.RuleRequired), missingWebsite)
			}
			return aim{}, nil // the organization itself
		}
		name = p.WebsiteID
	}
	w, err := r.deps.Access.Website(ctx, name)
	if err != nil {
		return aim{}, err
	}
	if err := auth.AuthorizeWebsite(p, w, auth.ScopeTrackEvents); err != nil {
		return aim{}, err
	}
	return aimAt(w), nil
}

// missingWebsite is what a key to all websites is told where it must name one.
const missingWebsite = "Missing websiteId"

// authorizeClient checks the website of a client id.
func (r *run) authorizeClient(ctx context.Context) error {
	w, err := r.website(ctx)
	if err != nil {
		return err
	}
	if w.OrganizationID == "" {
		return apierr.New(apierr.WebsiteMissingOrganization)
	}
	if err := checkCaller(w, r.req.Origin, r.req.Addr); err != nil {
		return err
	}
	r.organization = w.OrganizationID
	r.aims = append(r.aims, aimAt(w))
	for i := range r.events {
		// Whether another website exists is nobody's business here.
		ref := r.events[i].WebsiteID
		if len(ref) > 0 && !bytes.Equal(ref, r.clientID) && !w.AcceptsClientID(view(ref), r.now) {
			return apierr.New(apierr.AccessDenied)
		}
	}
	return nil
}

// checkQuota is step 6.
func (r *run) checkQuota(ctx context.Context) error {
	if r.deps.Quota == nil {
		return nil
	}
	return r.deps.Quota.Check(ctx, r.organization, r.now)
}

func aimAt(w *website.Website) aim {
	// A setting that is none of the three hashes, as the default does.
	setting, _ := event.ParseAnonymize(w.AnonymizeVisitorIDs)
	return aim{target: record.Target{Website: w.ID, Anonymize: setting}, site: w}
}

// view returns b as a string without copying it, for a callee that does not keep
// it.
func view(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b)) //nolint:gosec // see above
}
