package httpkit

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/millrace/millrace/internal/fault"
)

const (
	// drainBytes is how much of a refused body is read and thrown away, so that
	// a client that writes first and reads later sees the answer and no reset.
	drainBytes = 32 << 20
	// drainTime bounds that.
	drainTime = 10 * time.Second
	drainStep = 16 << 10
	// prefetchBytes is how much of a body fasthttp reads before it calls the
	// handler.
	prefetchBytes = 8 << 10
	// budgetBytes is the memory that all large bodies together may take.
	budgetBytes = 256 << 20
	// keepBytes is the largest buffer that is kept for the next request, and the
	// size up to which a body is not counted against the budget.
	keepBytes = 64 << 10
	minBytes  = 4 << 10 // the smallest buffer, so that pooled ones fit most bodies
)

// errBodySyntax is a body that ends early or is not framed as HTTP asks.
var errBodySyntax = errors.New("reading the request body")

// Body returns the request's body, decompressed. It is valid until the handler
// returns, so an answer must copy what it repeats (Write, not Send), and it must
// not be written to. The errors are faults: PayloadTooLarge
// over the app's body limit, before or after decompression; Validation for an
// encoding that is unknown, repeated or broken; ServiceUnavailable when the
// memory for large bodies is in use; DeadlineExceeded when the caller is too slow.
func Body(c *fiber.Ctx) ([]byte, error) {
	rc := c.Context()
	r := requestOf(rc)
	if r == nil {
		return nil, fault.New(fault.Internal)
	}
	enc, err := encodingOf(&rc.Request.Header)
	if err != nil {
		return nil, err
	}
	raw, err := r.readBody(rc)
	if err != nil || enc == nil {
		return raw, err
	}
	return r.inflate(enc, raw)
}

// readBody reads the body as it was sent.
func (r *request) readBody(rc *fasthttp.RequestCtx) ([]byte, error) {
	limit, length := r.kit.cfg.BodyLimit, rc.Request.Header.ContentLength()
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
		return nil, fault.New(fault.PayloadTooLarge)
	}
	most := limit + 1 // one byte more than allowed tells that there are more
	if length >= 0 {
		most = length + 1
	}
	// The memory follows what has arrived, not what was announced.
	for size := min(most, keepBytes); ; size = min(most, 2*size) {
		if err := r.raw.grow(size, &r.kit.budget); err != nil {
			r.drain(rc)
			return nil, err
		}
		err := r.raw.fill(body)
		switch {
		case err == io.EOF && (length < 0 || len(r.raw.b) == length): //nolint:errorlint // io.Reader's own contract
			r.consumed = true
			return r.raw.b, nil
		case err != nil: // also fasthttp's EOF for a body that ended early
			r.hangUp(rc)
			return nil, readFault(err)
		case len(r.raw.b) > limit:
			r.drain(rc)
			return nil, fault.New(fault.PayloadTooLarge)
		}
	}
}

// skip deals with a body that no handler asked for.
func (r *request) skip(rc *fasthttp.RequestCtx) {
	// fasthttp has taken a short body off the connection before the handler ran.
	if n := rc.Request.Header.ContentLength(); 0 <= n && n <= prefetchBytes {
		r.consumed = true
		return
	}
	r.drain(rc)
}

// drain throws the rest of a body away and has the connection closed after the
// answer.
func (r *request) drain(rc *fasthttp.RequestCtx) {
	if r.consumed {
		return
	}
	r.hangUp(rc)
	body := rc.Request.BodyStream()
	if body == nil {
		return
	}
	if err := rc.Conn().SetReadDeadline(time.Now().Add(drainTime)); err != nil {
		return
	}
	if r.raw.grow(drainStep, nil) != nil {
		return
	}
	scratch := r.raw.b[:cap(r.raw.b)]
	for left := drainBytes; left > 0; {
		n, err := body.Read(scratch[:min(left, len(scratch))])
		if left -= n; err != nil {
			return
		}
	}
}

// hangUp has the connection closed after the answer, because what is left of the
// body would be taken for the next request.
func (r *request) hangUp(rc *fasthttp.RequestCtx) {
	r.consumed = true
	rc.SetConnectionClose()
	if conn, ok := rc.Conn().(*guardedConn); ok {
		conn.lingers.Store(true)
	}
}

// readFault maps an error of the connection or of the body's framing.
func readFault(err error) *fault.Error {
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		return &fault.Error{Code: fault.DeadlineExceeded, Message: "The body did not arrive in time", Err: err}
	}
	return fault.Wrap(fault.Validation, errors.Join(errBodySyntax, err))
}

// buffer is a body's memory. What exceeds keepBytes is counted against a budget
// while it is held, and is not kept.
type buffer struct {
	b       []byte
	counted int64
}

// grow makes room for size bytes in all, keeping what is there.
func (b *buffer) grow(size int, budget *budget) error {
	if cap(b.b) >= size {
		return nil
	}
	size = max(size, minBytes)
	if size > keepBytes && budget != nil {
		if !budget.take(int64(size)) {
			return &fault.Error{Code: fault.ServiceUnavailable, RetryAfter: time.Second}
		}
		budget.give(b.counted)
		b.counted = int64(size)
	}
	b.b = append(make([]byte, 0, size), b.b...)
	return nil
}

// fill reads until the buffer is full or the reader fails.
func (b *buffer) fill(r io.Reader) error {
	for len(b.b) < cap(b.b) {
		n, err := r.Read(b.b[len(b.b):cap(b.b)])
		b.b = b.b[:len(b.b)+n]
		if err != nil {
			return err
		}
	}
	return nil
}

// release empties the buffer for the next request.
func (b *buffer) release(budget *budget) {
	budget.give(b.counted)
	b.counted = 0
	if b.b = b.b[:0]; cap(b.b) > keepBytes {
		b.b = nil
	}
}

// budget counts bytes that are shared by all requests.
type budget struct{ used atomic.Int64 }

func (b *budget) take(n int64) bool {
	if b.used.Add(n) > budgetBytes {
		b.used.Add(-n)
		return false
	}
	return true
}

func (b *budget) give(n int64) {
	if n != 0 {
		b.used.Add(-n)
	}
}
