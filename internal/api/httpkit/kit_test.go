package httpkit

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"
)

// newApp returns an app that echoes bodies at POST /echo and counts them at POST
// /size.
func newApp(t *testing.T, cfg Config) *fiber.App {
	t.Helper()
	app := New(cfg, Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
	Handle(app, "POST", "/echo", func(c *fiber.Ctx) error {
		b, err := Body(c)
		if err != nil {
			return err
		}
		_, err = c.Write(b)
		return err
	})
	Handle(app, "POST", "/unread", func(c *fiber.Ctx) error { return c.SendString("unread") })
	Handle(app, "GET", "/health", func(c *fiber.Ctx) error { return c.SendString("ok") })
	return app
}

// response is what a test sees of a response.
type response struct {
	status int
	header http.Header
	body   string
	closes bool // the connection ends with it
}

func read(t *testing.T, resp *http.Response) response {
	t.Helper()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return response{resp.StatusCode, resp.Header, string(body), resp.Close}
}

// serve serves app on a free port of the loopback and returns its address. It
// is drained when the test ends.
func serve(t *testing.T, app *fiber.App) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln := newListener(l, kitOf(app))
	served := make(chan error, 1)
	go func() { served <- app.Listener(ln) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := drain(ctx, app, ln); err != nil {
			t.Errorf("draining: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	return l.Addr().String()
}

// raw sends bytes over a fresh connection and returns the responses, one per
// request that the server saw, until the server closes or wants more.
func raw(t *testing.T, addr, text string) []response {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	var responses []response
	for r := bufio.NewReader(conn); ; {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("reading answer %d: %v", len(responses)+1, err)
			}
			return responses
		}
		responses = append(responses, read(t, resp))
	}
}
