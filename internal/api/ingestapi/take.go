package ingestapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/pipeline/ingest"
	"github.com/millrace/millrace/internal/tenant/website"
)

// taking is a route that takes the events of a body.
func taking(path string, in *ingest.Route, topic, help string, responses map[string]*Response, say reply) Route {
	return Route{
		Method: fiber.MethodPost, Path: path, In: in, Topic: topic, Responses: responses, Help: help,
		handle: func(h *handlers, c *fiber.Ctx) error { return h.take(c, in, say) },
	}
}

// itemBytes is the size of a usual result of an event in a batch, in bytes.
const itemBytes = 256

// reply writes the response to events that were not rejected.
type reply func(*fiber.Ctx, ingest.Result) error

// take serves a route. Everything that it passes on aliases fiber's memory; the
// intake keeps none of it.
func (h *handlers) take(c *fiber.Ctx, in *ingest.Route, say reply) error {
	body, err := httpkit.Body(c)
	if err != nil {
		h.intake.Reject(c.UserContext(), h.request(c, in, nil), err)
		return err
	}
	// A result for each event may be much longer than the event. Its memory is claimed before anything is
	// published, since the response must be sent afterwards.
	if n := int64(bytes.Count(body, []byte("{"))) * itemBytes; in == ingest.Batch && n > httpkit.WholeBytes {
		if err := httpkit.Memory(c).Await(c.UserContext(), n); err != nil {
			return err
		}
	}
	result, err := h.intake.Accept(c.UserContext(), h.request(c, in, body))
	if err != nil {
		return err
	}
	if result.Count > 0 {
		httpkit.Committed(c)
	}
	if result.Silent {
		c.Context().SetStatusCode(fiber.StatusNoContent)
		return nil
	}
	return say(c, result)
}

// request is what a call says besides its body.
func (h *handlers) request(c *fiber.Ctx, in *ingest.Route, body []byte) ingest.Request {
	header, query := &c.Context().Request.Header, c.Context().QueryArgs()
	req := ingest.Request{
		Route:       in,
		Body:        body,
		Key:         httpkit.Credential(c),
		WebsiteID:   query.Peek("website_id"),
		Addr:        httpkit.ClientAddr(c),
		ID:          httpkit.RequestIDBytes(c),
		Traceparent: httpkit.Traceparent(c),
	}
	if len(req.WebsiteID) == 0 {
		req.WebsiteID = query.Peek("client_id")
	}
	if len(req.Key) > 0 {
		return req // a server's own headers say nothing about a visitor
	}
	req.Origin, req.UserAgent = header.Peek(fiber.HeaderOrigin), header.UserAgent()
	req.Signals = website.Signals{
		GlobalPrivacyControl: isOne(header.Peek("Sec-Gpc")), DoNotTrack: isOne(header.Peek("Dnt")),
	}
	if len(req.WebsiteID) > 0 {
		return req
	}
	for _, name := range h.clientIDs {
		if req.HeaderID = header.Peek(name); len(req.HeaderID) > 0 {
			break
		}
	}
	return req
}

// isOne reports whether a signal is given. Both headers have one value that says
// so, and absence or anything else says nothing.
func isOne(value []byte) bool { return string(value) == "1" }

// counted is the response that says how many events were taken.
func counted(kind string) reply {
	begin := `{"status":"success","type":"` + kind + `","count":`
	return func(c *fiber.Ctx, r ingest.Result) error {
		var space [96]byte
		out := append(space[:0], begin...)
		return respond(c, append(strconv.AppendInt(out, int64(r.Count), 10), '}'))
	}
}

// typed is the response to a single event; an empty kind is the event's type.
func typed(kind string) reply {
	return func(c *fiber.Ctx, r ingest.Result) error {
		if kind != "" {
			r.Type = kind
		}
		return respond(c, []byte(`{"status":"success","type":"`+r.Type+`"}`))
	}
}

// batchResponse is the response that tells of each event.
type batchResponse struct {
	Status    string         `json:"status"` // success, partial, or error
	Batch     bool           `json:"batch"`
	Processed int            `json:"processed"`
	Batched   map[string]int `json:"batched"`
	Results   []batchItem    `json:"results"`
}

type batchItem struct {
	Status    string         `json:"status"`
	Type      string         `json:"type,omitempty"` // of one that was taken
	Message   string         `json:"message,omitempty"`
	Code      string         `json:"code,omitempty"`
	Errors    []batchProblem `json:"errors,omitempty"`
	EventType string         `json:"eventType,omitempty"` // of one that was not
	EventID   string         `json:"eventId,omitempty"`
}

type batchProblem struct {
	Code    string `json:"code"`
	Field   string `json:"field"`
	Message string `json:"message"`
}

// rejections says how an event that was not taken is answered.
var rejections = map[ingest.Outcome]batchItem{
	ingest.Invalid:     {Status: "error", Message: "Invalid event schema", Code: "INVALID_EVENT_SCHEMA"},
	ingest.UnknownType: {Status: "error", Message: "Unknown event type", Code: "UNKNOWN_EVENT_TYPE"},
}

func itemised(c *fiber.Ctx, r ingest.Result) error {
	a := batchResponse{
		Status: "success", Batch: true, Processed: len(r.Items), Batched: map[string]int{"track": 0, "outgoing_link": 0},
		Results: make([]batchItem, len(r.Items)),
	}
	taken := 0
	for i := range r.Items {
		it := &r.Items[i]
		if it.Outcome == ingest.Taken {
			a.Batched[it.Type]++
			taken++
			a.Results[i] = batchItem{Status: "success", Type: it.Type, EventID: it.EventID}
			continue
		}
		a.Results[i] = rejections[it.Outcome]
		a.Results[i].EventType, a.Results[i].EventID, a.Results[i].Errors = it.Type, it.EventID, problemsOf(it.Problems)
	}
	switch {
	case taken == 0:
		a.Status = "error"
	case taken < len(r.Items):
		a.Status = "partial"
	}
	body, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("encoding the results of a batch: %w", err)
	}
	return respond(c, body)
}

func problemsOf(details []apierr.Detail) []batchProblem {
	var all []batchProblem
	for _, d := range details {
		all = append(all, batchProblem{Code: d.Rule, Field: d.Field, Message: d.Message})
	}
	return all
}
