package httpkit

import (
	"context"
	"encoding/hex"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/admission"
)

// HeaderRequestID carries the request id in both directions.
const HeaderRequestID = "X-Request-ID"

// canonicalRequestID is how fasthttp wants it, to be spared the work.
var canonicalRequestID = []byte("X-Request-Id")

// MaxRequestIDLen is the longest request id taken over from a caller, in bytes.
const MaxRequestIDLen = 128

// request is what httpkit keeps about one request. It is pooled: nothing of it
// may be used after the handler.
type request struct {
	kit      *kit
	start    time.Time
	ctx      *requestContext
	route    *fiber.Route
	addr     netip.Addr // of the caller, once somebody asked
	limit    int        // of the body, in bytes
	consumed bool       // the body's end was read, or the connection will be closed
	meter    meter      // of JSON
	raw      buffer
	inflated buffer
	claimed  admission.Claim // for both; opened when claims
	claims   bool
	entered  bool // it is counted among those in flight
	roomless bool // it was rejected for want of room

	owner, group string // of the response's memory; empty for the caller's address
	held         held
	committed    bool // see Committed
	shared       bool // see SendShared
	inside       bool // see Inside

	// header is as it was before a body in chunks.
	header fasthttp.RequestHeader
}

type requestKey struct{}

var requests = sync.Pool{New: func() any { return new(request) }}

// requestOf returns what begin stored; nil for an error found before that.
func requestOf(rc *fasthttp.RequestCtx) *request {
	r, _ := rc.UserValue(requestKey{}).(*request)
	return r
}

func (k *kit) begin(rc *fasthttp.RequestCtx, start time.Time) *request {
	r := requests.Get().(*request) // the pool holds nothing else
	r.kit, r.start, r.route, r.addr, r.limit = k, start, nil, netip.Addr{}, k.cfg.BodyLimit
	r.meter = meter{}
	r.consumed, r.roomless, r.committed, r.shared, r.inside = false, false, false, false, false
	r.owner, r.group = "", ""
	r.ctx = newRequestContext(r.start.Add(k.cfg.Deadline), rc.Request.Header.Peek(HeaderRequestID))
	rc.SetUserValue(requestKey{}, r)
	return r
}

// enter counts a request among those in flight, or rejects it where there are too many.
// One whose body is still to come is not: it takes a connection and memory for bodies,
// which have bounds of their own, and would keep others out for as long as it likes.
func (r *request) enter() error {
	if r.entered {
		return nil
	}
	r.entered = true
	if r.kit.inFlight.Add(1) <= int64(r.kit.cfg.MaxInFlight) {
		return nil
	}
	r.kit.metrics.reject(inFlight)
	r.kit.cfg.Admission.CountRejection()
	return &apierr.Error{Code: apierr.ServiceUnavailable, RetryAfter: admission.RetryAfter(), Err: errInFlight}
}

// leave ends what enter began.
func (r *request) leave() {
	if r.entered {
		r.kit.inFlight.Add(-1)
		r.entered = false
	}
}

func (k *kit) end(r *request) {
	r.leave()
	r.ctx.finish(context.Canceled)
	r.ctx = nil
	r.raw.release()
	r.inflated.release()
	r.held.release()
	if r.claims {
		r.claimed.Release(true)
		r.claimed, r.claims = admission.Claim{}, false
	}
	requests.Put(r)
}

// RequestID returns the request's id: the caller's own when it is a plain token
// of at most MaxRequestIDLen bytes, else a fresh UUID.
func RequestID(c *fiber.Ctx) string { return string(RequestIDBytes(c)) }

// RequestIDBytes is RequestID without a copy: the bytes are valid until the
// handler returns.
func RequestIDBytes(c *fiber.Ctx) []byte {
	if r := requestOf(c.Context()); r != nil {
		return r.ctx.id
	}
	return nil
}

// appendRequestID appends the caller's id when it is acceptable, else a new one.
func appendRequestID(dst, given []byte) []byte {
	if len(given) > 0 && len(given) <= MaxRequestIDLen && isToken(given) {
		return append(dst, given...)
	}
	return appendUUID(dst)
}

// isToken reports whether b needs no quoting in a header, a log line or JSON.
func isToken(b []byte) bool {
	for _, c := range b {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '-', c == '_', c == '.', c == ':', c == '/', c == '+', c == '=', c == '@':
		default:
			return false
		}
	}
	return true
}

const uuidLen = 36

// appendUUID appends a random (version 4) UUID.
func appendUUID(dst []byte) []byte {
	var u [16]byte
	hi, lo := rand.Uint64(), rand.Uint64() //nolint:gosec // a name for log lines, no secret
	for i := range 8 {
		u[i], u[8+i] = byte(hi>>(8*i)), byte(lo>>(8*i))
	}
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	dst = append(hex.AppendEncode(dst, u[:4]), '-')
	dst = append(hex.AppendEncode(dst, u[4:6]), '-')
	dst = append(hex.AppendEncode(dst, u[6:8]), '-')
	dst = append(hex.AppendEncode(dst, u[8:10]), '-')
	return hex.AppendEncode(dst, u[10:])
}
