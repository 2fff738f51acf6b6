package httpkit

import (
	"bytes"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// ambiguous reports a request that another server may read otherwise: see its body end
// elsewhere, so that it would take a part of it for the next request, or see it meant for
// another host. RFC 9112 has it refused and the connection closed. What fasthttp refuses
// itself, such as two lengths, is not looked at.
func ambiguous(h *fasthttp.RequestHeader) bool {
	var hosts, lengths, encodings int
	for rest := h.RawHeaders(); len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte{'\n'})
		if len(line) > 0 && isSpace(line[0]) { // which goes on with the line before, for some
			return true
		}
		name, _, found := bytes.Cut(line, []byte{':'})
		if !found {
			continue // the empty line at the end
		}
		if len(name) > 0 && isSpace(name[len(name)-1]) { // a field for some, and none for others
			return true
		}
		switch {
		case named(name, fiber.HeaderHost):
			hosts++
		case named(name, fiber.HeaderContentLength):
			lengths++
		case named(name, fiber.HeaderTransferEncoding):
			encodings++
		}
	}
	return hosts > 1 || hosts == 0 && h.IsHTTP11() || encodings > 1 || encodings > 0 && lengths > 0
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' }

// named reports whether a field's name is the given one, whatever its case.
func named(name []byte, is string) bool {
	return len(name) == len(is) && bytes.EqualFold(name, []byte(is))
}
