package ingest

import (
	"context"
	"runtime"
	"unsafe"

	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/platform/admission"
	"github.com/millrace/millrace/internal/tenant/auth"
)

// What a request takes besides its body, in bytes. The figures are measured, see
// TestWhatARequestClaimsCoversWhatItTakes.
const (
	// requestBytes is what every request takes.
	requestBytes = 16 << 10
	// bodyFactor is how often a byte of the body is copied: into the decoder's text,
	// the records and the producer's batch.
	bodyFactor = 3
	// eventBytes is a decoded event, and pageBytes what a browser tells besides; both
	// stand in slices that have grown by a quarter too much.
	eventBytes = int64(unsafe.Sizeof(event.Event{})) * 5 / 4
	pageBytes  = int64(unsafe.Sizeof(event.Page{})) * 5 / 4
	// recordBytes is a record with its headers, what the envelope adds to the
	// event, and what the producer keeps about it.
	recordBytes = 1536
)

// window is the most records that are made and published at a time, so that a body
// of very many small events does not take a hundred times its size. Requests of
// usual sizes are one window.
const window = 8192

// need is what a body with so many events of a route takes.
func need(route *Route, body, events int) int64 {
	each := eventBytes
	if route.Form != event.Track {
		each += pageBytes
	}
	return requestBytes + bodyFactor*int64(body) + each*int64(events) + recordBytes*int64(min(events, window))
}

// admit is step 2. How many events there are is not known yet, only how many at most.
func (r *run) admit(ctx context.Context) error {
	if r.deps.Gate == nil {
		return nil
	}
	owner, organization := r.holder()
	r.claim = r.deps.Gate.Open(admission.Work, owner, organization)
	return r.claim.Await(ctx, need(r.req.Route, len(r.req.Body), event.AtMost(r.req.Body)))
}

// keepRoom is what of the claim may stay beyond the need: giving it back is not
// worth it.
const keepRoom = 16 << 10

// holder returns in whose names room is claimed: a website's, and its organization's. What is
// not known to be a website counts as the key's organization, or as the address: with names
// that it makes up a caller would have as many shares as it likes. Nobody is asked for what
// is not remembered, for there may be no room for it.
func (r *run) holder() (owner, organization string) {
	p, ref := r.principal, view(r.clientID)
	if p.Kind == auth.KindKey {
		if p.WebsiteID != "" {
			return p.WebsiteID, p.OrganizationID
		}
		ref = view(r.req.WebsiteID)
	}
	if ref != "" {
		if w := r.deps.Access.Remembered(ref); w != nil && (p.Kind != auth.KindKey || w.OrganizationID == p.OrganizationID) {
			return w.ID, w.OrganizationID
		}
	}
	if p.Kind == auth.KindKey {
		return p.OrganizationID, p.OrganizationID
	}
	addr := r.req.Addr.Unmap()
	if site, err := addr.WithZone("").Prefix(ipv6Site); err == nil && addr.Is6() {
		addr = site.Addr()
	}
	return addr.String(), ""
}

// ipv6Site is the length of the prefix that is one caller's.
const ipv6Site = 64

// claimKeys claims what the decoder takes to tell very many keys apart. How many there are
// shows only while they are read. Where nothing was claimed before, nothing is limited.
func (r *run) claimKeys(bytes int) error {
	if r.claim.Bytes() == 0 {
		return nil
	}
	if err := r.claim.Take(int64(bytes)); err != nil {
		return err
	}
	r.keys += int64(bytes)
	return nil
}

// settle gives back what the events turn out not to need.
func (r *run) settle() {
	if n := need(r.req.Route, len(r.req.Body), len(r.events)) + r.keys; r.claim.Bytes() > n+keepRoom {
		r.claim.Keep(n)
	}
}

// collectBytes is beyond how many bytes a claim ends only after a garbage collection: what
// such a request leaves behind takes memory until then, and the next one, admitted at once,
// would take its own beside it. 2 MB of usual events claim half of this. It takes some 40,000
// events in one request to get beyond it, and they cost ten times what a collection does.
const collectBytes = 32 << 20

// leaveRoom gives the room back, once the memory that it stands for is free or small.
func (r *run) leaveRoom() {
	r.events = nil
	r.decoder.Release()
	r.records.Release()
	if r.claim.Bytes() > collectBytes {
		runtime.GC()
	}
	r.claim.Release(!r.unsure)
}
