package httpkit

import (
	"errors"
	"io"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/admission"
)

const (
	// drainBytes is how much of a rejected body is read and thrown away, so that
	// a client that writes first and reads later sees the response and no reset.
	drainBytes = 32 << 20
	// drainTime bounds that.
	drainTime = 10 * time.Second
	// drainStep is the memory for that, which nothing is claimed for: as many may be at it
	// as there are connections. fasthttp reads 8 KiB at a time whatever is asked of it.
	drainStep = 512
	// prefetchBytes is how much of a body fasthttp reads before it calls the
	// handler.
	prefetchBytes = 8 << 10
	// keepBytes is the largest buffer that is kept for the next request.
	keepBytes = 64 << 10
	// minBytes is the smallest buffer, so that pooled ones fit most bodies, and the
	// size up to which a body is no claim on memory.
	minBytes = 4 << 10
	// firstBytes and growth are the steps in which memory follows what arrives.
	firstBytes = 16 << 10
	growth     = 4
	// nearlyFull is how many bytes short of it a step counts as full. Two buffers of fasthttp, less
	// the header, have come when the first step is: the few bytes that are left would be
	// read by a third, and copied, where all the rest can be read at once.
	nearlyFull = 1 << 10
)

// errBodySyntax is a body that ends early or is not framed as HTTP asks.
var errBodySyntax = errors.New("reading the request body")

// Body returns the request's body, decompressed. It is valid until the handler
// returns, so a response must copy what it repeats (Write, not Send), and it must
// not be written to. The errors are API errors: PayloadTooLarge
// over the app's body limit, before or after decompression; Validation for an
// encoding that is unknown, repeated or broken; ServiceUnavailable when there is no
// memory for it; DeadlineExceeded when the caller is too slow.
func Body(c *fiber.Ctx) ([]byte, error) {
	rc := c.Context()
	r := requestOf(rc)
	if r == nil {
		return nil, apierr.New(apierr.Internal)
	}
	enc, err := encodingOf(&rc.Request.Header)
	if err != nil {
		return nil, err
	}
	raw, err := r.readBody(rc)
	if err != nil || enc == nil {
		return raw, err
	}
	return r.inflate(rc, enc, raw)
}

// BodyUpTo is Body with a limit of its own, in bytes, below the app's.
func BodyUpTo(c *fiber.Ctx, limit int) ([]byte, error) {
	if r := requestOf(c.Context()); r != nil {
		r.limit = limit
	}
	return Body(c)
}

// readBody reads the body as it was sent.
func (r *request) readBody(rc *fasthttp.RequestCtx) ([]byte, error) {
	limit, length := r.limit, rc.Request.Header.ContentLength()
	if r.consumed { // asked before
		return r.raw.b, nil
	}
	body := rc.Request.BodyStream()
	if body == nil {
		r.consumed = true
		return nil, nil
	}
	if length > limit {
		r.drain(rc)
		return nil, apierr.New(apierr.PayloadTooLarge)
	}
	most := limit + 1 // one byte more than allowed tells that there are more
	if length >= 0 {
		most = length + 1
	}
	if length < 0 {
		// fasthttp adds trailer fields to the header. They count as no header: what a caller writes
		// there is behind the fields of a trusted proxy, and after the checks of the header. The copy
		// back writes the same bytes to the same memory, so slices of the header stay valid.
		rc.Request.Header.CopyTo(&r.header)
		defer r.header.CopyTo(&rc.Request.Header)
	}
	conn, _ := rc.Conn().(*guardedConn)
	if arrives(rc) { // nothing is read from the connection otherwise
		conn.bodyBegins()
		defer conn.bodyEnds()
		// The deadline is for what is done with the request. How long it may take to
		// arrive is the connection's matter, and longer.
		r.ctx.until(time.Now().Add(r.kit.cfg.Conns.Arrival + r.kit.cfg.Deadline))
		defer func() { r.ctx.until(time.Now().Add(r.kit.cfg.Deadline)) }()
	}
	// The memory follows what has arrived, not what was announced.
	for size := min(most, firstBytes); ; size = min(most, growth*size) {
		if err := r.claim(rc, size); err != nil {
			r.drain(rc)
			return nil, err
		}
		r.raw.grow(size)
		enough := size
		if size < most {
			enough -= nearlyFull
		}
		err := r.raw.fill(body, enough, size)
		switch {
		case err == io.EOF && (length < 0 || len(r.raw.b) == length): //nolint:errorlint // io.Reader's own contract
			r.consumed = true
			return r.raw.b, r.enter()
		case err != nil: // also fasthttp's EOF for a body that ended early
			r.hangUp(rc)
			return nil, readError(err, conn)
		case len(r.raw.b) > limit:
			r.drain(rc)
			return nil, apierr.New(apierr.PayloadTooLarge)
		}
	}
}

// arrives reports whether a request has a body that may still be to come: fasthttp has
// taken a short one off the connection before the handler runs.
func arrives(rc *fasthttp.RequestCtx) bool {
	length := rc.Request.Header.ContentLength()
	return rc.Request.IsBodyStream() && (length < 0 || length > prefetchBytes)
}

// skip deals with a body that no handler asked for.
func (r *request) skip(rc *fasthttp.RequestCtx) {
	if !arrives(rc) {
		r.consumed = true
		return
	}
	r.drain(rc)
}

// drain throws the rest of a body away and has the connection closed after the
// response.
func (r *request) drain(rc *fasthttp.RequestCtx) {
	if r.consumed {
		return
	}
	r.hangUp(rc)
	body := rc.Request.BodyStream()
	if body == nil {
		return
	}
	if conn, ok := rc.Conn().(*guardedConn); ok {
		conn.bodyEnds()
	}
	if err := rc.Conn().SetReadDeadline(time.Now().Add(drainTime)); err != nil {
		return
	}
	scratch := r.raw.b[:cap(r.raw.b)] // what was claimed, or is left of the last request
	if len(scratch) == 0 {
		scratch = make([]byte, drainStep)
	}
	for left := drainBytes; left > 0; {
		n, err := body.Read(scratch[:min(left, len(scratch))])
		if left -= n; err != nil {
			return
		}
	}
}

// hangUp has the connection closed after the response, because what is left of the
// body would be taken for the next request.
func (r *request) hangUp(rc *fasthttp.RequestCtx) {
	r.consumed = true
	rc.SetConnectionClose()
	if conn, ok := rc.Conn().(*guardedConn); ok {
		conn.lingers.Store(true)
	}
}

// readError maps an error of the connection, or of the body's framing, whose own
// errors do not tell a deadline that was met within a chunk.
func readError(err error, conn *guardedConn) *apierr.Error {
	ne, ok := errors.AsType[net.Error](err)
	if ok && ne.Timeout() || conn != nil && conn.expired {
		return &apierr.Error{Code: apierr.DeadlineExceeded, Message: "The body did not arrive before the deadline", Err: err}
	}
	return apierr.Wrap(apierr.Validation, errors.Join(errBodySyntax, err))
}

// claim claims memory for a body of size bytes, and waits a little for it. One that
// fits into what every request has claims nothing.
func (r *request) claim(rc *fasthttp.RequestCtx, size int) error {
	if size <= minBytes {
		return nil
	}
	r.openClaim(rc)
	return r.claimed.Await(r.ctx, int64(size)-r.claimed.Bytes())
}

// claimMore claims n bytes in addition to those of the body.
func (r *request) claimMore(rc *fasthttp.RequestCtx, n int64) error {
	r.openClaim(rc)
	return r.claimed.Await(r.ctx, n)
}

// openClaim begins the claim, in the name of the caller's address (a /64 of IPv6): a
// body is read before anybody is recognised.
func (r *request) openClaim(rc *fasthttp.RequestCtx) {
	if r.claims {
		return
	}
	r.claimed, r.claims = r.kit.cfg.Admission.Open(admission.Body, r.site(rc), ""), true
}

// site names the caller's address for claims.
func (r *request) site(rc *fasthttp.RequestCtx) string {
	who := siteOfAddr(r.clientAddr(rc)).As16()
	return string(who[:])
}

// buffer is a body's memory.
type buffer struct{ b []byte }

// grow makes room for size bytes in all, keeping what is there.
func (b *buffer) grow(size int) {
	if cap(b.b) < size {
		b.b = append(make([]byte, 0, max(size, minBytes)), b.b...)
	}
}

// fill reads until there are enough bytes, at most size, or the reader fails.
func (b *buffer) fill(r io.Reader, enough, size int) error {
	for len(b.b) < enough {
		n, err := r.Read(b.b[len(b.b):size])
		b.b = b.b[:len(b.b)+n]
		if err != nil {
			return err
		}
	}
	return nil
}

// release empties the buffer for the next request.
func (b *buffer) release() {
	if b.b = b.b[:0]; cap(b.b) > keepBytes {
		b.b = nil
	}
}
