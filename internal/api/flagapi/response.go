package flagapi

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"

	"github.com/cespare/xxhash/v2"
	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// Headers in the form in which fasthttp needs no work for them.
var (
	headerCache = []byte(fiber.HeaderCacheControl)
	headerETag  = []byte("Etag")
	// private has a browser ask each time whether what it has is still so, and keeps others
	// from keeping it: it was made for one person.
	private = []byte("private, no-cache")
)

// appendETag appends the name of a result. It is the same in every process, and a weak one: a
// response may say more than its result, such as when it was made.
func appendETag(dst, result []byte) []byte {
	var sum [8]byte
	binary.BigEndian.PutUint64(sum[:], xxhash.Sum64(result))
	return append(hex.AppendEncode(append(dst, `W/"`...), sum[:]), '"')
}

// unchanged reports whether an If-None-Match names an ETag, by the weak comparison of
// RFC 9110.
func unchanged(header, etag []byte) bool {
	for len(header) > 0 {
		var entry []byte
		entry, header, _ = bytes.Cut(header, []byte{','})
		entry = bytes.TrimSpace(entry)
		if string(entry) == "*" || bytes.Equal(bytes.TrimPrefix(entry, weak), bytes.TrimPrefix(etag, weak)) {
			return true
		}
	}
	return false
}

var weak = []byte("W/")

// respond writes a body of JSON, which the response keeps, or that nothing has changed since
// the caller got the same result.
func (w *work) respond(c *fiber.Ctx, body, result []byte) {
	rc := c.Context()
	w.etag = appendETag(w.etag[:0], result)
	h := &rc.Response.Header
	h.SetCanonical(headerCache, private)
	h.SetCanonical(headerETag, w.etag)
	h.SetContentType(fiber.MIMEApplicationJSON)
	if unchanged(rc.Request.Header.Peek(fasthttp.HeaderIfNoneMatch), w.etag) {
		rc.SetStatusCode(fasthttp.StatusNotModified)
		body = body[:0]
	}
	if cap(body) > keptBytes {
		rc.Response.SetBodyRaw(body)
		return
	}
	rc.Response.SwapBody(body)
}

// keptBytes is the largest memory of a body that is kept for the next one, and of one that is
// no claim on the host's memory.
const keptBytes = 64 << 10
