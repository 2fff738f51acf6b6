package httpkit

import (
	"bytes"
	"io"

	"github.com/gofiber/fiber/v2"
)

// compressBytes is the size from which a body is compressed: a smaller one fits into
// the packet that carries its header.
const compressBytes = 1 << 10

// Send answers with a body that is there, compressed where that is worth it and the
// caller accepts it. The body is not to be changed afterwards.
func Send(c *fiber.Ctx, contentType string, body []byte) error {
	rc := c.Context()
	h := &rc.Response.Header
	h.SetContentType(contentType)
	h.Add(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
	enc := acceptedEncoding(rc.Request.Header.Peek(fiber.HeaderAcceptEncoding))
	if enc == nil || len(body) < compressBytes {
		rc.Response.SetBodyRaw(body)
		return nil
	}
	var packed bytes.Buffer
	packed.Grow(len(body) / 4)
	if err := enc.write(&packed, func(w io.Writer) error {
		_, err := w.Write(body)
		return err
	}); err != nil {
		return err
	}
	h.SetContentEncoding(enc.name)
	rc.Response.SetBodyRaw(packed.Bytes())
	return nil
}
