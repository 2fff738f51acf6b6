package ingest

import (
	"context"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/tally"
)

// Import is a run of events from a file, for which the checks are those of Track
// and the responses are given one by one. Its memory is the caller's and is not used
// after the call.
type Import struct {
	// Key is an API key with the scope track:events.
	Key []byte
	// WebsiteID is the target of events that name none; nil leaves it to the key.
	WebsiteID []byte
	// ID stands in the records in place of a request id.
	ID []byte
	// Events are JSON objects in the shape of POST /track.
	Events [][]byte
	// AppendID appends an id for Events[i], which came without an eventId: always
	// the same one for the same event, so that a repetition is a duplicate.
	AppendID func(dst []byte, i int) []byte
	// DefaultTime is when events without a timestamp took place, in Unix
	// milliseconds.
	DefaultTime int64
	// DryRun checks everything and publishes nothing.
	DryRun bool
}

// maxImportIDLen bounds what AppendID is expected to append, to allocate once.
const maxImportIDLen = 64

// Import accepts the events of a file, whatever their age, into
// record.TopicEventsBackfill. Each event stands for itself: one that is rejected is
// told to rejected, in order, and the others are published together. The error is
// an API error that concerns all of them, after which none is known to be stored: the
// key, the default website, the stores or Kafka.
func (a *Acceptor) Import(
	ctx context.Context, in Import, rejected func(i int, why *apierr.Error),
) (accepted int, err error) {
	r := a.begin(Request{Route: importRoute, Key: in.Key, WebsiteID: in.WebsiteID, ID: in.ID})
	defer a.end(ctx, r)
	if err := r.beginImport(ctx); err != nil {
		return 0, errorOf(err)
	}
	ids := make([]byte, 0, maxImportIDLen)
	for i, body := range in.Events {
		err := r.decodeOne(ctx, body)
		var web *record.Web
		if err == nil {
			var wanted bool
			if web, wanted = r.web(&r.events[0], r.aims[0].site); !wanted {
				err = excluded
			}
		}
		if err == nil {
			e := &r.events[0]
			if len(e.EventID) == 0 {
				e.EventID = in.AppendID(ids[:0], i)
			}
			if !e.HasTime {
				e.TimeMillis, e.HasTime = in.DefaultTime, true
			}
			r.records.Add(e, r.aims[0].target, web)
			accepted++
			continue
		}
		why := errorOf(err)
		if !concernsOne[why.Code] {
			return 0, why
		}
		a.metrics.reject("import", why.Code)
		a.metrics.receive(importRoute.Name, 1)
		a.metrics.end(importRoute.Name, tally.Rejected(why.Code), 1)
		rejected(i, why)
	}
	if in.DryRun || accepted == 0 {
		return accepted, nil
	}
	a.metrics.receive(importRoute.Name, accepted)
	if err := r.send(ctx); err != nil {
		why := errorOf(err)
		a.metrics.end(importRoute.Name, tally.Rejected(why.Code), accepted)
		return 0, why
	}
	a.metrics.end(importRoute.Name, tally.Accepted, accepted)
	return accepted, nil
}

// excluded is the rejection of an event whose page the website does not count.
var excluded = apierr.Invalid("path", "excluded", "the website excludes this path")

// concernsOne lists the rejections that another event need not meet.
var concernsOne = map[apierr.Code]bool{
	apierr.Validation: true, apierr.PayloadTooLarge: true, apierr.WebsiteNotFound: true, apierr.AccessDenied: true,
}

// importRoute reads one event at a time.
var importRoute = &Route{Name: "import", Form: event.Track, Shape: event.One}

// beginImport is what all events have in common: step 1, the scope of step 4, the
// default target, step 5 and the salt of step 6.
func (r *run) beginImport(ctx context.Context) error {
	if len(r.req.Key) == 0 {
		return apierr.New(apierr.AuthRequired)
	}
	if err := r.identify(ctx); err != nil {
		return err
	}
	if err := r.authorizeKey(ctx); err != nil { // no events yet: the scope alone
		return err
	}
	if _, err := r.target(ctx, r.req.WebsiteID); err != nil {
		return err
	}
	if err := r.checkQuota(ctx); err != nil {
		return err
	}
	salt, err := r.deps.Salts.At(ctx, r.now)
	if err != nil {
		return err
	}
	r.records.Reset(record.Receipt{
		Organization: r.organization, RequestID: view(r.req.ID), At: r.now, VisitorSalt: salt,
		Topic: record.TopicEventsBackfill,
	})
	return nil
}

// decodeOne takes steps 3 and 4 for one event.
func (r *run) decodeOne(ctx context.Context, body []byte) error {
	r.aims, r.events = r.aims[:0], nil
	r.req.Body = body
	if err := r.decode(ctx); err != nil {
		return err
	}
	return r.authorizeKey(ctx)
}
