package mcp

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
)

const (
	// spare is the time between the deadline of tools and that of the request, in which a tool's error
	// reaches the client.
	spare = 500 * time.Millisecond
	// comment is how often a stream without events sends a comment, so that proxies keep it open.
	comment = 15 * time.Second
	// streamLife bounds a stream. Its client opens another, perhaps at another process.
	streamLife = 4 * time.Hour
	// recheck is how often a stream checks its caller.
	recheck = 500 * time.Millisecond
)

// exchange runs a handler of net/http for a request of fasthttp, and its response.
type exchange struct {
	// check is called every recheck while a stream is open. It ends the stream with false. May be nil.
	check func(ctx context.Context) bool
	log   *slog.Logger

	reply  *reply
	cancel context.CancelFunc // ends the request's context
}

// serve answers with the handler's response. A response that the handler flushes is a stream; any
// other is sent as a whole. A client that leaves ends the request's context.
func (x *exchange) serve(c *fiber.Ctx, handler http.Handler, r *request, body []byte, m *message) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.UserContext()))
	x.cancel, x.reply = cancel, newReply()
	deadline, _ := c.UserContext().Deadline()
	tools, release := context.WithDeadline(ctx, deadline.Add(-spare))
	r.ctx = tools
	stop := httpkit.WhenGone(c, cancel)
	message := toHTTP(ctx, c, r, body)
	go func() {
		defer x.reply.end()
		defer release()
		defer func() {
			if p := recover(); p != nil { // it would end the process
				x.log.LogAttrs(ctx, slog.LevelError, "MCP message failed", slog.Any("panic", p),
					slog.String("stack", string(debug.Stack())))
				x.reply.panicked.Store(true)
			}
		}()
		handler.ServeHTTP(x.reply, message)
	}()
	select {
	case <-x.reply.flushed:
		stop()
		return x.stream(c)
	case <-x.reply.ended:
	case <-c.UserContext().Done():
		cancel()
		<-x.reply.ended
	}
	stop()
	cancel()
	return x.reply.send(c, m)
}

// toHTTP returns the request as net/http has it, without credentials and with r in its context.
func toHTTP(ctx context.Context, c *fiber.Ctx, r *request, body []byte) *http.Request {
	header := http.Header{}
	for name, value := range c.Context().Request.Header.All() {
		header.Add(string(name), string(value))
	}
	for _, name := range []string{fiber.HeaderAuthorization, "X-Api-Key", fiber.HeaderCookie} {
		header.Del(name)
	}
	body = bytes.Clone(body) // what a tool keeps of it outlives the handler
	return (&http.Request{
		Method: http.MethodPost, URL: &url.URL{Path: string(c.Context().Path())}, Header: header,
		Host: string(c.Context().Host()),
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}).WithContext(context.WithValue(ctx, requestKey{}, r))
}

// stream sends what the handler writes as it is flushed.
func (x *exchange) stream(c *fiber.Ctx) error {
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set("X-Accel-Buffering", "no") // proxies would hold events back
	return httpkit.SendStream(c, &httpkit.Stream{
		ContentType: x.reply.header.Get(fiber.HeaderContentType), Live: true, Deadline: 2 * streamLife,
		Write: x.relay, Done: func() { // also of a stream that is not sent
			x.cancel()
			<-x.reply.ended
		},
	})
}

// relay writes the handler's events to the client until the handler ends, the client leaves, the
// host drains, or the caller may not listen any longer.
func (x *exchange) relay(ctx context.Context, w io.Writer) error {
	comments, checks := time.NewTicker(comment), time.NewTicker(recheck)
	defer comments.Stop()
	defer checks.Stop()
	life := time.NewTimer(streamLife)
	defer life.Stop()
	for {
		if events := x.reply.take(); len(events) > 0 {
			if _, err := w.Write(events); err != nil {
				return err
			}
		}
		select {
		case <-x.reply.more:
		case <-x.reply.ended:
			_, err := w.Write(x.reply.take())
			return err
		case <-comments.C:
			if _, err := io.WriteString(w, ":\n\n"); err != nil {
				return err
			}
		case <-checks.C:
			if x.check != nil && !x.check(ctx) {
				return nil
			}
		case <-life.C:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// reply is a handler's response. What is written stays in it until it is taken: the end of the
// handler loses nothing.
type reply struct {
	header http.Header
	// flushed is closed by the first Flush and ended when the handler has returned. more has a value
	// after a Flush.
	flushed, ended, more chan struct{}
	panicked             atomic.Bool

	mu     sync.Mutex
	status int
	buffer []byte
	first  sync.Once
}

func newReply() *reply {
	return &reply{
		header: http.Header{}, status: http.StatusOK,
		flushed: make(chan struct{}), ended: make(chan struct{}), more: make(chan struct{}, 1),
	}
}

// Header implements http.ResponseWriter.
func (w *reply) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *reply) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status = status
}

// Write implements http.ResponseWriter.
func (w *reply) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buffer = append(w.buffer, p...)
	return len(p), nil
}

// Flush implements http.Flusher.
func (w *reply) Flush() {
	w.first.Do(func() { close(w.flushed) })
	select {
	case w.more <- struct{}{}:
	default:
	}
}

// take returns what was written since the last call.
func (w *reply) take() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.buffer
	w.buffer = nil
	return taken
}

// end records that the handler has returned.
func (w *reply) end() { close(w.ended) }

// errSilent is an exchange that ended before the handler answered.
var errSilent = apierr.New(apierr.DeadlineExceeded)

// send writes a whole response. Where the SDK reports an error as text, the client gets it as a
// JSON-RPC error.
func (w *reply) send(c *fiber.Ctx, m *message) error {
	body := w.take()
	if w.panicked.Load() {
		return (&rpcError{http.StatusInternalServerError, m.id(), jsonrpc.CodeInternalError, "Internal error"}).send(c)
	}
	if len(body) == 0 && w.status == http.StatusOK {
		return errSilent
	}
	contentType := w.header.Get(fiber.HeaderContentType)
	if w.status >= http.StatusBadRequest && !strings.HasPrefix(contentType, fiber.MIMEApplicationJSON) {
		text := strings.TrimSpace(string(body))
		return (&rpcError{w.status, m.id(), jsonrpc.CodeInvalidRequest, text}).send(c)
	}
	c.Status(w.status)
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Context().Response.Header.SetContentType(contentType)
	c.Context().Response.SetBodyRaw(body)
	return nil
}
