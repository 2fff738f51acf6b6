package httpkit

import (
	"bytes"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/platform/admission"
)

// ClaimFor begins a claim on the host's memory for bodies, for a large response or what it takes to
// make one: in the name of an owner, who belongs to a group. It holds nothing yet.
func ClaimFor(c *fiber.Ctx, owner, group string) *admission.Claim {
	claim := new(admission.Claim)
	if r := requestOf(c.Context()); r != nil {
		*claim = r.kit.cfg.Admission.Open(admission.Response, owner, group)
	}
	return claim
}

// SendHeld answers with a body whose memory is claimed, and releases the claim once the client
// has all of it, or is gone. Neither may be used afterwards.
func SendHeld(c *fiber.Ctx, body []byte, claim *admission.Claim) {
	held := &heldBody{claim: claim}
	held.Reset(body)
	c.Context().Response.SetBodyStream(held, len(body))
}

// heldBody is what fasthttp reads such a response from; it closes it in any case.
type heldBody struct {
	bytes.Reader
	claim *admission.Claim
}

// Close implements io.Closer.
func (b *heldBody) Close() error {
	b.Reset(nil)
	b.claim.Release(true)
	return nil
}
