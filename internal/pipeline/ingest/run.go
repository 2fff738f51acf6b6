package ingest

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/enrich"
	"github.com/millrace/millrace/internal/platform/admission"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
	"github.com/millrace/millrace/internal/tenant/website"
)

// run is the state of one request, pooled.
type run struct {
	*Acceptor
	req     Request
	now     time.Time // of receipt
	decoder event.Decoder
	records record.Batch

	events       []event.Event      // the decoder's
	principal    auth.Principal     // of a key; anonymous without one
	clientID     []byte             // without a key
	clientBuf    []byte             // holds a client id that was read from the body
	site         *website.Website   // of the client id, once it was looked up
	noSite       error              // the same, where there is none
	limits       *ratelimit.Limiter // nil where nothing is counted
	lease        ratelimit.Lease    // set by step "limits"
	organization string             // set by step "access"
	aims         []aim              // set by step "access"
	aimedAt      bool               // all of them are
	seen         int                // events of a body that was rejected, as far as it was read
	problems     []event.Problem    // of events that stand for themselves
	fates        []fate             // of the events, once one is not taken
	taken        int                // events that became records
	silent       bool               // the caller is told nothing
	visitor      enrich.Visitor     // who sends, of a client id
	page         enrich.PageInfo    // of the event that was looked at last
	found        record.Web         // the same
	scripts      []byte             // the texts of its error

	claim   admission.Claim // set by step "room"
	keys    int64           // bytes of it that the keys of the body take
	receipt record.Receipt  // set by step "records"
	built   int             // events that were looked at for records
	at      int             // the aim of the event that was looked at last
	unsure  bool            // records may be stored, or may not
}

// aim is what the events from one index on are meant for, up to the next aim:
// most requests have one.
type aim struct {
	from   int
	target record.Target
	site   *website.Website // nil for the organization itself
}

// keepAims bounds what one large request leaves in the pool.
const keepAims = 1024

// keepFates does the same.
const keepFates = 1 << 16

func (a *Acceptor) begin(req Request) *run {
	r, ok := a.runs.Get().(*run)
	if !ok {
		r = &run{Acceptor: a}
		r.decoder.Room = r.claimKeys
	}
	r.req, r.now = req, a.deps.Now()
	return r
}

func (a *Acceptor) end(ctx context.Context, r *run) {
	r.lease.Release(ctx)
	r.leaveRoom()
	r.lease, r.limits, r.claim = ratelimit.Lease{}, nil, admission.Claim{}
	r.keys = 0
	r.site, r.noSite = nil, nil
	r.receipt, r.built, r.at, r.unsure = record.Receipt{}, 0, 0, false
	r.seen, r.aimedAt = 0, false
	r.req, r.events, r.clientID, r.principal = Request{}, nil, nil, auth.Principal{}
	r.problems, r.fates, r.taken = nil, r.fates[:0], 0
	r.forget()
	if cap(r.fates) > keepFates {
		r.fates = nil
	}
	if cap(r.aims) > keepAims {
		r.aims = nil
	}
	clear(r.aims)
	r.aims = r.aims[:0]
	a.runs.Put(r)
}

// identify is step 1.
func (r *run) identify(ctx context.Context) error {
	if len(r.req.Key) > 0 {
		p, err := r.deps.Access.Key(ctx, r.req.Key, r.from())
		r.principal = p
		return err
	}
	r.clientID = r.req.WebsiteID
	if len(r.clientID) == 0 && r.req.Route.BodyID {
		// Copied, because the next step uses the decoder's memory again.
		r.clientBuf = append(r.clientBuf[:0], r.decoder.PeekWebsiteID(r.req.Body)...)
		r.clientID = r.clientBuf
	}
	if len(r.clientID) == 0 {
		r.clientID = r.req.HeaderID
	}
	if len(r.clientID) == 0 {
		return apierr.New(apierr.AuthRequired)
	}
	return nil
}

// from is where the request's credential came from.
func (r *run) from() auth.From {
	return auth.From{Addr: r.req.Addr, Limits: r.limits, Family: r.req.Route.Family}
}

// decode is step 4.
func (r *run) decode(context.Context) (err error) {
	route := r.req.Route
	var events []event.Event
	if route.Each {
		events, r.problems, err = r.decoder.DecodeEach(route.Form, r.req.Body)
	} else {
		events, err = r.decoder.DecodeForm(route.Form, route.Shape, r.req.Body)
	}
	if err != nil {
		r.seen = r.decoder.Seen()
		return r.rejection(err)
	}
	r.events = events
	r.settle()
	return nil
}

// rejection makes an API error of the decoder's findings.
func (r *run) rejection(err error) error {
	invalid, ok := errors.AsType[*event.Invalid](err)
	if !ok {
		return err
	}
	f := &apierr.Error{Code: apierr.Validation, Details: make([]apierr.Detail, len(invalid.Problems))}
	if invalid.TooLarge {
		f.Code = apierr.PayloadTooLarge
	}
	for i, p := range invalid.Problems {
		d := apierr.Detail{Index: p.Index, Field: p.Field, Rule: string(p.Rule), Message: p.Message}
		if !r.decoder.Batch() || p.Index == event.NoIndex {
			d.Index = apierr.NoIndex
		}
		f.Details[i] = d
	}
	return f
}

// build is step 8.
func (r *run) build(ctx context.Context) error {
	salt, err := r.salt(ctx)
	if err != nil {
		return err
	}
	r.receipt = record.Receipt{
		Organization: r.organization, RequestID: view(r.req.ID), Traceparent: r.req.Traceparent,
		At: r.now, VisitorSalt: salt,
	}
	r.nextWindow()
	return nil
}

// nextWindow makes the records of the events that come next.
func (r *run) nextWindow() {
	r.records.Reset(r.receipt)
	for n := 0; r.built < len(r.events) && n < window; r.built++ {
		for r.at+1 < len(r.aims) && r.aims[r.at+1].from <= r.built {
			r.at++
		}
		if len(r.fates) > 0 && r.fates[r.built] != fateTaken {
			continue
		}
		e, to := &r.events[r.built], &r.aims[r.at]
		web, wanted := r.web(e, to.site)
		if !wanted {
			r.doom(r.built, fateExcluded)
			continue
		}
		r.records.Add(e, to.target, r.rename(e, to.target, web))
		r.taken++
		n++
	}
}

// aimed walks the events that are taken, each with what it is meant for.
func (r *run) aimed() iter.Seq2[*event.Event, *aim] {
	return func(yield func(*event.Event, *aim) bool) {
		to := 0
		for i := range r.events {
			for to+1 < len(r.aims) && r.aims[to+1].from <= i {
				to++
			}
			if len(r.fates) > 0 && r.fates[i] != fateTaken {
				continue
			}
			if !yield(&r.events[i], &r.aims[to]) {
				return
			}
		}
	}
}

// salt returns what visitor ids are hashed with, or nil when no event has one to
// hash: such events are taken also while no salt can be read.
func (r *run) salt(ctx context.Context) ([]byte, error) {
	for e, to := range r.aimed() {
		if len(e.AnonymousID) > 0 && event.HidesVisitor(e.Anonymize, to.target.Anonymize) {
			return r.deps.Salts.At(ctx, r.now)
		}
	}
	return nil, nil
}

// publish is step 9.
func (r *run) publish(ctx context.Context) error {
	if r.built < len(r.events) && r.deps.Deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.deps.Deadline)
		defer cancel()
	}
	for {
		if err := r.send(ctx); err != nil || r.built == len(r.events) {
			return err
		}
		r.nextWindow()
	}
}

// send publishes the records that were made.
func (r *run) send(ctx context.Context) error {
	records := r.records.Records()
	if len(records) == 0 {
		return nil
	}
	err := r.deps.Publisher.Publish(ctx, records)
	if err == nil {
		return nil
	}
	r.records.Abandon()
	r.unsure = true
	r.metrics.unconfirmed.Add(float64(r.taken)) // those of earlier windows are stored
	if apierr.Is(err, apierr.DeliveryUnavailable) {
		return err
	}
	return apierr.Wrap(apierr.DeliveryUnavailable, err)
}
