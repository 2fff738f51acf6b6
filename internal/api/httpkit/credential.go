package httpkit

import (
	"bytes"

	"github.com/gofiber/fiber/v2"
)

const (
	headerAPIKey = "X-Api-Key" //nolint:gosec // the name of a header
	bearer       = "bearer "
)

// Credential returns the secret that the request carries: x-api-key, else a
// Bearer token; nil when there is none. It is valid until the handler returns
// and is never logged.
func Credential(c *fiber.Ctx) []byte {
	h := &c.Context().Request.Header
	if key := bytes.TrimSpace(h.Peek(headerAPIKey)); len(key) > 0 {
		return key
	}
	a := h.Peek(fiber.HeaderAuthorization)
	if len(a) <= len(bearer) || !bytes.EqualFold(a[:len(bearer)], []byte(bearer)) {
		return nil
	}
	if key := bytes.TrimSpace(a[len(bearer):]); len(key) > 0 {
		return key
	}
	return nil
}
