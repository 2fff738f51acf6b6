package httpkit

import (
	"bytes"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// Open are the routes of a query host whose responses pages of any site may read, without
// cookies and whatever becomes of a request: also where it is rejected before its route is
// known. The zero value is none.
type Open struct {
	// Prefix begins their paths, and ends with a slash.
	Prefix string
	// Methods and Headers are what such pages may send, Exposed what they may read of the
	// header of a response; names with commas between them.
	Methods, Headers, Exposed string
}

// Headers in the form in which fasthttp needs no work for them.
var (
	headerOrigin  = []byte(fiber.HeaderAccessControlAllowOrigin)
	headerExposed = []byte(fiber.HeaderAccessControlExposeHeaders)
	everywhere    = []byte("*")
)

// has reports whether a path is that of an open route, or would be; case counts as little
// as it does for routes.
func (o *Open) has(path []byte) bool {
	n := len(o.Prefix)
	return n > 0 && len(path) >= n && bytes.EqualFold(path[:n], []byte(o.Prefix))
}

// begun is has for the first bytes of a request.
func (o *Open) begun(begins []byte) bool {
	_, path, _ := bytes.Cut(begins, []byte{' '})
	return o.has(path)
}

// cors tells browsers which pages may read the response, whatever it will be, and reports
// whether the request was a preflight, which is answered with that alone.
func (k *kit) cors(rc *fasthttp.RequestCtx) (preflight bool) {
	switch k.cfg.Host {
	case Ingestion:
		return string(rc.URI().PathOriginal()) != IngestionMCPPath && cors(rc) // the endpoint knows its own origins
	case Query:
		return k.cfg.Site.cors(rc) || k.cfg.Open.has(rc.URI().PathOriginal()) && k.openCors(rc)
	case Links:
	}
	return false
}

// openCors is cors for an open route. The pages of our own sites were told more already.
func (k *kit) openCors(rc *fasthttp.RequestCtx) (preflight bool) {
	h := &rc.Response.Header
	if len(h.PeekBytes(headerOrigin)) == 0 {
		k.allowAll(h)
	}
	if string(rc.Method()) != fasthttp.MethodOptions {
		return false
	}
	h.Set(fiber.HeaderAccessControlAllowMethods, k.cfg.Open.Methods)
	h.Set(fiber.HeaderAccessControlAllowHeaders, k.cfg.Open.Headers)
	h.Set(fiber.HeaderAccessControlMaxAge, corsMaxAge)
	rc.SetStatusCode(fasthttp.StatusNoContent)
	return true
}

// allowAll lets pages of any site read a response.
func (k *kit) allowAll(h *fasthttp.ResponseHeader) {
	h.SetCanonical(headerOrigin, everywhere)
	h.SetCanonical(headerExposed, k.exposed)
}

// turnedCors are the lines of a header with which pages of any site may read that there is
// no connection for them. Of the request nothing is known by then, and of nobody anything is
// told; empty for a host whose responses no page of another site may read.
func (k *kit) turnedCors() string {
	exposed := k.cfg.Open.Exposed
	if k.cfg.Host == Ingestion {
		exposed = corsExposed
	}
	if exposed == "" {
		return ""
	}
	return fiber.HeaderAccessControlAllowOrigin + ": *\r\n" +
		fiber.HeaderAccessControlExposeHeaders + ": " + exposed + "\r\n"
}
