package httpkit

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
)

// documentCaching is how long callers may use a document without asking again.
const documentCaching = "public, max-age=3600"

// documentPolicy lets the reference page load its own style sheet and nothing else.
const documentPolicy = "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; " +
	"form-action 'none'"

// Document is a response that is the same for all callers. Pages of any site may read it.
type Document struct {
	contentType, etag string
	body              []byte
	// link is the Link header; empty for none.
	link string
	// render returns the body at a time; nil for a body that never changes.
	render func(now time.Time) []byte
}

// NewDocument returns a document with a body that never changes.
func NewDocument(contentType string, body []byte) *Document {
	sum := sha256.Sum256(body)
	return &Document{contentType: contentType, etag: `"` + hex.EncodeToString(sum[:8]) + `"`, body: body}
}

// Serve sends the document, or 304 if the caller has it.
func (d *Document) Serve(c *fiber.Ctx) error {
	if d.render != nil {
		return NewDocument(d.contentType, d.render(time.Now())).Serve(c)
	}
	h := &c.Context().Response.Header
	// All origins get the same response, so caches store one for all of them.
	h.Del(fiber.HeaderAccessControlAllowCredentials)
	h.Del(fiber.HeaderVary)
	h.Set(fiber.HeaderAccessControlAllowOrigin, "*")
	h.Set(fiber.HeaderCacheControl, documentCaching)
	h.Set(fiber.HeaderETag, d.etag)
	if d.link != "" {
		h.Set(fiber.HeaderLink, d.link)
	}
	if Unchanged(c.Get(fiber.HeaderIfNoneMatch), d.etag) {
		return c.SendStatus(fiber.StatusNotModified)
	}
	h.Set(fiber.HeaderContentSecurityPolicy, documentPolicy)
	h.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	h.SetContentType(d.contentType)
	SendShared(c, d.body)
	return nil
}

// Documents are the documents of a host by route.
type Documents map[string]*Document

// Serve sends the document of the request's route. It returns fiber.ErrNotFound for a route without a
// document.
func (d Documents) Serve(c *fiber.Ctx) error {
	doc := d[c.Route().Path]
	if doc == nil {
		return fiber.ErrNotFound
	}
	return doc.Serve(c)
}

// PreflightDocument lets pages of any site send any header with a request for a document.
func PreflightDocument(c *fiber.Ctx) error {
	c.Set(fiber.HeaderAccessControlAllowOrigin, "*")
	c.Set(fiber.HeaderAccessControlAllowMethods, fiber.MethodGet)
	c.Set(fiber.HeaderAccessControlAllowHeaders, "*")
	c.Set(fiber.HeaderAccessControlMaxAge, corsMaxAge)
	return c.SendStatus(fiber.StatusNoContent)
}

// Unchanged reports whether an If-None-Match header names an ETag, by the weak comparison of RFC 9110.
func Unchanged(header, etag string) bool {
	for entry := range strings.SplitSeq(header, ",") {
		entry = strings.TrimSpace(entry)
		if entry == "*" || strings.TrimPrefix(entry, "W/") == strings.TrimPrefix(etag, "W/") {
			return true
		}
	}
	return false
}
