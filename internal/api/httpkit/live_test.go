package httpkit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/testkit"
)

// liveApp is an app of so many connections that answers GET /stream with a live stream,
// which goes on until its client leaves or somebody takes from end, and GET /health.
func liveApp(most int) (app *fiber.App, end chan struct{}) {
	end = make(chan struct{})
	app = streaming(Config{Conns: Conns{Max: most, MaxPerAddr: 16}}, func() *Stream {
		s := &Stream{ContentType: "text/event-stream", Live: true, Deadline: time.Hour}
		s.Write = func(ctx context.Context, w io.Writer) error {
			_, err := io.WriteString(w, "x")
			select {
			case <-ctx.Done():
			case end <- struct{}{}:
			}
			return err
		}
		return s
	})
	Handle(app, http.MethodGet, "/health", func(c *fiber.Ctx) error { return c.SendString("ok") })
	return app, end
}

// begin opens a live stream on a connection, and reads as far as its first bytes.
func begin(t *testing.T, conn net.Conn) (header string) {
	t.Helper()
	if _, err := io.WriteString(conn, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, len("HTTP/1.1 200"))
	if _, err := io.ReadFull(conn, text); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestLiveStreamsAreBesideTheConnectionsThatThereMayBe(t *testing.T) {
	t.Parallel()
	const most = 2
	app, _ := liveApp(most)
	addr := serve(t, app)
	for i := range most + 1 {
		if got := begin(t, dial(t, addr, "127.0.0.1")); got != "HTTP/1.1 200" {
			t.Fatalf("stream %d: %s", i, got)
		}
	}
	var plain []net.Conn
	for i := range most {
		plain = append(plain, dial(t, addr, "127.0.0.1"))
		if got := ask(t, plain[i]); got.status != http.StatusOK {
			t.Fatalf("connection %d beside the streams: %d", i, got.status)
		}
	}
	if got := ask(t, dial(t, addr, "127.0.0.1")); got.status != http.StatusServiceUnavailable {
		t.Errorf("one connection more: %d", got.status)
	}
	plain[0].Close()
	testkit.Eventually(t, time.Minute, func() error {
		if got := ask(t, dial(t, addr, "127.0.0.1")); got.status != http.StatusOK {
			return fmt.Errorf("after one was closed: %d", got.status)
		}
		return nil
	})
}

func TestAConnectionCountsAgainOnceItsLiveStreamHasEnded(t *testing.T) {
	t.Parallel()
	app, end := liveApp(1)
	addr := serve(t, app)
	first := dial(t, addr, "127.0.0.1")
	begin(t, first)
	awaitResponse(t, app, addr, 1, http.StatusOK) // beside the stream
	<-end
	awaitResponse(t, app, addr, 1, http.StatusServiceUnavailable) // beside what was one
	first.Close()
	awaitResponse(t, app, addr, 0, http.StatusOK)
}

// An address with many streams is none that room can be made of.
func TestRoomIsMadeBesideLiveStreams(t *testing.T) {
	t.Parallel()
	const most = 3
	app, _ := liveApp(most)
	kitOf(app).roomPause = 0
	addr := serve(t, app)
	for range most + 1 {
		begin(t, dial(t, addr, "127.0.0.2"))
	}
	for range most {
		if got := ask(t, dial(t, addr, "127.0.0.3")); got.status != http.StatusOK {
			t.Fatalf("beside the streams: %d", got.status)
		}
	}
	if got := ask(t, dial(t, addr, "127.0.0.4")); got.status != http.StatusOK {
		t.Errorf("another address: %d, want that room is made for it", got.status)
	}
}

// Only the header of a stream is no stream: what follows on the connection is another response.
func TestTheHeaderOfAStreamEndsWithIt(t *testing.T) {
	t.Parallel()
	app, _ := liveApp(0)
	conn := dial(t, serve(t, app), "127.0.0.1")
	both := "HEAD /stream HTTP/1.1\r\nHost: x\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n"
	if _, err := io.WriteString(conn, both); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	for _, method := range []string{http.MethodHead, http.MethodGet} {
		resp, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			t.Fatalf("the answer to %s: %v", method, err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d, %v", method, resp.StatusCode, err)
		}
	}
}

// awaitResponse waits until one connection more than there are gets a response with a status.
func awaitResponse(t *testing.T, app *fiber.App, addr string, there int64, want int) {
	t.Helper()
	testkit.Eventually(t, time.Minute, func() error {
		if n := kitOf(app).connections.Load(); n != there {
			return fmt.Errorf("%d connections are open, want %d", n, there)
		}
		conn := dial(t, addr, "127.0.0.1")
		defer conn.Close()
		if got := ask(t, conn).status; got != want {
			return fmt.Errorf("one more is answered %d, want %d", got, want)
		}
		return nil
	})
}
