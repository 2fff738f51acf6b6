package ingest

import (
	"bytes"
	"context"
	"unsafe"

	"github.com/millrace/millrace/internal/auth"
	"github.com/millrace/millrace/internal/event"
	"github.com/millrace/millrace/internal/fault"
	"github.com/millrace/millrace/internal/record"
	"github.com/millrace/millrace/internal/website"
)

// authorize is step 4.
func (r *run) authorize(ctx context.Context) error {
	if r.principal.Kind == auth.KindAnonymous {
		return r.authorizeClient(ctx)
	}
	return r.authorizeKey(ctx)
}

// authorizeKey finds what each event of a key is meant for.
func (r *run) authorizeKey(ctx context.Context) error {
	if !r.principal.Has(auth.ScopeTrackEvents) {
		return fault.New(fault.Forbidden)
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
		target, err := r.target(ctx, ref)
		if err != nil {
			return err
		}
		r.aims = append(r.aims, aim{from: i, target: target})
		last = ref
	}
	return nil
}

// target returns what a key's event with this website reference is meant for.
func (r *run) target(ctx context.Context, ref []byte) (record.Target, error) {
	p := r.principal
	name := view(ref)
	if name == "" {
		if p.Global() {
			return record.Target{}, nil // the organization itself
		}
		name = p.WebsiteID
	}
	w, err := r.deps.Access.Website(ctx, name)
	if err != nil {
		return record.Target{}, err
	}
	if err := auth.AuthorizeWebsite(p, w, auth.ScopeTrackEvents); err != nil {
		return record.Target{}, err
	}
	return targetOf(w), nil
}

// authorizeClient checks the website of a client id.
func (r *run) authorizeClient(ctx context.Context) error {
	w, err := r.website(ctx)
	if err != nil {
		return err
	}
	if w.OrganizationID == "" {
		return fault.New(fault.WebsiteMissingOrganization)
	}
	r.organization = w.OrganizationID
	r.aims = append(r.aims, aim{target: targetOf(w)})
	for i := range r.events {
		// Whether another website exists is nobody's business here.
		ref := r.events[i].WebsiteID
		if len(ref) > 0 && !bytes.Equal(ref, r.clientID) && !w.AcceptsClientID(view(ref), r.now) {
			return fault.New(fault.AccessDenied)
		}
	}
	return nil
}

// checkQuota is step 5.
func (r *run) checkQuota(ctx context.Context) error {
	if r.deps.Quota == nil {
		return nil
	}
	return r.deps.Quota.Check(ctx, r.organization, r.now)
}

func targetOf(w *website.Website) record.Target {
	// A setting that is none of the three hashes, as the default does.
	setting, _ := event.ParseAnonymize(w.AnonymizeVisitorIDs)
	return record.Target{Website: w.ID, Anonymize: setting}
}

// view returns b as a string without copying it, for a callee that does not keep
// it.
func view(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b)) //nolint:gosec // see above
}
