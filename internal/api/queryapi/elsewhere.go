package queryapi

import (
	"github.com/gofiber/fiber/v2"
)

// What pages of other sites may send to open routes: no credential, so that they
// learn what anybody may learn.
const (
	elsewhereHeaders = "Content-Type, X-Request-ID, If-None-Match, Cache-Control"
	elsewhereExposed = "X-Request-ID, ETag, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset"
	elsewhereMaxAge  = "86400" // seconds
)

// allowElsewhere lets pages of any site read the response of an open route, unless the
// site is one of ours, whose pages may more. Browsers do not show such a response to a
// page that had them send a cookie.
func (*handlers) allowElsewhere(c *fiber.Ctx) {
	if len(c.Response().Header.Peek(fiber.HeaderAccessControlAllowOrigin)) == 0 {
		c.Set(fiber.HeaderAccessControlAllowOrigin, "*")
		c.Set(fiber.HeaderAccessControlExposeHeaders, elsewhereExposed)
	}
}

// preflight tells a browser what a page of another site may ask of an open route.
func (h *handlers) preflight(c *fiber.Ctx) error {
	h.allowElsewhere(c)
	c.Set(fiber.HeaderAccessControlAllowMethods, fiber.MethodPost)
	c.Set(fiber.HeaderAccessControlAllowHeaders, elsewhereHeaders)
	c.Set(fiber.HeaderAccessControlMaxAge, elsewhereMaxAge)
	return c.SendStatus(fiber.StatusNoContent)
}
