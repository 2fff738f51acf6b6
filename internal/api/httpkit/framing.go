package httpkit

import (
	"bytes"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// ambiguous reports a request that another server may read otherwise: see its body end
// elsewhere, so that it would take a part of it for the next request, or see it meant for
// another host. RFC 9112 has it rejected and the connection closed. What fasthttp rejects
// itself, such as two lengths, is not looked at.
func ambiguous(h *fasthttp.RequestHeader) bool {
	var hosts, lengths, encodings int
	for rest := h.RawHeaders(); len(rest) > 0; {
		line := rest
		if end := bytes.IndexByte(rest, '\n'); end >= 0 {
			line, rest = rest[:end], rest[end+1:]
		} else {
			rest = nil
		}
		if len(line) > 0 && isSpace(line[0]) { // which goes on with the line before, for some
			return true
		}
		end := bytes.IndexByte(line, ':')
		if end < 0 {
			continue // the empty line at the end
		}
		if end > 0 && isSpace(line[end-1]) { // a field for some, and none for others
			return true
		}
		switch name := line[:end]; {
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
