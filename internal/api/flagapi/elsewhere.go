package flagapi

import "github.com/millrace/millrace/internal/api/httpkit"

// Elsewhere is what pages of every site may send and read, for httpkit.Config: flags are for
// browsers anywhere. Cookies are neither asked for nor looked at.
var Elsewhere = httpkit.Open{
	Prefix:  prefix + "/",
	Methods: "GET, POST, OPTIONS",
	Headers: "Content-Type, Authorization, X-Api-Key, X-Request-ID, If-None-Match, Last-Event-ID",
	Exposed: "X-Request-ID, ETag, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset",
}
