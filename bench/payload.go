package main

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/enrich"
	"github.com/millrace/millrace/internal/pipeline/ingest"
	"github.com/millrace/millrace/internal/platform/admission"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/privacy/salt"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/quota"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
	"github.com/millrace/millrace/internal/tenant/website"
	"github.com/millrace/millrace/internal/testkit"
)

// The one key and website of the load. The key is well formed and opens nothing:
// only the stores of this program know it.
const (
	benchOrganization = "org_01K00000000000000000000000"
	benchWebsite      = "web_01K00000000000000000000000"
)

var benchKey = must(apikey.Generate("mlr"))

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// eventBytes is the size of one event, a page view as a shop's tracker sends it:
// nine of the fields that an event may have, and eight short properties.
const eventBytes = 465

// appendEvent appends the n-th event, of eventBytes bytes. Visitors, sessions and
// pages repeat as they do in life; the id does not. One that is not whole has no
// properties, and about 320 bytes.
func appendEvent(dst []byte, n int, at time.Time, whole bool) []byte {
	visitor, session, page := n%40_009, n%90_001, n%499
	dst = fmt.Appendf(dst, `{"name":"screen_view","eventId":"018f3a5c-%04x-7abc-8def-%012x",`, n>>20&0xffff, n)
	dst = fmt.Appendf(dst, `"path":"https://shop.example.com/products/item-%03d",`, page)
	dst = fmt.Appendf(dst, `"anonymousId":"anon_4f9d2c1e-5b7a-4c3d-9e8f-%012x","profileId":"u-%06d",`, visitor, visitor)
	dst = fmt.Appendf(dst, `"sessionId":"sess_9a8b7c6d-1e2f-4a5b-8c9d-%012x",`, session)
	dst = fmt.Appendf(dst, `"timestamp":%d,"namespace":"shop","source":"web",`,
		at.Add(-time.Duration(n%3600)*time.Second).UnixMilli())
	if !whole {
		return append(dst[:len(dst)-1], '}')
	}
	return fmt.Appendf(dst, `"properties":{"title":"Item %03d - Shop","language":"en-US","width":1440,"height":900,`+
		`"price":129.95,"stock":%d,"variant":"large","member":true}}`, page, 100+n%900)
}

// trackBody is the body of a request: an object, or an array when it carries
// more than one event. So many that they would not fit are not whole.
func trackBody(events int, at time.Time) []byte {
	whole := events*(eventBytes+1) < event.MaxBodyBytes
	if events == 1 {
		return appendEvent(nil, 1, at, whole)
	}
	body := []byte{'['}
	for n := range events {
		if n > 0 {
			body = append(body, ',')
		}
		body = appendEvent(body, n, at, whole)
	}
	return append(body, ']')
}

// directory holds the one key and any website that is asked for.
type directory struct{ key *apikey.Key }

func newDirectory(secret string) directory {
	return directory{&apikey.Key{
		Record: managed.Record{
			ID: "key_01K00000000000000000000000", OrganizationID: benchOrganization, Name: "bench", CreatedAt: time.Now(),
		},
		Hash: apikey.HashOf([]byte(secret)), Scopes: auth.AllScopes().Strings(),
	}}
}

// KeyByHash implements auth.KeyStore. Children have keys of their own, so it
// takes any for the one.
func (d directory) KeyByHash(_ context.Context, hash [apikey.HashLen]byte) (*apikey.Key, error) {
	k := *d.key
	k.Hash = hash
	return &k, nil
}

// WebsiteByID implements auth.WebsiteStore.
func (directory) WebsiteByID(_ context.Context, id string) (*website.Website, error) {
	return &website.Website{
		Record:   managed.Record{ID: id, OrganizationID: benchOrganization},
		ClientID: id,
		Settings: website.Settings{AnonymizeVisitorIDs: "true"},
	}, nil
}

// WebsiteByClientID implements auth.WebsiteStore.
func (d directory) WebsiteByClientID(ctx context.Context, id string) (*website.Website, error) {
	return d.WebsiteByID(ctx, id)
}

// Salt implements salt.Store.
func (directory) Salt(context.Context, time.Time) ([]byte, error) { return make([]byte, 32), nil }
func (directory) PruneSalts(context.Context, time.Time) error     { return nil }

// parts are what the accept path is made of.
type parts struct {
	access *auth.Authenticator
	salts  *salt.Salts
	tel    *telemetry.Telemetry
	gate   *admission.Gate
	enrich *enrich.Enricher
}

func newParts() parts {
	d := newDirectory(benchKey)
	t := telemetry.Discard()
	return parts{
		access: auth.New(auth.Config{KeyPrefix: "mlr"}, auth.Deps{Keys: d, Websites: d, Metrics: t.Registry}),
		salts:  salt.New(d, t.Log, nil),
		tel:    t,
		gate:   newGate(t),
		enrich: must(enrich.New(enrich.Config{}, enrich.Deps{Log: t.Log, Metrics: t.Registry})),
	}
}

func newGate(t *telemetry.Telemetry) *admission.Gate {
	s := config.Default().Ingest
	return admission.New(admission.Config{Host: "ingestion", Memory: int64(s.MaxMemory), QueueTime: s.QueueTime},
		admission.Deps{Log: t.Log, Metrics: t.Registry})
}

func (p parts) acceptor(to ingest.Publisher) *ingest.Acceptor {
	return ingest.New(ingest.Deps{
		Access: p.access, Salts: p.salts, Publisher: to, Metrics: p.tel.Registry,
		Limits: ratelimit.New(testkit.WideLimits(), ratelimit.Deps{Log: p.tel.Log, Metrics: p.tel.Registry}),
		Quota:  quota.NewEnforcer(control.NewStates(control.Quota, noQuotas)),
		Gate:   p.gate,
		Enrich: p.enrich,
	})
}

// noQuotas says that nobody's month is used up.
func noQuotas(context.Context) (control.Snapshot, error) { return control.Snapshot{}, nil }

// discard acknowledges at once.
type discard struct{}

// Publish implements ingest.Publisher.
func (discard) Publish(context.Context, []record.Record) error { return nil }

// keep keeps copies of the records.
type keep struct{ records []record.Record }

// Publish implements ingest.Publisher.
func (k *keep) Publish(_ context.Context, recs []record.Record) error {
	for i := range recs {
		r := recs[i]
		r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
		r.Headers = append([]record.Header(nil), r.Headers...)
		for h := range r.Headers {
			r.Headers[h].Value = bytes.Clone(r.Headers[h].Value)
		}
		k.records = append(k.records, r)
	}
	return nil
}

// recorder makes records as the accept path does. It is for one goroutine.
type recorder struct {
	parts
	kept     keep
	acceptor *ingest.Acceptor
}

func newRecorder() *recorder {
	r := &recorder{parts: newParts()}
	r.acceptor = r.parts.acceptor(&r.kept)
	return r
}

func (r *recorder) close() {
	r.access.Close()
	r.enrich.Close()
}

// records runs events first to first+n through the accept path and returns the
// records that it would have published, spread over so many websites.
func (r *recorder) records(ctx context.Context, first, n, websites int) ([]record.Record, error) {
	r.kept.records = nil
	now := time.Now()
	const batch = 100
	for at := first; at < first+n; at += batch {
		body := []byte{'['}
		for i := range min(batch, first+n-at) {
			if i > 0 {
				body = append(body, ',')
			}
			body = appendEvent(body, at+i, now, true)
		}
		site := benchWebsite
		if websites > 1 {
			site = fmt.Sprintf("web_01K%023d", at/batch%websites)
		}
		_, err := r.acceptor.Accept(ctx, ingest.Request{
			Route: ingest.Track, Body: append(body, ']'), Key: []byte(benchKey), WebsiteID: []byte(site),
			ID: []byte("req_bench"),
		})
		if err != nil {
			return nil, err
		}
	}
	return r.kept.records, nil
}
