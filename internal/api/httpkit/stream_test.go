package httpkit

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/gofiber/fiber/v2"
	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/testkit"
)

// streaming returns an app that answers GET /stream with s.
func streaming(cfg Config, s func() *Stream) *fiber.App {
	app := New(cfg, Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
	Handle(app, "GET", "/stream", func(c *fiber.Ctx) error { return SendStream(c, s()) })
	return app
}

// streamed is a response whose body the end of the test closes.
type streamed struct{ *http.Response }

// askStream asks for /stream with a client of its own, which sends no header by itself.
func askStream(t *testing.T, addr, encoding string) streamed {
	t.Helper()
	resp, err := tryStream(t, addr, encoding)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// tryStream is askStream for a connection that may be cut off.
func tryStream(t *testing.T, addr, encoding string) (streamed, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/stream", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if encoding != "" {
		req.Header.Set("Accept-Encoding", encoding)
	}
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return streamed{}, err
	}
	t.Cleanup(func() { resp.Body.Close() })
	return streamed{resp}, nil
}

// endless writes until it fails, and says what its context had to say then.
func endless(end chan<- error) func(context.Context, io.Writer) error {
	return func(ctx context.Context, w io.Writer) error {
		line := []byte(strings.Repeat("x", 1023) + "\n")
		for {
			if _, err := w.Write(line); err != nil || ctx.Err() != nil {
				<-ctx.Done()
				end <- context.Cause(ctx)
				return errors.Join(err, ctx.Err())
			}
		}
	}
}

func panicking() error { panic("broken") } //nolint:forbidigo // what a bug does

func TestAStreamArrivesWholeWithItsTrailers(t *testing.T) {
	t.Parallel()
	const n = 1 << 20
	done := make(chan struct{}, 2)
	addr := serve(t, streaming(Config{}, func() *Stream {
		rows := ""
		return &Stream{
			ContentType: "text/plain", Trailers: []string{"X-Rows"}, Trailer: func(string) string { return rows },
			Write: func(_ context.Context, w io.Writer) error {
				_, err := io.WriteString(w, strings.Repeat("y", n))
				rows = "17"
				return err
			},
			Done: func() { done <- struct{}{} },
		}
	}))
	for range 2 {
		resp := askStream(t, addr, "")
		body, err := io.ReadAll(resp.Body)
		if err != nil || len(body) != n || strings.Trim(string(body), "y") != "" {
			t.Errorf("%d bytes, %v", len(body), err)
		}
		if got := resp.Trailer.Get("X-Rows"); got != "17" || resp.Header.Get("Content-Type") != "text/plain" {
			t.Errorf("trailer %q, header %v", got, resp.Header)
		}
		<-done
	}
}

func TestAStreamIsCompressedAsItsCallerLikesBest(t *testing.T) {
	t.Parallel()
	addr := serve(t, streaming(Config{}, func() *Stream {
		return &Stream{ContentType: "text/plain", Compress: true, Write: func(_ context.Context, w io.Writer) error {
			_, err := io.WriteString(w, strings.Repeat("z", 100_000))
			return err
		}}
	}))
	for _, tc := range []struct{ accept, want string }{
		{"", ""},
		{"identity", ""},
		{"br", "br"},
		{"gzip;q=0", ""},
		{"gzip;q=nonsense", ""},
		{"gzip", "gzip"},
		{"x-gzip", "gzip"},
		{"gzip, zstd", "zstd"},
		{"zstd;q=0.5, GZIP;q=0.8", "gzip"},
		{"*", "zstd"},
		{"*;q=0.1, zstd;q=0", "br"},
		{"deflate, gzip;q=1.0, *;q=0.5", "gzip"},
	} {
		resp := askStream(t, addr, tc.accept)
		if got := resp.Header.Get("Content-Encoding"); got != tc.want || resp.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("Accept-Encoding %q: got %q, Vary %q", tc.accept, got, resp.Header.Get("Vary"))
		}
		var plain io.Reader = resp.Body
		var err error
		switch resp.Header.Get("Content-Encoding") {
		case "br":
			plain = brotli.NewReader(resp.Body)
		case "gzip":
			plain, err = gzip.NewReader(resp.Body)
		case "zstd":
			plain, err = zstd.NewReader(resp.Body)
		}
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(plain); err != nil || len(body) != 100_000 {
			t.Errorf("Accept-Encoding %q: %d bytes, %v", tc.accept, len(body), err)
		}
	}
}

func TestAStreamThatFailsBeforeItsFirstBytesIsAnError(t *testing.T) {
	t.Parallel()
	done := make(chan struct{}, 3)
	fail := func() error { return apierr.New(apierr.AccessDenied) }
	addr := serve(t, streaming(Config{}, func() *Stream {
		return &Stream{
			ContentType: "text/plain",
			Compress:    true,
			Done:        func() { done <- struct{}{} },
			Write: func(_ context.Context, w io.Writer) error {
				_, err := io.WriteString(w, "what fits into the buffer")
				return errors.Join(err, fail())
			},
		}
	}))
	for _, tc := range []struct {
		fail func() error
		want int
	}{
		{fail, http.StatusForbidden},
		{func() error { return errors.New("broken") }, http.StatusInternalServerError},
		{panicking, http.StatusInternalServerError},
	} {
		fail = tc.fail
		resp := askStream(t, addr, "gzip")
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != tc.want || !strings.HasPrefix(string(body), `{"success":false`) ||
			resp.Header.Get("Content-Encoding") != "" {
			t.Errorf("%d %v %q, %v", resp.StatusCode, resp.Header, body, err)
		}
		<-done
	}
}

// countedOnce waits until one stream is counted as ended so: its client may know sooner.
func countedOnce(t *testing.T, app *fiber.App, why cut) {
	t.Helper()
	testkit.Eventually(t, time.Minute, func() error {
		if got := testutil.ToFloat64(kitOf(app).metrics.cut[why]); got != 1 {
			return fmt.Errorf("%v are counted as %s", got, why)
		}
		return nil
	})
}

func TestAStreamThatFailsLaterHasNoEnd(t *testing.T) {
	t.Parallel()
	for _, fail := range []func() error{func() error { return errors.New("broken") }, panicking} {
		app := streaming(Config{}, func() *Stream {
			return &Stream{ContentType: "text/plain", Write: func(_ context.Context, w io.Writer) error {
				if _, err := io.WriteString(w, strings.Repeat("y", 2*streamBytes)); err != nil {
					return err
				}
				return fail()
			}}
		})
		resp := askStream(t, serve(t, app), "")
		body, err := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusOK || len(body) == 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d, %d bytes, %v", resp.StatusCode, len(body), err)
		}
		countedOnce(t, app, cutFailed)
	}
}

func TestAStreamEndsWhenItsClientIsGone(t *testing.T) {
	t.Parallel()
	end := make(chan error, 1)
	app := streaming(Config{}, func() *Stream { return &Stream{ContentType: "text/plain", Write: endless(end)} })
	resp := askStream(t, serve(t, app), "")
	if _, err := io.ReadFull(resp.Body, make([]byte, 100_000)); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if err := <-end; !errors.Is(err, errGone) {
		t.Errorf("it ended with %v", err)
	}
	testkit.Eventually(t, time.Minute, func() error {
		if n := kitOf(app).streams.open(); n > 0 {
			return fmt.Errorf("%d streams are open", n)
		}
		return nil
	})
	countedOnce(t, app, cutGone)
}

func TestStream_EndsWhenItsCallerMayNotHaveTheRest(t *testing.T) {
	t.Parallel()
	end, checks := make(chan error, 1), 0
	app := streaming(Config{}, func() *Stream {
		return &Stream{ContentType: "text/plain", Write: endless(end), Check: func(context.Context) error {
			if checks++; checks > 1 {
				return apierr.New(apierr.AuthRequired)
			}
			return nil
		}}
	})
	resp := askStream(t, serve(t, app), "")
	if _, err := io.ReadFull(resp.Body, make([]byte, 100_000)); err != nil {
		t.Fatal(err)
	}
	if err := <-end; !errors.Is(err, errNoMore) { // although its client reads nothing
		t.Errorf("it ended with %v", err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err == nil {
		t.Error("the body has an end")
	}
	countedOnce(t, app, cutRevoked)
}

func TestAStreamEndsWhenItsClientReadsNothingForTooLong(t *testing.T) {
	t.Parallel()
	end := make(chan error, 1)
	app := streaming(Config{Conns: Conns{Write: 500 * time.Millisecond, Idle: 20 * time.Second}}, func() *Stream {
		return &Stream{ContentType: "text/plain", Write: endless(end)}
	})
	askStream(t, serve(t, app), "")
	if err := <-end; !errors.Is(err, errGone) {
		t.Errorf("it ended with %v", err)
	}
}

// A machine that stands still for longer than one write may take cuts the stream off,
// so what is allowed grows until it does not.
func TestAStreamMayTakeLongerThanAWriteAndARequest(t *testing.T) {
	t.Parallel()
	for soon := 150 * time.Millisecond; ; soon *= 4 {
		err := streamFor(t, soon)
		if err == nil {
			return
		}
		if soon > 5*time.Second {
			t.Fatal(err)
		}
		t.Logf("within %s: %v", soon, err)
	}
}

// streamFor streams for longer than twice what a write and a request may take.
func streamFor(t *testing.T, soon time.Duration) error {
	t.Helper()
	const pieces = 20
	step := make(chan struct{}, pieces)
	app := streaming(Config{Deadline: soon, Conns: Conns{Write: soon, Idle: 4 * soon}}, func() *Stream {
		return &Stream{
			ContentType: "text/plain", Deadline: 5 * time.Minute, Write: func(ctx context.Context, w io.Writer) error {
				for range pieces {
					if _, err := io.WriteString(w, strings.Repeat("y", streamBytes)); err != nil {
						return err
					}
					select {
					case <-step:
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				return nil
			},
		}
	})
	began := time.Now()
	resp, err := tryStream(t, serve(t, app), "")
	if err != nil {
		return err
	}
	go func() {
		tick := time.NewTicker(soon / 7)
		defer tick.Stop()
		for range pieces {
			<-tick.C
			step <- struct{}{}
		}
	}()
	body, err := io.ReadAll(resp.Body)
	if took := time.Since(began); err != nil || len(body) != pieces*streamBytes || took < 2*soon {
		return fmt.Errorf("%d bytes in %s, %w", len(body), took, err)
	}
	return nil
}

func TestAStreamIsCutOffAtItsDeadline(t *testing.T) {
	t.Parallel()
	end := make(chan error, 1)
	app := streaming(Config{}, func() *Stream {
		return &Stream{
			ContentType: "text/plain", Deadline: 3 * time.Second, Write: func(ctx context.Context, w io.Writer) error {
				_, err := io.WriteString(w, strings.Repeat("x", 2*streamBytes)) // so that it has begun
				<-ctx.Done()
				end <- context.Cause(ctx)
				return errors.Join(err, ctx.Err())
			},
		}
	})
	resp := askStream(t, serve(t, app), "")
	if _, err := io.Copy(io.Discard, resp.Body); err == nil {
		t.Error("the body has an end")
	}
	if err := <-end; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it ended with %v", err)
	}
}

func TestAStreamThatHasSentNothingByItsDeadlineIsAnError(t *testing.T) {
	t.Parallel()
	app := streaming(Config{}, func() *Stream {
		return &Stream{
			ContentType: "text/plain", Deadline: 50 * time.Millisecond, Write: func(ctx context.Context, _ io.Writer) error {
				<-ctx.Done()
				return apierr.Wrap(apierr.DeadlineExceeded, ctx.Err())
			},
		}
	})
	if resp := askStream(t, serve(t, app), ""); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("status %d", resp.StatusCode)
	}
}

func TestAStopCutsStreamsOff(t *testing.T) {
	t.Parallel()
	end := make(chan error, 2)
	app := streaming(Config{}, func() *Stream {
		return &Stream{ContentType: "text/plain", Deadline: time.Hour, Write: endless(end)}
	})
	kitOf(app).cutDelay = 10 * time.Millisecond
	addr, stop, stopped := startPart(t, app)
	reading, stalled := askStream(t, addr, ""), askStream(t, addr, "")
	read := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, reading.Body)
		read <- err
	}()
	stop()
	for range 2 {
		if err := <-end; !errors.Is(err, errCut) {
			t.Errorf("a stream ended with %v", err)
		}
	}
	if err := <-read; err == nil {
		t.Error("the body has an end")
	}
	if _, err := io.Copy(io.Discard, stalled.Body); err == nil {
		t.Error("the body that was not read has an end")
	}
	awaitStop(t, stopped)
}

func TestAStreamNeedsHTTP11(t *testing.T) {
	t.Parallel()
	done := make(chan struct{}, 1)
	addr := serve(t, streaming(Config{}, func() *Stream {
		return &Stream{ContentType: "text/plain", Write: endless(nil), Done: func() { done <- struct{}{} }}
	}))
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /stream HTTP/1.0\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(conn)
	if err != nil || !strings.Contains(string(text), "requires HTTP/1.1") {
		t.Errorf("%q, %v", text, err)
	}
	<-done
}

func TestALiveStreamSendsAtOnceAndEndsWhenAStopBegins(t *testing.T) {
	t.Parallel()
	more, done := make(chan struct{}), make(chan struct{})
	app := streaming(Config{Deadline: time.Second}, func() *Stream {
		return &Stream{
			ContentType: "text/event-stream", Live: true, Compress: true, Deadline: time.Hour, Done: func() { close(done) },
			Write: func(ctx context.Context, w io.Writer) error {
				for {
					if _, err := io.WriteString(w, "x"); err != nil {
						return err
					}
					select {
					case <-more:
					case <-ctx.Done():
						return nil
					}
				}
			},
		}
	})
	addr, stop, stopped := startPart(t, app)
	resp := askStream(t, addr, "gzip")
	one := make([]byte, 1)
	for range 3 {
		if _, err := io.ReadFull(resp.Body, one); err != nil || one[0] != 'x' {
			t.Fatalf("%q, %v", one, err)
		}
		more <- struct{}{}
	}
	stop()
	rest, err := io.ReadAll(resp.Body)
	if err != nil || string(rest) != "x" || resp.Header.Get("Content-Encoding") != "" {
		t.Errorf("%q, %v, %v: want the body to have its end", rest, err, resp.Header)
	}
	<-done
	awaitStop(t, stopped)
	if n := testutil.ToFloat64(kitOf(app).metrics.cut[cutStop]); n != 0 {
		t.Errorf("%v streams are counted as cut off", n)
	}
}

func TestALiveStreamEndsWhenItsClientLeaves(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	app := streaming(Config{}, func() *Stream {
		return &Stream{
			ContentType: "text/event-stream",
			Live:        true,
			Deadline:    time.Hour,
			Write: func(ctx context.Context, w io.Writer) error {
				_, err := io.WriteString(w, "x")
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return err
			},
		}
	})
	resp := askStream(t, serve(t, app), "")
	if _, err := io.ReadFull(resp.Body, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if err := <-ended; !errors.Is(err, errGone) {
		t.Errorf("it ended with %v", err)
	}
	testkit.Eventually(t, time.Minute, func() error {
		if n := kitOf(app).connections.Load(); n > 0 {
			return fmt.Errorf("%d connections are open", n)
		}
		return nil
	})
}

func TestALiveStreamLeavesItsConnectionToTheNextRequest(t *testing.T) {
	t.Parallel()
	app := streaming(Config{}, func() *Stream {
		return &Stream{ContentType: "text/event-stream", Live: true, Write: func(_ context.Context, w io.Writer) error {
			_, err := io.WriteString(w, "x")
			return err
		}}
	})
	addr := serve(t, app)
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r := bufio.NewReader(conn)
	for range 3 {
		if _, err := io.WriteString(conn, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || string(body) != "x" {
			t.Errorf("%q, %v", body, err)
		}
		resp.Body.Close()
	}
}
