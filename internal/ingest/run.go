package ingest

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/millrace/millrace/internal/auth"
	"github.com/millrace/millrace/internal/event"
	"github.com/millrace/millrace/internal/fault"
	"github.com/millrace/millrace/internal/ratelimit"
	"github.com/millrace/millrace/internal/record"
	"github.com/millrace/millrace/internal/website"
)

// run is the state of one request, pooled.
type run struct {
	*Acceptor
	req     Request
	now     time.Time // of receipt
	decoder event.Decoder
	records record.Batch

	events       []event.Custom   // the decoder's
	principal    auth.Principal   // of a key; anonymous without one
	clientID     []byte           // without a key
	clientBuf    []byte           // holds a client id that was read from the body
	site         *website.Website // of the client id, once it was looked up
	lease        ratelimit.Lease  // set by step "limits"
	organization string           // set by step "access"
	aims         []aim            // set by step "access"
}

// aim is what the events from one index on are meant for, up to the next aim:
// most requests have one.
type aim struct {
	from   int
	target record.Target
}

// keepAims bounds what one large request leaves in the pool.
const keepAims = 1024

func (a *Acceptor) begin(req Request) *run {
	r, ok := a.runs.Get().(*run)
	if !ok {
		r = &run{Acceptor: a}
	}
	r.req, r.now = req, a.deps.Now()
	return r
}

func (a *Acceptor) end(ctx context.Context, r *run) {
	r.lease.Release(ctx)
	r.lease, r.site = ratelimit.Lease{}, nil
	r.req, r.events, r.clientID, r.principal = Request{}, nil, nil, auth.Principal{}
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
		p, err := r.deps.Access.Key(ctx, r.req.Key, r.req.From)
		r.principal = p
		return err
	}
	r.clientID = r.req.WebsiteID
	if len(r.clientID) == 0 {
		// Copied, because the next step uses the decoder's memory again.
		r.clientBuf = append(r.clientBuf[:0], r.decoder.PeekWebsiteID(r.req.Body)...)
		r.clientID = r.clientBuf
	}
	if len(r.clientID) == 0 {
		return fault.New(fault.AuthRequired)
	}
	return nil
}

// decode is step 3.
func (r *run) decode(context.Context) error {
	events, err := r.decoder.Decode(r.req.Body)
	if err != nil {
		return r.refusal(err)
	}
	r.events = events
	return nil
}

// refusal makes a fault of the decoder's findings.
func (r *run) refusal(err error) error {
	invalid, ok := errors.AsType[*event.Invalid](err)
	if !ok {
		return err
	}
	f := &fault.Error{Code: fault.Validation, Details: make([]fault.Detail, len(invalid.Problems))}
	if invalid.TooLarge {
		f.Code = fault.PayloadTooLarge
	}
	for i, p := range invalid.Problems {
		d := fault.Detail{Index: p.Index, Field: p.Field, Rule: string(p.Rule), Message: p.Message}
		if !r.decoder.Batch() || p.Index == event.NoIndex {
			d.Index = fault.NoIndex
		}
		f.Details[i] = d
	}
	return f
}

// build is step 6.
func (r *run) build(ctx context.Context) error {
	salt, err := r.salt(ctx)
	if err != nil {
		return err
	}
	r.records.Reset(record.Receipt{
		Organization: r.organization, RequestID: view(r.req.ID), Traceparent: r.req.Traceparent,
		At: r.now, VisitorSalt: salt,
	})
	for e, to := range r.aimed() {
		r.records.AddCustom(e, to)
	}
	return nil
}

// aimed walks the events, each with what it is meant for.
func (r *run) aimed() iter.Seq2[*event.Custom, record.Target] {
	return func(yield func(*event.Custom, record.Target) bool) {
		aims, to := r.aims, record.Target{}
		for i := range r.events {
			if len(aims) > 0 && aims[0].from == i {
				to, aims = aims[0].target, aims[1:]
			}
			if !yield(&r.events[i], to) {
				return
			}
		}
	}
}

// salt returns what visitor ids are hashed with, or nil when no event has one to
// hash: such events are taken also while no salt can be read.
func (r *run) salt(ctx context.Context) ([]byte, error) {
	for e, to := range r.aimed() {
		if len(e.AnonymousID) > 0 && event.HidesVisitor(e.Anonymize, to.Anonymize) {
			return r.deps.Salts.At(ctx, r.now)
		}
	}
	return nil, nil
}

// publish is step 7.
func (r *run) publish(ctx context.Context) error {
	records := r.records.Records()
	err := r.deps.Publisher.Publish(ctx, records)
	if err == nil {
		return nil
	}
	r.records.Abandon()
	r.metrics.unconfirmed.Add(float64(len(records)))
	if fault.Is(err, fault.DeliveryUnavailable) {
		return err
	}
	return fault.Wrap(fault.DeliveryUnavailable, err)
}
