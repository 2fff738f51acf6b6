package ingest

import (
	"context"
	"errors"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/pipeline/tally"
	"github.com/millrace/millrace/internal/platform/admission"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/website"
)

// account counts what became of each event of the request, once, as it ends:
// rejected is why the request was rejected, or nil. Of a rejected request every event
// is rejected, whatever else it is, and one whose events were not counted is one.
//
// The same counts go to the metrics, where received is the sum of all outcomes,
// and to the tally of whose events they are.
func (r *run) account(ctx context.Context, rejected *apierr.Error) {
	events := len(r.events)
	if rejected != nil {
		events = max(1, events, r.seen)
	}
	r.metrics.receive(r.req.Route.Name, events)
	if rejected != nil {
		what := tally.Rejected(rejected.Code)
		r.metrics.end(r.req.Route.Name, what, events)
		if r.deps.Tally == nil {
			return
		}
		if !r.aimedAt {
			r.deps.Tally.Add(r.supposed(ctx, rejected), what, events, r.now)
			return
		}
		for i := range r.aims {
			from, to := r.span(i)
			r.deps.Tally.Add(r.owner(&r.aims[i]), what, to-from, r.now)
		}
		return
	}
	var all outcomes
	for i := range r.aims {
		var of outcomes
		from, to := r.span(i)
		of.add(r, from, to)
		for what, n := range of {
			all[what] += n
			r.deps.Tally.Add(r.owner(&r.aims[i]), fateOutcomes[what], n, r.now)
		}
	}
	for what, n := range all {
		r.metrics.end(r.req.Route.Name, fateOutcomes[what], n)
	}
}

// outcomes are how many events had each fate.
type outcomes [numFates]int

// fateOutcomes are the fates as they are counted.
var fateOutcomes = [numFates]tally.Outcome{
	fateTaken: tally.Accepted, fateRejected: tally.Rejected(apierr.Validation), fateBot: tally.Bot,
	fateExcluded: tally.Excluded,
	fateDeclined: tally.Declined,
}

// add counts the events [from, to).
func (o *outcomes) add(r *run, from, to int) {
	if len(r.fates) == 0 {
		o[fateTaken] += to - from
		return
	}
	for _, f := range r.fates[from:to] {
		o[f]++
	}
}

// span returns which events an aim is that of.
func (r *run) span(aim int) (from, to int) {
	to = len(r.events)
	if aim+1 < len(r.aims) {
		to = r.aims[aim+1].from
	}
	return r.aims[aim].from, to
}

func (r *run) owner(a *aim) tally.Owner {
	return tally.Owner{Organization: r.organization, Website: a.target.Website}
}

// supposed returns whose events those of a rejected request would have been, as far
// as that is known: a client id's website; else of a key's organization the website
// that the key is limited to, or that is named; else nobody's. Where there was no room,
// or too much was asked, nobody is asked: it would cost more than what was refused to save.
func (r *run) supposed(ctx context.Context, why *apierr.Error) tally.Owner {
	busy := errors.Is(why, admission.ErrRejected) || why.Code == apierr.RateLimited
	p := r.principal
	if p.Kind == auth.KindAnonymous {
		site := r.site
		switch {
		case site != nil, len(r.clientID) == 0:
		case busy:
			site = r.deps.Access.Remembered(view(r.clientID))
		default:
			site, _ = r.website(ctx)
		}
		if site == nil {
			return tally.Owner{}
		}
		return tally.Owner{Organization: site.OrganizationID, Website: site.ID}
	}
	o := tally.Owner{Organization: p.OrganizationID, Website: p.WebsiteID}
	ref := r.req.WebsiteID
	if len(ref) == 0 && r.seen > 0 && r.req.Route.BodyID { // it was decoded: to look again is not much
		ref = r.decoder.PeekWebsiteID(r.req.Body)
	}
	if o.Website != "" || len(ref) == 0 {
		return o
	}
	var w *website.Website
	if busy {
		w = r.deps.Access.Remembered(view(ref))
	} else {
		w, _ = r.deps.Access.Website(ctx, view(ref))
	}
	if w != nil && w.OrganizationID == o.Organization {
		o.Website = w.ID
	}
	return o
}

// Reject accounts for a request that was rejected before its body was there. Body is
// not read.
func (a *Acceptor) Reject(ctx context.Context, req Request, why error) {
	req.Body = nil
	r := a.begin(req)
	defer a.end(ctx, r)
	r.limits = a.deps.Limits
	_ = r.identify(ctx) // else it is nobody's
	r.account(ctx, errorOf(why))
}
