package ingest

import (
	"context"

	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/pipeline/enrich"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/website"
)

// fate is what becomes of an event that was understood.
type fate uint8

const (
	fateTaken    fate = iota
	fateRejected      // it breaks a rule, on a route whose events stand for themselves
	fateBot           // sent by a program that says so
	fateExcluded      // the website does not want it
	fateDeclined      // the browser asks not to be tracked, and the website honours it

	numFates = iota
)

// client reports whether the caller has a client id and no key: a visitor's own
// browser, as far as anybody can tell.
func (r *run) client() bool { return r.principal.Kind == auth.KindAnonymous }

// screen is step 7. A key's address and user agent are those of a server, of which
// nothing is found out.
func (r *run) screen(context.Context) error {
	if r.req.Route.Each {
		for i := range r.events {
			if r.events[i].Rejected {
				r.doom(i, fateRejected)
			}
		}
	}
	if !r.client() {
		return nil
	}
	site := r.aims[0].site
	if site.Declines(r.req.Signals) { // before anything is found out about the visitor
		r.doomAll(fateDeclined)
		return nil
	}
	if r.deps.Enrich != nil {
		r.visitor = r.deps.Enrich.Visitor(r.req.Addr, r.req.UserAgent)
	}
	switch agent := r.visitor.Agent; {
	case agent != nil && agent.Bot != "" && !site.KeepBots:
		r.metrics.bots.WithLabelValues(agent.BotKind).Add(float64(len(r.events)))
		r.doomAll(fateBot)
	case listed(site.ExcludedIPs, r.req.Addr):
		r.doomAll(fateExcluded)
	default:
		r.showVisitors(site)
	}
	return nil
}

// noHash is the country whose visitors' ids anonymizeVisitorIds "auto" leaves as
// they are.
const noHash = "US"

// showVisitors settles what "auto" means for the visitor. Without this it hashes.
func (r *run) showVisitors(site *website.Website) {
	if r.visitor.Place.Country != noHash {
		return
	}
	setting, _ := event.ParseAnonymize(site.AnonymizeVisitorIDs)
	for i := range r.events {
		e := &r.events[i]
		if e.Anonymize == event.AnonymizeAuto || e.Anonymize == event.AnonymizeUnset && setting == event.AnonymizeAuto {
			e.Anonymize = event.AnonymizeShown
		}
	}
}

// doom notes that event i is not taken. The first reason counts.
func (r *run) doom(i int, why fate) {
	for len(r.fates) < len(r.events) {
		r.fates = append(r.fates, fateTaken)
	}
	if r.fates[i] == fateTaken {
		r.fates[i] = why
	}
}

// doomAll is doom for all events, of which the caller is told nothing.
func (r *run) doomAll(why fate) {
	for i := range r.events {
		r.doom(i, why)
	}
	r.silent = true
}

// forget drops what is known of the visitor.
func (r *run) forget() { r.visitor, r.silent = enrich.Visitor{}, false }
