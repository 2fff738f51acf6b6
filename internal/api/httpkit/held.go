package httpkit

import (
	"bytes"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/millrace/millrace/internal/platform/admission"
)

// WholeBytes is the size up to which a response claims no memory: the system's buffer of a connection
// holds as much.
const WholeBytes = 64 << 10

// Bill has the memory of the response claimed in the name of an owner, who belongs to a group, from now
// on. Before, it is claimed in the name of the caller's address.
func Bill(c *fiber.Ctx, owner, group string) {
	if r := requestOf(c.Context()); r != nil {
		r.owner, r.group = owner, group
	}
}

// OpenClaim begins a claim on the memory for responses, in the same name. The handler releases it.
func OpenClaim(c *fiber.Ctx) *admission.Claim {
	return requestOf(c.Context()).openResponse(c.Context())
}

// Memory returns the claim on what the response is made of. It is held until the client has the
// response, or is gone, and then released; it must not be released by the handler.
func Memory(c *fiber.Ctx) *admission.Claim {
	return requestOf(c.Context()).memory(c.Context())
}

// WhenSent has f called once the client has the response, or is gone. A small response counts as sent
// when the handler returns.
func WhenSent(c *fiber.Ctx, f func()) {
	r := requestOf(c.Context())
	r.held.after = append(r.held.after, f)
}

// Committed says that the request has changed something: its response is sent even if there is no
// memory for it, because a rejection would be wrong. Its client then has Conns.Write to read all of it.
// A handler whose response may be large claims its memory before the change.
func Committed(c *fiber.Ctx) { requestOf(c.Context()).committed = true }

// SendShared answers with a body that is the same for all callers and in memory anyway, so that it
// claims none. The body must not change afterwards.
func SendShared(c *fiber.Ctx, body []byte) {
	if r := requestOf(c.Context()); r != nil {
		r.shared = true
	}
	c.Context().Response.SetBodyRaw(body)
}

// Inside reports whether the request is one of Inner, whose response is always whole.
func Inside(c *fiber.Ctx) bool { return requestOf(c.Context()).inside }

// held is what a response holds until its client has it.
type held struct {
	claim *admission.Claim // nil for none
	after []func()
}

// release gives everything back.
func (h *held) release() {
	if h.claim != nil {
		h.claim.Release(true)
	}
	for _, f := range h.after {
		f()
	}
	*h = held{}
}

func (r *request) memory(rc *fasthttp.RequestCtx) *admission.Claim {
	if r.held.claim == nil {
		r.held.claim = r.openResponse(rc)
	}
	return r.held.claim
}

func (r *request) openResponse(rc *fasthttp.RequestCtx) *admission.Claim {
	owner := r.owner
	if owner == "" {
		owner = r.site(rc)
	}
	claim := r.kit.cfg.Admission.Open(admission.Response, owner, r.group)
	return &claim
}

// hold claims the memory of a large response until its client has it. If there is none, the request
// is rejected instead. A stream holds its own.
func (r *request) hold(rc *fasthttp.RequestCtx) {
	response := &rc.Response
	if response.IsBodyStream() || rc.IsHead() {
		return
	}
	body := response.Body()
	if len(body) <= WholeBytes {
		return
	}
	if !r.shared {
		claim := r.memory(rc)
		err := claim.Await(r.ctx, int64(len(body))-claim.Bytes())
		switch {
		case err != nil && r.committed:
			return
		case err != nil:
			for _, name := range ofBody {
				response.Header.Del(name)
			}
			r.kit.fail(rc, err)
			return
		}
		claim.Keep(int64(cap(body)))
	}
	sent := &heldBody{held: r.held}
	sent.conn, _ = rc.Conn().(*guardedConn)
	r.held = held{}
	response.SwapBody(nil) // or the buffer would be another response's
	sent.Reset(body)
	sent.conn.paces(eachWrite)
	sent.late = time.AfterFunc(heldTime, sent.conn.sever)
	response.SetBodyStream(sent, len(body))
}

// ofBody are the fields of a header that say something of the body.
var ofBody = []string{
	fiber.HeaderCacheControl, fiber.HeaderContentDisposition, fiber.HeaderContentEncoding, fiber.HeaderETag,
	fiber.HeaderLastModified,
}

// heldBody is what fasthttp reads a large response from; it closes it in any case.
type heldBody struct {
	bytes.Reader
	held

	conn *guardedConn
	late *time.Timer // cuts the response off
}

// heldTime is how long a client may take to read a large response, however fast.
const heldTime = 5 * time.Minute

// Close implements io.Closer.
func (b *heldBody) Close() error {
	b.late.Stop()
	b.Reset(nil)
	b.conn.paces(wholeResponse)
	b.release()
	return nil
}
