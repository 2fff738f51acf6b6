package httpkit

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// Inner makes requests of a host to itself, in the name of the caller of another request: with the
// same credential, address, user agent and request id. A route therefore checks, counts and
// records such a request as it does any other; only the counts of requests in flight and the access
// log leave it out. It is safe for concurrent use and outlives the handler that made it.
type Inner struct {
	kit    *kit
	addr   netip.Addr
	header fasthttp.RequestHeader // of every request
}

// NewInner returns the inner requests of a request's caller.
func NewInner(c *fiber.Ctx) *Inner {
	i := &Inner{kit: requestOf(c.Context()).kit, addr: ClientAddr(c)}
	i.header.SetProtocol("HTTP/1.0") // so that no route answers with a stream
	i.header.SetHost("millrace")
	from := &c.Context().Request.Header
	for _, name := range []string{
		headerAPIKey, fiber.HeaderAuthorization, fiber.HeaderUserAgent, headerTraceparent,
	} {
		if value := from.Peek(name); len(value) > 0 {
			i.header.SetBytesV(name, value)
		}
	}
	i.header.SetBytesV(HeaderRequestID, RequestIDBytes(c))
	return i
}

// With returns the caller's inner requests with another header.
func (i *Inner) With(name, value string) *Inner {
	more := &Inner{kit: i.kit, addr: i.addr}
	i.header.CopyTo(&more.header)
	more.header.Set(name, value)
	return more
}

// Do serves a request and returns the status and the body of the response, which is the caller's
// to keep. uri is a path with its query string. A context that ends, ends the request's.
func (i *Inner) Do(ctx context.Context, method, uri string, body []byte) (status int, response []byte) {
	var request fasthttp.Request
	i.header.CopyTo(&request.Header)
	request.Header.SetMethod(method)
	request.SetRequestURI(uri)
	var rc fasthttp.RequestCtx
	rc.Init(&request, net.TCPAddrFromAddrPort(netip.AddrPortFrom(i.addr, 0)), nil)
	r := i.kit.begin(&rc, time.Now())
	defer i.kit.end(r)
	r.addr, r.consumed, r.inside = i.addr, true, true
	r.raw.grow(len(body))
	r.raw.b = append(r.raw.b[:0], body...)
	inner := r.ctx
	// If the caller leaves, the request ends with the error of a deadline, which logs no failure of the host.
	defer context.AfterFunc(ctx, func() { inner.finish(context.DeadlineExceeded) })()
	i.kit.handle(&rc, r)
	return rc.Response.StatusCode(), bytes.Clone(rc.Response.Body())
}
