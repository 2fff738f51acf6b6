package flagapi

import (
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
)

// MaxOFREPBytes is how large the body of a request of the protocol may be, before and after
// decompression.
const MaxOFREPBytes = 64 << 10

// The routes of the OpenFeature Remote Evaluation Protocol, 0.3.0. What stands before
// /ofrep is the address that its clients are given.
const (
	pathOFREP     = prefix + "/:" + pathClient + "/ofrep/v1/evaluate/flags"
	pathOFREPFlag = pathOFREP + "/:" + pathKey

	pathClient, pathKey = "clientId", "key"
	// paramSeen is the parameter with the etag of the event that a client asks after.
	paramSeen = "flagConfigEtag"
)

// ahead is how far beyond the time here flags are evaluated for who was told of a change
// by a process whose clock is ahead.
const ahead = time.Second

// mountOFREP adds the routes of the protocol to an app.
func (h *Host) mountOFREP(app *fiber.App) {
	for path, response := range map[string]func(*Host, *fiber.Ctx, *work, *question) error{
		pathOFREP: (*Host).ofrepBulk, pathOFREPFlag: (*Host).ofrepFlag,
	} {
		httpkit.Handle(app, fiber.MethodPost, path, func(c *fiber.Ctx) error { return h.ofrep(c, response) })
	}
}

// ofrep answers a request of the protocol, in the order of httpkit.Checks. What it refuses
// is told by Page.
func (h *Host) ofrep(c *fiber.Ctx, response func(*Host, *fiber.Ctx, *work, *question) error) (err error) {
	q := newQuestion(c)
	w := works.Get().(*work) // the pool holds nothing else
	defer func() {
		h.metrics.count(&w.counted)
		if p := recover(); p != nil { // what it was at is not for the next request
			w.caller.release(c)
			w.turn.Release()
			err = h.fail(c, p)
			c.Context().SetBody(q.failure(httpkit.RowOf(apierr.Internal).Message))
			return
		}
		w.release(c)
	}()
	if w.caller, err = h.enter(c, unescaped(c.Params(pathClient))); err != nil {
		return err
	}
	body, err := httpkit.JSON(c, httpkit.Limits{Bytes: MaxOFREPBytes, Values: 10 * flag.MaxAttributes})
	if err != nil {
		return err
	}
	if err := h.ofrepBegin(c, w, q, body); err != nil {
		return err
	}
	return response(h, c, w, q)
}

// ofrepBegin makes a work ready to evaluate flags for whom a body tells of.
func (h *Host) ofrepBegin(c *fiber.Ctx, w *work, q *question, body []byte) error {
	attributes, err := w.protocol(q, body)
	if err != nil {
		return err
	}
	w.person.UserID, w.person.Email = w.text[paramUserID], w.text[paramEmail]
	w.person.AnonymousID = w.text[paramAnonymousID]
	w.person.OrganizationID, w.person.TeamID = w.text[paramOrganizationID], w.text[paramTeamID]
	h.describe(&w.person, attributes, w.trusted, httpkit.ClientAddr(c))
	seen, known := parseState(c.Query(paramSeen))
	if known {
		w.set, err = h.deps.Sets.AtLeast(c.UserContext(), w.website.OrganizationID, seen.mark)
	} else {
		err = h.load(c.UserContext(), &w.caller)
	}
	if err != nil {
		return err
	}
	w.environment, w.at = w.text[paramEnvironment], h.deps.Now()
	if known && seen.at.After(w.at) && seen.at.Sub(w.at) <= ahead {
		w.at = seen.at
	}
	w.start(c)
	return nil
}

// ofrepFlag serves POST …/ofrep/v1/evaluate/flags/{key}.
func (h *Host) ofrepFlag(c *fiber.Ctx, w *work, q *question) error {
	f := w.find(q.flag)
	r, served, err := w.evaluate(f)
	switch {
	case err != nil:
		return err
	case f == nil:
		return q.reject(flagNotFound, apierr.NotFound, "There is no such flag")
	case r.Unidentified:
		return q.reject(targetingKeyMissing, apierr.Validation, noTargetingKey)
	case served:
		h.expose(w, f, r)
	}
	body := appendServed(c.Context().Response.SwapBody(nil)[:0], f, w.environment, r)
	w.respond(c, body, body)
	return nil
}

// ofrepBulk serves POST …/ofrep/v1/evaluate/flags: all flags that the caller sees, also
// those that are off.
func (h *Host) ofrepBulk(c *fiber.Ctx, w *work, _ *question) error {
	body, n := c.Context().Response.SwapBody(nil)[:0], 0
	body = append(body, `{"flags":[`...)
	for f := range w.set.All(w.website.ID) {
		if !w.sees(f) {
			continue
		}
		if n++; n > 1 {
			body = append(body, ',')
		}
		r, _, err := w.evaluate(f)
		if err != nil {
			return err
		}
		body = w.appendEntry(body, f, r)
		if w.outgrows(body) {
			if body, err = w.claimAll(c, body); err != nil {
				return err
			}
		}
	}
	body = append(body, `],"metadata":{}`...)
	result := len(body) // what follows is no part of it
	w.respond(c, h.appendStreams(body, w), body[:result])
	return nil
}

// appendEntry appends what became of one flag of many.
func (w *work) appendEntry(dst []byte, f *flagset.Flag, r flageval.Result) []byte {
	if r.Unidentified {
		return appendFailure(dst, f.Key(), true, targetingKeyMissing, noTargetingKey)
	}
	return appendServed(dst, f, w.environment, r)
}

// appendStreams appends where a client is told of changes, with what it has seen by now: what
// changes before it has come there would be lost otherwise. Browsers come there without a
// key, so that it is what they see of the set without one.
func (h *Host) appendStreams(dst []byte, w *work) []byte {
	at := stateOf(w.set, w.set.View(w.website.ID, false), w.at)
	client := paramRows[paramClient].name + "=" + url.QueryEscape(w.website.ClientID)
	uri := pathStream + "?" + client + "&" + paramSince + "=" + at.String()
	dst = append(dst, `,"eventStreams":[{"type":"sse",`...)
	if h.deps.PublicURL != "" {
		dst = append(append(append(dst, `"url":"`...), h.deps.PublicURL...), uri...)
	} else {
		dst = append(append(dst, `"endpoint":{"requestUri":"`...), uri...)
	}
	if dst = append(dst, '"'); h.deps.PublicURL == "" {
		dst = append(dst, '}')
	}
	return append(dst, `,"inactivityDelaySec":120}]}`...)
}

// unescaped is a part of a path as it is meant; what cannot be read stays as it is.
func unescaped(part string) string {
	if text, err := url.PathUnescape(part); err == nil {
		return text
	}
	return part
}
