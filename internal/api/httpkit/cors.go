package httpkit

import "github.com/valyala/fasthttp"

// The responses to browsers on the ingestion host. Any page may send events: what
// it may send them for is decided by the website's own list of origins.
const (
	corsMethods = "POST, GET, OPTIONS, PUT, DELETE"
	corsHeaders = "Content-Type, Content-Encoding, Authorization, X-Requested-With, X-Api-Key, X-Request-ID"
	corsExposed = "X-Request-ID, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset"
	corsMaxAge  = "86400" // seconds
)

// cors writes the headers that a browser wants to see and reports whether the
// request was a preflight, which is answered with them alone.
func cors(rc *fasthttp.RequestCtx) (preflight bool) {
	preflight = string(rc.Method()) == fasthttp.MethodOptions
	out := &rc.Response.Header
	if origin := rc.Request.Header.Peek(fasthttp.HeaderOrigin); len(origin) > 0 {
		out.SetBytesV(fasthttp.HeaderAccessControlAllowOrigin, origin)
		out.Set(fasthttp.HeaderAccessControlAllowCredentials, "true")
		out.Set(fasthttp.HeaderAccessControlExposeHeaders, corsExposed)
		out.Set(fasthttp.HeaderVary, "Origin")
		if preflight {
			out.Set(fasthttp.HeaderAccessControlAllowMethods, corsMethods)
			out.Set(fasthttp.HeaderAccessControlMaxAge, corsMaxAge)
			allow := rc.Request.Header.Peek(fasthttp.HeaderAccessControlRequestHeaders)
			if len(allow) == 0 || !isHeaderList(allow) {
				allow = []byte(corsHeaders)
			}
			out.SetBytesV(fasthttp.HeaderAccessControlAllowHeaders, allow)
		} else {
			out.Set(fasthttp.HeaderAccessControlAllowMethods, corsMethods)
			out.Set(fasthttp.HeaderAccessControlAllowHeaders, corsHeaders)
		}
	}
	if preflight {
		rc.SetStatusCode(fasthttp.StatusNoContent)
	}
	return preflight
}

// isHeaderList reports whether b is a list of header names and nothing else, so
// that it may be sent back: an SDK's own headers pass.
func isHeaderList(b []byte) bool {
	for _, c := range b {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '-', c == '_', c == ',', c == ' ':
		default:
			return false
		}
	}
	return true
}
