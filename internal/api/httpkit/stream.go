package httpkit

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// Stream is a response that is written while it is made. It takes the memory of
// its buffers, whatever its length.
type Stream struct {
	// ContentType is the body's.
	ContentType string
	// Compress has the body compressed where the caller accepts that.
	Compress bool
	// Live is for a response that goes on for hours, a few bytes at a time: what is written
	// is sent at once, without a buffer, and Write's context ends as soon as the client has
	// left, or a stop begins. Where Write returns nil then, the client gets the body's end, and the
	// connection is closed. Such a response is not compressed, and its connection is beside
	// those that Conns.Max bounds.
	Live bool
	// Check is called every recheck while the response goes on. With an error, the caller may not have the
	// rest: the response is cut off. May be nil.
	Check func(ctx context.Context) error
	// Deadline cuts the response off; 0 means the host's.
	Deadline time.Duration
	// Write writes the body to w, whose every error it returns. Its context ends
	// at the deadline, when the client has gone, and some time after a stop has
	// begun, or with Live as it begins. It runs in a goroutine of its own that may outlive the handler: it
	// must not use the request. Nothing that the handler returned with may be
	// needed after it either.
	//
	// An error before anything was sent is answered as the error of a handler is;
	// a later one cuts the body off in the middle, so that the client notices.
	Write func(ctx context.Context, w io.Writer) error
	// Trailers name the fields that follow the body, and Trailer returns their
	// values once Write returned nil.
	Trailers []string
	Trailer  func(name string) string
	// Done, if not nil, is called once, when nothing of the response runs any more,
	// also after SendStream returned an error.
	Done func()
}

// encoderBytes is the memory of the largest encoder of a stream.
const encoderBytes = 3 << 20

// recheck is how often a stream checks its caller, so that a revocation counts within a second.
const recheck = 500 * time.Millisecond

// streamBytes is the buffer between what writes a response and the connection.
const streamBytes = 32 << 10

var (
	// errCut ends a stream whose host stops.
	errCut = errors.New("the host stops")
	// errNoMore ends a stream whose caller may not have the rest.
	errNoMore = errors.New("the caller may not have the rest")
	// errGone ends a stream whose client is gone.
	errGone   = errors.New("the client disconnected")
	errInside = &apierr.Error{
		Code: apierr.PayloadTooLarge, Message: "The response exceeds the size limit; use a lower limit",
	}
	errHTTP = &apierr.Error{Code: apierr.Validation, Message: "This response is streamed, which requires HTTP/1.1"}
)

// SendStream answers with a stream. It returns when the first bytes are on their
// way, when Write has ended, or at the request's deadline, whatever comes first.
//
// The client has the whole body when it has its end: chunked encoding's last
// chunk. A body without it was cut off.
func SendStream(c *fiber.Ctx, s *Stream) error {
	rc := c.Context()
	r := requestOf(rc)
	http11 := r != nil && !r.inside && rc.Request.Header.IsHTTP11()
	if !http11 || rc.IsHead() {
		if s.Done != nil {
			s.Done()
		}
		switch {
		case r != nil && r.inside:
			return errInside
		case !http11:
			return errHTTP
		}
		rc.Response.Header.SetContentType(s.ContentType)
		return nil // a stream that is not sent ends in bytes that belong to nothing
	}
	var enc *outgoing
	if s.Compress && !s.Live {
		rc.Response.Header.Add(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
		enc = acceptedEncoding(rc.Request.Header.Peek(fiber.HeaderAcceptEncoding))
		if enc != nil && r.memory(rc).Take(encoderBytes) != nil {
			enc = nil // there is memory for the response, but not for a shorter one
		}
	}
	b := newStreamBody(r, s, rc)
	b.route = c.Route().Path
	go b.produce(enc)
	select {
	case <-b.begun:
	case <-b.ended:
		if b.err != nil && !b.hasBegun() {
			return errors.Join(b.err, b.Close())
		}
	case <-r.ctx.Done():
	}
	h := &rc.Response.Header
	h.SetContentType(s.ContentType)
	if enc != nil {
		h.SetContentEncoding(enc.name)
	}
	for _, name := range s.Trailers {
		if err := h.AddTrailer(name); err != nil {
			return errors.Join(err, b.Close())
		}
	}
	rc.Response.SetBodyStream(b, -1)
	rc.Response.ImmediateHeaderFlush = true
	b.conn.paces(eachWrite)
	if s.Live {
		b.conn.paces(live)
		b.conn.lives(true)
		b.stop = b.conn.attend(func() { b.cancel(errGone) })
	}
	// A client that reads nothing holds the connection's write until that write's
	// own deadline; what is cut off does not wait for it.
	b.spare = context.AfterFunc(b.ctx, b.conn.sever)
	return nil
}

// streamBody is what fasthttp reads a response from.
type streamBody struct {
	stream *Stream
	kit    *kit
	rc     *fasthttp.RequestCtx // of fasthttp's goroutine only
	conn   *guardedConn         // nil for a connection that is none of ours
	route  string

	ctx    context.Context //nolint:containedctx // the stream's, between two goroutines
	asks   context.Context //nolint:containedctx // what Write is given
	cancel context.CancelCauseFunc
	leave  context.CancelFunc // ends what Write is given; nil but for a live one
	held   held
	stop   func()      // ends the look-out for a client that leaves; nil for none
	spare  func() bool // has the end of ctx leave the connection alone; false when it is too late
	in     *io.PipeWriter
	out    *io.PipeReader

	once  sync.Once
	begun chan struct{} // closed when the first bytes are there
	ended chan struct{} // closed when Write has returned
	err   error         // what came of it; read after ended
}

func newStreamBody(r *request, s *Stream, rc *fasthttp.RequestCtx) *streamBody {
	b := &streamBody{stream: s, kit: r.kit, rc: rc, begun: make(chan struct{}), ended: make(chan struct{})}
	b.conn, _ = rc.Conn().(*guardedConn)
	b.held, r.held = r.held, held{}
	b.out, b.in = io.Pipe()
	deadline := r.ctx.deadline
	if s.Deadline > 0 {
		deadline = r.start.Add(s.Deadline)
	}
	ctx, timeUp := context.WithDeadline(context.WithoutCancel(r.ctx), deadline)
	b.ctx, b.cancel = context.WithCancelCause(ctx)
	context.AfterFunc(b.ctx, timeUp)
	b.asks = b.ctx
	if s.Live {
		b.asks, b.leave = context.WithCancel(b.ctx)
	}
	r.kit.streams.add(b)
	return b
}

// produce runs Write and hands what it wrote to the connection.
func (b *streamBody) produce(enc *outgoing) {
	defer func() {
		if p := recover(); p != nil {
			b.err = newPanicError(p)
		}
		// Before ended is closed, so that whoever waits for it finds all done; and
		// nil is the end of the body.
		b.tell()
		b.in.CloseWithError(b.err)
		b.kit.streams.remove(b)
		if b.stream.Done != nil {
			b.stream.Done()
		}
		close(b.ended)
	}()
	if b.stream.Check != nil {
		ctx, end := context.WithCancel(b.ctx)
		var checks sync.WaitGroup
		checks.Go(func() { b.check(ctx) })
		defer checks.Wait() // before Done
		defer end()
	}
	b.err = b.write(enc)
	if cause := context.Cause(b.ctx); b.err != nil && cause != nil {
		b.err = errors.Join(cause, b.err)
	}
}

// check cuts the stream off once its caller may not have the rest.
func (b *streamBody) check(ctx context.Context) {
	due := time.NewTicker(recheck)
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-due.C:
		}
		if err := b.stream.Check(ctx); err != nil {
			b.cancel(errors.Join(errNoMore, err))
			return
		}
	}
}

// write runs Write.
func (b *streamBody) write(enc *outgoing) error {
	if b.stream.Live {
		defer b.leave()
		return b.stream.Write(b.asks, b)
	}
	buffered := bufio.NewWriterSize(b, streamBytes)
	if err := enc.write(buffered, func(w io.Writer) error { return b.stream.Write(b.asks, w) }); err != nil {
		return err
	}
	return buffered.Flush()
}

// tell logs and counts a response that is cut off; one that has not begun is
// answered as an error, which is told of then.
func (b *streamBody) tell() {
	if b.err == nil || !b.hasBegun() {
		return
	}
	why, level := cutFailed, slog.LevelError
	switch {
	case errors.Is(b.err, errNoMore):
		why, level = cutRevoked, slog.LevelInfo
	case errors.Is(b.err, errGone), errors.Is(b.err, io.ErrClosedPipe):
		why, level = cutGone, slog.LevelDebug
	case errors.Is(b.err, errCut):
		why, level = cutStop, slog.LevelInfo
	case errors.Is(b.err, context.DeadlineExceeded):
		why, level = cutDeadline, slog.LevelWarn
	}
	b.kit.metrics.cut[why].Inc()
	b.kit.log.LogAttrs(b.ctx, level, "response cut off",
		slog.String("route", b.route), slog.String("reason", why.String()), slog.Any("error", b.err))
}

// Write takes what the buffer holds.
func (b *streamBody) Write(p []byte) (int, error) {
	b.once.Do(func() { close(b.begun) })
	return b.in.Write(p)
}

func (b *streamBody) hasBegun() bool {
	select {
	case <-b.begun:
		return true
	default:
		return false
	}
}

// Read gives fasthttp the next bytes. With the last ones the trailers are known.
func (b *streamBody) Read(p []byte) (int, error) {
	n, err := b.out.Read(p)
	if err == io.EOF { //nolint:errorlint // io.Reader's own contract
		for _, name := range b.stream.Trailers {
			b.rc.Response.Header.Set(name, b.stream.Trailer(name))
		}
	}
	return n, err
}

// Close ends the stream, whether the client has all of it, is gone, or never got
// any, and returns when nothing of it runs any more. Its error has fasthttp close
// the connection.
func (b *streamBody) Close() error {
	late := b.spare != nil && !b.spare()
	b.cancel(errGone)
	b.out.Close() //nolint:errcheck // never fails
	<-b.ended
	b.held.release()
	b.conn.paces(wholeResponse)
	b.conn.lives(false)
	if b.stop != nil {
		b.stop()
	}
	if b.stream.Live && b.kit.draining.Load() {
		b.conn.retire()
	}
	if late {
		return errCut
	}
	return nil
}
