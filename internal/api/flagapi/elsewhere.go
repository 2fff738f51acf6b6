package flagapi

import (
	"github.com/gofiber/fiber/v2"
)

// What pages of every site may send and read: flags are for browsers anywhere. Cookies are
// neither asked for nor looked at.
const (
	elsewhereMethods = "GET, POST, OPTIONS"
	elsewhereHeaders = "Content-Type, Authorization, X-Api-Key, X-Request-ID, If-None-Match, Last-Event-ID"
	elsewhereExposed = "X-Request-ID, ETag, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset"
	elsewhereMaxAge  = "86400" // seconds
)

// Headers in the form in which fasthttp needs no work for them.
var (
	headerOrigin  = []byte(fiber.HeaderAccessControlAllowOrigin)
	headerExposed = []byte(fiber.HeaderAccessControlExposeHeaders)
	everywhere    = []byte("*")
	exposed       = []byte(elsewhereExposed)
)

// allowElsewhere lets pages of any site read the answer, also one that refuses. The pages
// of our own sites were told more already.
func allowElsewhere(c *fiber.Ctx) {
	h := &c.Context().Response.Header
	if len(h.PeekBytes(headerOrigin)) == 0 {
		h.SetCanonical(headerOrigin, everywhere)
		h.SetCanonical(headerExposed, exposed)
	}
}

// preflight tells a browser what a page of another site may ask.
func preflight(c *fiber.Ctx) error {
	allowElsewhere(c)
	c.Set(fiber.HeaderAccessControlAllowMethods, elsewhereMethods)
	c.Set(fiber.HeaderAccessControlAllowHeaders, elsewhereHeaders)
	c.Set(fiber.HeaderAccessControlMaxAge, elsewhereMaxAge)
	return c.SendStatus(fiber.StatusNoContent)
}
