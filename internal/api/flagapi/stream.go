package flagapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/website"
)

// pathStream is where changes are told as server-sent events.
const pathStream = prefix + "/stream"

const (
	// paramSince is the parameter with what its caller has seen, for who has no
	// Last-Event-ID yet.
	paramSince        = "since"
	headerLastEventID = "Last-Event-ID"
)

const (
	// heartbeat is how often something is sent at least, so that nobody on the way takes the
	// connection for idle, and that who is gone is noticed.
	heartbeat = 25 * time.Second
	// streamLife is how long a stream goes on at least; its client comes again then, maybe
	// to another process. Up to a quarter more is drawn.
	streamLife = 4 * time.Hour
	// retryAfter is how long a client is asked to wait before it comes again, at least; up
	// to three times as long is drawn, so that not all come at once.
	retryAfter = time.Second
)

// Watch tells that an organization's flags may have changed; *flagset.Watch is one.
type Watch interface {
	// C has a value after each change, or after several.
	C() <-chan struct{}
	Close()
}

// silence is a watch that tells nothing.
type silence struct{}

// C implements Watch.
func (silence) C() <-chan struct{} { return nil }

// Close implements Watch.
func (silence) Close() {}

// stream serves GET /public/v1/flags/stream.
func (h *Host) stream(c *fiber.Ctx) error {
	who, err := h.enter(c, c.Query(paramRows[paramClient].name))
	if err != nil {
		return err
	}
	defer who.release(c)
	if err := h.load(c.UserContext(), &who); err != nil {
		return err
	}
	leave, err := h.streams.enter(who.website, httpkit.ClientAddr(c))
	if err != nil {
		return err
	}
	s := &telling{
		host: h, ref: strings.Clone(c.Query(paramRows[paramClient].name)), trusted: who.trusted,
		websiteID: who.website.ID, organizationID: who.website.OrganizationID,
		key: bytes.Clone(httpkit.Credential(c)), addr: httpkit.ClientAddr(c),
	}
	if s.seen, s.knows = parseState(c.Get(headerLastEventID)); !s.knows {
		s.seen, s.knows = parseState(c.Query(paramSince))
	}
	header := &c.Context().Response.Header
	header.SetCanonical(headerCache, private)
	header.Set("X-Accel-Buffering", "no") // proxies would keep events until they have enough of them
	return httpkit.SendStream(c, &httpkit.Stream{
		ContentType: "text/event-stream", Live: true, Deadline: 2 * streamLife, Write: s.write, Done: leave,
	})
}

// telling is a stream that is open.
type telling struct {
	host                           *Host
	ref, websiteID, organizationID string
	trusted                        bool
	key                            []byte // the secret that the stream was opened with; empty for none
	addr                           netip.Addr

	seen  state // what the client has seen
	knows bool  // it has seen something
	view  *flagset.View
	text  []byte // that is being sent
}

// write tells of changes until ctx ends, the stream has lived long enough, or the website is
// not its client's any more. Nothing is told after the end of the key that it was opened with,
// and the stream ends with the next heartbeat at the latest.
func (s *telling) write(ctx context.Context, w io.Writer) error {
	watch := s.host.deps.Watch(s.organizationID)
	defer watch.Close()
	if err := s.begin(ctx, w); err != nil {
		return err
	}
	heartbeats := time.NewTicker(heartbeat)
	defer heartbeats.Stop()
	life := time.NewTimer(streamLife + rand.N(streamLife/4)) //nolint:gosec // no secret
	defer life.Stop()
	for {
		next, due := s.alarm(), false
		select {
		case <-ctx.Done():
			return nil
		case <-life.C:
			return nil
		case <-watch.C():
		case <-next.C:
		case <-heartbeats.C:
			due = true
		}
		next.Stop()
		if s.gone(ctx) {
			return nil
		}
		if err := s.look(ctx, w, due); err != nil {
			return err
		}
	}
}

// never is later than any stream lives.
const never = 24 * time.Hour

// alarm strikes when what is seen changes by itself.
func (s *telling) alarm() *time.Timer {
	at := s.view.Next(s.seen.at)
	if at.IsZero() {
		return time.NewTimer(never)
	}
	return time.NewTimer(at.Sub(s.host.deps.Now()))
}

// begin tells what is current, as an event where the client has seen something else.
func (s *telling) begin(ctx context.Context, w io.Writer) error {
	set, err := s.host.deps.Sets.AtLeast(ctx, s.organizationID, s.seen.mark)
	if err != nil {
		return err
	}
	s.view = set.View(s.websiteID, s.trusted)
	is := stateOf(set, s.view, s.host.deps.Now())
	if s.seen.at.After(is.at) { // by another clock, or made up
		s.seen.at = is.at
	}
	retry := retryAfter + rand.N(2*retryAfter) //nolint:gosec // no secret
	s.text = fmt.Appendf(s.text[:0], "retry: %d\n", retry.Milliseconds())
	if s.knows && !s.seen.current(s.view, is.at) {
		s.event(is)
	} else {
		s.seen = is
		s.text = fmt.Appendf(s.text, "id: %s\n\n", is) // no event: nothing but what the client comes again with
	}
	_, err = w.Write(s.text)
	return err
}

// look sends an event where something has changed; else, for a heartbeat, a comment.
func (s *telling) look(ctx context.Context, w io.Writer, heartbeats bool) error {
	s.text = s.text[:0]
	if set, err := s.host.deps.Sets.Get(ctx, s.organizationID); err == nil { // else it is looked at again
		s.view = set.View(s.websiteID, s.trusted)
		if is := stateOf(set, s.view, s.host.deps.Now()); !s.seen.current(s.view, is.at) {
			s.event(is)
		}
	}
	if heartbeats && len(s.text) == 0 {
		s.text = append(s.text, ":\n\n"...)
	}
	if len(s.text) == 0 {
		return nil
	}
	_, err := w.Write(s.text)
	return err
}

// event appends that flags are to be asked for again.
func (s *telling) event(is state) {
	why := s.host.streams.times
	if is.print != s.seen.print {
		why = s.host.streams.changes
	}
	why.Inc()
	s.seen = is
	s.text = fmt.Appendf(s.text, "event: message\nid: %s\ndata: ", is)
	s.text = fmt.Appendf(s.text, `{"type":"refetchEvaluation","etag":"%s","lastModified":%d}`, is, is.at.Unix())
	s.text = append(s.text, "\n\n"...)
}

// gone reports whether the website is deleted, another organization's, or called otherwise, or
// the key is not good any more.
func (s *telling) gone(ctx context.Context) bool {
	if len(s.key) > 0 {
		// It was good once, so nobody tries keys out here: nothing is counted.
		_, err := s.host.deps.Keys.Key(ctx, s.key, auth.From{Addr: s.addr})
		if apierr.Is(err, apierr.AuthRequired) || apierr.Is(err, apierr.IPNotAuthorized) {
			return true
		}
	}
	w, err := s.host.deps.Websites.FlagWebsite(ctx, s.ref)
	if err != nil {
		return errors.Is(err, website.ErrNotFound)
	}
	accepted := w.AcceptsClientID(s.ref, s.host.deps.Now()) || s.trusted && w.ID == s.ref
	return !accepted || w.ID != s.websiteID || w.OrganizationID != s.organizationID
}
