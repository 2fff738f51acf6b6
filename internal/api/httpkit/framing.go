package httpkit

import (
	"bytes"
	"fmt"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// framing looks at the fields of a header that fasthttp reads too generously.
//
// A request is ambiguous that another server may read otherwise: see its body end elsewhere,
// so that it would take a part of it for the next request, or see it meant for another host.
// RFC 9112 has it rejected and the connection closed. What fasthttp rejects itself, such as
// two lengths, is not looked at.
//
// Its client closes where it has said so: fasthttp knows that only alone, in small letters and
// in the last of several fields.
//
// A request is crowded that has more than MaxParts header fields, cookies or query parameters: fasthttp
// keeps 56 bytes or more for each, for as long as the connection is open.
func framing(h *fasthttp.RequestHeader) (ambiguous, closes, crowded bool) {
	var hosts, lengths, encodings, fields, cookies int
	for rest := h.RawHeaders(); len(rest) > 0; {
		line := rest
		if end := bytes.IndexByte(rest, '\n'); end >= 0 {
			line, rest = rest[:end], rest[end+1:]
		} else {
			rest = nil
		}
		if len(line) > 0 && isSpace(line[0]) { // which goes on with the line before, for some
			return true, true, false
		}
		fields++
		end := bytes.IndexByte(line, ':')
		if end < 0 {
			continue // the empty line at the end
		}
		if end > 0 && isSpace(line[end-1]) { // a field for some, and none for others
			return true, true, false
		}
		switch name := line[:end]; {
		case named(name, fiber.HeaderHost):
			hosts++
		case named(name, fiber.HeaderContentLength):
			lengths++
		case named(name, fiber.HeaderTransferEncoding):
			encodings++
		case named(name, fiber.HeaderCookie):
			cookies += 1 + bytes.Count(line, []byte{';'})
		case named(name, fiber.HeaderConnection):
			closes = closes || lists(line[end+1:], "close")
		}
	}
	// HTTP/1.0 knows no chunks, and with another encoding nobody can tell where the body ends.
	chunks := h.ContentLength() == inChunks && h.IsHTTP11()
	ambiguous = hosts > 1 || hosts == 0 && h.IsHTTP11() ||
		encodings > 1 || encodings > 0 && (lengths > 0 || !chunks)
	crowded = max(fields, cookies, bytes.Count(h.RequestURI(), []byte{'&'})) > MaxParts
	return ambiguous, closes, crowded
}

// MaxParts is the largest number of header fields, of cookies and of query parameters of a request.
const MaxParts = 128

var errCrowded = apierr.Invalid("", "too_many", fmt.Sprintf(
	"The request must have at most %d header fields, cookies and query parameters each", MaxParts))

// lists reports whether a list has an item, whatever its case.
func lists(value []byte, item string) bool {
	for each := range bytes.SplitSeq(value, []byte{','}) {
		if named(bytes.TrimSpace(each), item) {
			return true
		}
	}
	return false
}

// ignoreExpectation drops an expectation of HTTP/1.0, which knows none: its client would take
// the interim response for the final one. See fasthttp.Server.HeaderReceived.
func ignoreExpectation(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if !h.IsHTTP11() {
		h.Del(fiber.HeaderExpect)
	}
	return fasthttp.RequestConfig{}
}

// inChunks is what fasthttp says of the length of a body in chunks.
const inChunks = -1

func isSpace(c byte) bool { return c == ' ' || c == '\t' }

// named reports whether a name is the given one, whatever its case.
func named(name []byte, is string) bool {
	return len(name) == len(is) && bytes.EqualFold(name, []byte(is))
}
