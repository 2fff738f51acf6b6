package ingest

import (
	"slices"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// Item is what became of one event.
type Item struct {
	// Type is as the caller wrote it, or track.
	Type string
	// EventID is as the caller wrote it; empty without one.
	EventID string
	// Outcome says whether it was taken.
	Outcome Outcome
	// Problems say which rules it breaks.
	Problems []apierr.Detail
}

// Outcome is what became of an event.
type Outcome uint8

// The outcomes. An event that was excluded is none of the caller's business: it is
// answered like one that was taken.
const (
	Taken Outcome = iota
	Invalid
	UnknownType
)

// result says what became of the request.
func (r *run) result() Result {
	res := Result{
		Count: r.taken, Silent: r.silent || r.taken == 0 && r.client() && !slices.Contains(r.fates, fateRejected),
	}
	if r.req.Route.Each && !res.Silent {
		res.Items = r.items()
	}
	if r.req.Route.Form.OfPages() && len(r.events) > 0 {
		res.Type = string(r.events[0].Type())
	}
	return res
}

// items tells of the events one by one, in memory of its own.
func (r *run) items() []Item {
	items := make([]Item, len(r.events))
	for i := range r.events {
		e := &r.events[i]
		items[i] = Item{Type: string(e.Type()), EventID: string(e.EventID)}
		switch {
		case !e.Rejected:
		case e.UnknownType():
			items[i].Outcome = UnknownType
		default:
			items[i].Outcome = Invalid
		}
	}
	for _, p := range r.problems {
		it := &items[p.Index]
		it.Problems = append(it.Problems,
			apierr.Detail{Index: apierr.NoIndex, Field: p.Field, Rule: string(p.Rule), Message: p.Message})
	}
	return items
}
