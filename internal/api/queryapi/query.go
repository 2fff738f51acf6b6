package queryapi

import (
	"context"
	"io"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/platform/admission"
)

// environment is what a caller's requests are read against. Where it cannot be told
// which days the rollups are right for, all is counted from the events.
func (h *handlers) environment(c *fiber.Ctx, may standing) analytics.Environment {
	env := analytics.Environment{
		Subject: may.subject, TimeZone: c.Query(zoneParameter), Now: h.now(), Reject: may.reject, Public: may.onlyPublic,
	}
	if h.dirty != nil && may.absent == nil {
		days, err := h.dirty.DirtyDays(c.UserContext(), may.subject)
		env.Rollups, env.Dirty = err == nil, days
	}
	return env
}

// query serves POST /v1/query.
func (h *handlers) query(c *fiber.Ctx, caller *request) error {
	may, err := h.subject(c, caller)
	if err != nil {
		return err
	}
	if err := checkParameters(c); err != nil {
		return err
	}
	requests, batch, err := analytics.Decode(caller.body)
	if err != nil {
		return err
	}
	may.bill(c, caller)
	claim := httpkit.OpenClaim(c)
	a := &response{
		batch: batch, format: formatOf(listOf(c, fiber.HeaderAccept)), requestID: httpkit.RequestID(c), claim: claim,
	}
	defer a.close()
	if err := claim.Await(c.UserContext(), analytics.PlanBytes(requests)); err != nil {
		return err
	}
	plans, err := analytics.Compile(requests, batch, h.environment(c, may))
	if err != nil {
		return err
	}
	a.plans = plans
	if err := a.check(); err != nil {
		return err
	}
	if err := covered(plans, caller, &may); err != nil {
		return err
	}
	wants := freshnessOf(c)
	a.execution = h.executor.Prepare(c.UserContext(), plans, wants)
	a.execution.Bill(claim)
	c.Vary(fiber.HeaderAccept)
	c.Set(fiber.HeaderCacheControl, "private, no-cache")
	if tag, ok := a.execution.Tag(); ok {
		a.etag = etagOf(tag, string(caller.body), c.Query(zoneParameter), may.subject.ID,
			strconv.Itoa(int(a.format)), rejections(plans))
	}
	if a.etag != "" && !wants.NoRead && matches(listOf(c, fiber.HeaderIfNoneMatch), a.etag) {
		c.Set(fiber.HeaderETag, a.etag)
		c.Status(fiber.StatusNotModified)
		return nil
	}
	if err := a.execution.Begin(c.UserContext()); err != nil {
		return err
	}
	return a.send(c)
}

// rejections says which parameters the caller may not ask for, in a word.
func rejections(plans []analytics.Plan) string {
	var word []byte
	for i := range plans {
		for j := range plans[i].Outputs {
			word = strconv.AppendBool(word, plans[i].Outputs[j].Rejected != nil)
		}
	}
	return string(word)
}

// insideBytes is the largest response to a request of the host to itself, which is always whole.
const insideBytes = 4 << 20

// response is a response on its way: steps that write one piece after the other, each of
// which may wait for its result. So nothing is held but the piece that is written,
// and what is ready is sent while the rest is still computed.
type response struct {
	plans     []analytics.Plan
	batch     bool
	format    format
	requestID string
	etag      string               // empty for none
	execution *analytics.Execution // nil at first
	claim     *admission.Claim     // for plans and results

	steps []step
	held  bool // by a stream, which ends it
}

// step appends a piece of the response, and reports whether it has more pieces.
type step func(ctx context.Context, dst []byte) (_ []byte, more bool, err error)

// close ends the response, unless a stream goes on with it.
func (a *response) close() {
	if !a.held {
		a.end()
	}
}

// end ends what is still computed, and releases its memory.
func (a *response) end() {
	if a.execution != nil {
		a.execution.Close()
	}
	a.claim.Release(true)
}

// send answers: as a whole what is small, and the rest while it is made.
func (a *response) send(c *fiber.Ctx) error {
	a.steps = a.layout()
	ctx, most := c.UserContext(), httpkit.WholeBytes
	if httpkit.Inside(c) {
		most = insideBytes
	}
	var body []byte
	for len(a.steps) > 0 && len(body) < most {
		var err error
		if body, err = a.next(ctx, body); err != nil {
			return err
		}
	}
	if all, good := a.execution.Known(); all && good && a.etag != "" {
		c.Set(fiber.HeaderETag, a.etag)
	}
	contentType := formats[a.format].contentType
	if len(a.steps) == 0 && len(body) < most {
		return httpkit.Send(c, contentType, body)
	}
	a.held = true
	return httpkit.SendStream(c, &httpkit.Stream{
		ContentType: contentType, Compress: true,
		Write: func(ctx context.Context, w io.Writer) error { return a.write(ctx, w, body) },
		Done:  a.end,
	})
}

// write writes what is there and what is left.
func (a *response) write(ctx context.Context, w io.Writer, body []byte) error {
	for {
		if _, err := w.Write(body); err != nil {
			return err
		}
		if len(a.steps) == 0 {
			return nil
		}
		var err error
		if body, err = a.next(ctx, body[:0]); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

func (a *response) next(ctx context.Context, body []byte) ([]byte, error) {
	body, more, err := a.steps[0](ctx, body)
	if !more {
		a.steps = a.steps[1:]
	}
	return body, err
}

// layout returns the steps of the response's format.
func (a *response) layout() []step {
	switch a.format {
	case formatCSV:
		return a.csv()
	case formatNDJSON:
		return a.lines()
	case formatJSON:
	}
	return a.json()
}
