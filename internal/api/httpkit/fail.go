package httpkit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/admission"
)

// The headers of a response that a limit made.
const (
	headerRateLimit     = "X-RateLimit-Limit"
	headerRateRemaining = "X-RateLimit-Remaining"
	headerRateReset     = "X-RateLimit-Reset" // Unix milliseconds
)

// fail answers a request with an error. It is the only place that writes an
// error body, and the only one that logs what went wrong.
func (k *kit) fail(rc *fasthttp.RequestCtx, err error) {
	r := requestOf(rc)
	if r == nil {
		k.failUnread(rc, err)
		return
	}
	k.reject(rc, r, err)
}

// failUnread is fail for a request that could not be read; serve never saw it.
func (k *kit) failUnread(rc *fasthttp.RequestCtx, err error) {
	r := k.begin(rc, time.Now())
	defer k.end(r)
	conn, ok := rc.Conn().(*guardedConn)
	if ok {
		conn.lingers.Store(true)
	}
	defer func() { k.metrics.none.observe(rc.Response.StatusCode(), time.Since(r.start), 0) }()
	if errors.Is(err, fiber.ErrRequestHeaderFieldsTooLarge) {
		k.metrics.reject(longHeader)
		if ok && k.cfg.Open.begun(conn.begins[:conn.begun]) {
			k.allowAll(&rc.Response.Header)
		}
		if ok && k.cfg.LongHeader != nil && k.cfg.LongHeader(rc, conn.begins[:conn.begun]) {
			rc.Response.Header.SetCanonical(canonicalRequestID, r.ctx.id)
			return
		}
	}
	k.reject(rc, r, err)
}

// reject writes the response to a request that failed.
func (k *kit) reject(rc *fasthttp.RequestCtx, r *request, err error) {
	f := k.resolve(err)
	r.roomless = errors.Is(f.Err, admission.ErrRejected)
	k.logFailure(r, f)

	// What a handler had begun to answer does not belong to the error.
	rc.Response.ResetBody()
	rc.SetStatusCode(f.status)
	h := &rc.Response.Header
	h.SetCanonical(canonicalRequestID, r.ctx.id)
	h.SetContentType(fiber.MIMEApplicationJSON)
	if after := f.retryAfterSeconds(); after > 0 {
		h.Set(fiber.HeaderRetryAfter, strconv.Itoa(after))
	}
	if f.Rate != nil {
		h.Set(headerRateLimit, strconv.Itoa(f.Rate.Limit))
		h.Set(headerRateRemaining, strconv.Itoa(f.Rate.Remaining))
		h.Set(headerRateReset, strconv.FormatInt(f.Rate.Reset.UnixMilli(), 10))
	}
	if f.status == http.StatusUnauthorized {
		path := ""
		if mcp := profiles[k.cfg.Host].mcp; r.route != nil && r.route.Path == mcp {
			path = mcp
		}
		h.Set(fiber.HeaderWWWAuthenticate, challenge(k.cfg.Site.PublicURL, path))
	}
	if k.cfg.Page != nil &&
		k.cfg.Page(rc, Rejection{Code: f.row.Code, Message: f.message(k.cfg.Host), RequestID: r.ctx.id}) {
		return
	}
	rc.SetBody(errorBody(k.cfg.Host, f, r.ctx.id))
}

// Rejection is what a rejected request is told.
type Rejection struct {
	Code      apierr.Code
	Message   string
	RequestID []byte // a token that needs no escaping; valid until the request ends
}

// resolve tells a server that cannot be asked now from a failure of our own.
func (k *kit) resolve(err error) failure {
	f := resolve(err)
	if f.Code == apierr.Internal && k.cfg.Unavailable != nil && k.cfg.Unavailable(err) {
		return resolve(apierr.Wrap(apierr.ServiceUnavailable, err))
	}
	return f
}

// resolve finds the row of an error: an API error's own, or that of an error which
// fiber or fasthttp made.
func resolve(err error) failure {
	fe, ok := errors.AsType[*fiber.Error](err)
	if !ok {
		f := apierr.Of(err)
		row := RowOf(f.Code)
		return failure{Error: f, row: row, status: row.Status}
	}
	for _, m := range transport {
		if m.status == fe.Code {
			f := &apierr.Error{Code: m.code, Message: m.message}
			return failure{Error: f, row: RowOf(m.code), status: m.status}
		}
	}
	f := apierr.Wrap(apierr.Internal, err)
	return failure{Error: f, row: RowOf(f.Code), status: http.StatusInternalServerError}
}

// transport maps the statuses with which fiber and fasthttp reject a request.
var transport = []struct {
	status  int
	code    apierr.Code
	message string // empty means the code's own
}{
	{http.StatusBadRequest, apierr.Validation, "The request is not valid HTTP"},
	{http.StatusNotFound, apierr.NotFound, ""},
	{http.StatusMethodNotAllowed, apierr.MethodNotAllowed, ""},
	{http.StatusRequestTimeout, apierr.DeadlineExceeded, "The request did not arrive in time"},
	{http.StatusRequestEntityTooLarge, apierr.PayloadTooLarge, ""},
	{http.StatusRequestHeaderFieldsTooLarge, apierr.Validation, "The request's header is too large"},
	// The connection broke; nobody reads this.
	{http.StatusBadGateway, apierr.Validation, "The request ended early"},
}

// retryAfterSeconds is the Retry-After header, rounded up: who waits as long is
// never early. 0 means none.
func (f failure) retryAfterSeconds() int {
	after := f.RetryAfter
	if after <= 0 {
		after = f.row.RetryAfter
	}
	return int((after + time.Second - 1) / time.Second)
}

// logFailure logs an error of the server, once. Callers' own errors are for their
// eyes only, and requests for which there is no room are counted and told of as a
// whole; other bursts are thinned by package telemetry.
func (k *kit) logFailure(r *request, f failure) {
	if f.status < http.StatusInternalServerError || r.roomless {
		return
	}
	level := slog.LevelWarn
	if f.Code == apierr.Internal {
		level = slog.LevelError
	}
	attrs := []slog.Attr{
		slog.String("host", k.cfg.Host.String()),
		slog.String("code", string(f.Code)),
		slog.Any("error", f.Error),
	}
	if r.route != nil {
		attrs = append(attrs, slog.String("route", r.route.Path))
	}
	k.log.LogAttrs(r.ctx, level, "request failed", attrs...)
}

// panicError is a handler's panic.
type panicError struct {
	value any
	stack []byte
}

func newPanicError(value any) *panicError { return &panicError{value: value, stack: debug.Stack()} }

// Error returns the panic's value and the stack.
func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

// Printf takes what fasthttp has to say, which concerns single connections: the peer's
// address and the bytes that could not be read, with whatever key or address they hold.
// Of all that only the kind of trouble is logged. It also makes the kit reachable from
// its fiber app: see kitOf.
func (k *kit) Printf(_ string, args ...any) {
	trouble := "other"
	for _, arg := range args {
		if err, ok := arg.(error); ok {
			trouble = troubleOf(err)
		}
	}
	k.log.LogAttrs(context.Background(), slog.LevelDebug, "connection error", slog.String("kind", trouble))
}

// troubleOf names what befell a connection, in words of our own.
func troubleOf(err error) string {
	small := &fasthttp.ErrSmallBuffer{}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "timeout"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "closed"
	case errors.As(err, &small):
		return "headers too large"
	}
	return "malformed request"
}

// kitOf returns the kit of an app made by New, else nil.
func kitOf(app *fiber.App) *kit {
	k, _ := app.Server().Logger.(*kit)
	return k
}
