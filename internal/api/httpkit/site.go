package httpkit

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// Names of the cookies: that of the session, and that by which an account knows the
// browser again. The prefix makes browsers reject a cookie that another host or a plain
// connection set; it needs https, so a host that is reached by plain http, on loopback,
// does without.
const (
	sessionCookie = "millrace_session"
	deviceCookie  = "millrace_device"
	securePrefix  = "__Host-"
)

// Site is how callers reach a host. The zero value is a host without a name,
// reached by plain http. Nothing of it is taken from what a request says.
type Site struct {
	// PublicURL is the host's own origin, such as https://api.example.com; empty
	// means that it is not known.
	PublicURL string
	// Origins are other origins whose pages may call with the session's cookie.
	Origins []string
}

// Secure reports whether browsers reach the host by https.
func (s *Site) Secure() bool { return strings.HasPrefix(s.PublicURL, "https://") }

// CookieName is the name of the session's cookie.
func (s *Site) CookieName() string { return s.cookieName(sessionCookie) }

func (s *Site) cookieName(plain string) string {
	if s.Secure() {
		return securePrefix + plain
	}
	return plain
}

// SessionToken returns the token in the session's cookie; empty without one. It
// is never logged.
func (s *Site) SessionToken(c *fiber.Ctx) string { return s.token(c, sessionCookie) }

// DeviceToken returns the token in the device's cookie likewise.
func (s *Site) DeviceToken(c *fiber.Ctx) string { return s.token(c, deviceCookie) }

func (s *Site) token(c *fiber.Ctx, plain string) string {
	return string(c.Context().Request.Header.Cookie(s.cookieName(plain)))
}

// SetSession has the response set the session's cookie for a time, or remove it
// when token is empty.
func (s *Site) SetSession(c *fiber.Ctx, token string, lifetime time.Duration) {
	s.setCookie(c, sessionCookie, token, lifetime)
}

// SetDevice has the response set the device's cookie likewise.
func (s *Site) SetDevice(c *fiber.Ctx, token string, lifetime time.Duration) {
	s.setCookie(c, deviceCookie, token, lifetime)
}

func (s *Site) setCookie(c *fiber.Ctx, plain, token string, lifetime time.Duration) {
	maxAge := int(lifetime / time.Second)
	if token == "" {
		maxAge = -1
	}
	cookie := http.Cookie{ //nolint:gosec // Secure wherever the host is reached by https
		Name: s.cookieName(plain), Value: token, Path: "/", MaxAge: maxAge,
		HttpOnly: true, Secure: s.Secure(), SameSite: http.SameSiteLaxMode,
	}
	c.Context().Response.Header.Add(fiber.HeaderSetCookie, cookie.String()) // c.Append makes one header of two
}

// CheckOrigin rejects a request that another site's page may have made a browser
// send, with the cookies that the browser has for this host; nil for all others.
// Browsers say where a POST comes from, in Sec-Fetch-Site, and old ones in
// Origin; a request that says neither comes from no page.
func (s *Site) CheckOrigin(c *fiber.Ctx) error {
	h := &c.Context().Request.Header
	origin := string(h.Peek(fiber.HeaderOrigin))
	if s.own(origin) {
		return nil
	}
	switch string(h.Peek("Sec-Fetch-Site")) {
	case "same-origin", "none":
		return nil
	case "":
		if origin == "" {
			return nil
		}
	}
	return &apierr.Error{Code: apierr.Forbidden, Message: "Pages of this origin cannot use a session"}
}

// own reports whether an origin is the host's or one that the operator named.
func (s *Site) own(origin string) bool {
	return origin != "" && (origin == s.PublicURL || slices.Contains(s.Origins, origin))
}

// The responses to browsers on the query host.
const (
	siteMethods = "GET, POST, OPTIONS"
	siteHeaders = "Content-Type, Authorization, X-Api-Key, X-Request-ID, Idempotency-Key, If-None-Match, Last-Event-ID, " +
		"MCP-Protocol-Version, Mcp-Method, Mcp-Name"
	siteExposed = "X-Request-ID, ETag, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, " +
		"Idempotency-Replayed"
)

// cors lets pages of the operator's own origins read answers that were asked for
// with the session's cookie, and no other page anything. It reports whether the
// request was a preflight, which is answered with headers alone.
func (s *Site) cors(rc *fasthttp.RequestCtx) (preflight bool) {
	out := &rc.Response.Header
	if len(s.Origins) > 0 {
		out.Set(fiber.HeaderVary, fiber.HeaderOrigin)
	}
	origin := string(rc.Request.Header.Peek(fiber.HeaderOrigin))
	if !s.own(origin) {
		return false
	}
	out.Set(fiber.HeaderAccessControlAllowOrigin, origin)
	out.Set(fiber.HeaderAccessControlAllowCredentials, "true")
	out.Set(fiber.HeaderAccessControlExposeHeaders, siteExposed)
	if string(rc.Method()) != fasthttp.MethodOptions {
		return false
	}
	out.Set(fiber.HeaderAccessControlAllowMethods, siteMethods)
	out.Set(fiber.HeaderAccessControlAllowHeaders, siteHeaders)
	out.Set(fiber.HeaderAccessControlMaxAge, corsMaxAge)
	rc.SetStatusCode(fasthttp.StatusNoContent)
	return true
}
