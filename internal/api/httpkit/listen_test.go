package httpkit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/testkit"
)

func TestAnAddressInUseIsOneSentenceThatNamesItAndTheSetting(t *testing.T) {
	t.Parallel()
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	addr := taken.Addr().String()
	component := ListenComponent("ingestion listener", addr, "ingest.listen", newApp(t, Config{}),
		slog.New(slog.DiscardHandler))
	want := addr + " is in use by another program; stop it or set ingest.listen to another address"
	if err := component.Start(t.Context()); err == nil || err.Error() != want {
		t.Errorf("Start() = %v, want %s", err, want)
	}
	if err := component.Stop(t.Context()); err != nil {
		t.Errorf("Stop() after a failed start = %v", err)
	}
	component = ListenComponent("x", "nowhere", "ingest.listen", newApp(t, Config{}), slog.New(slog.DiscardHandler))
	if err := component.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "nowhere") ||
		!strings.Contains(err.Error(), "ingest.listen") {
		t.Errorf("Start() with an address that is none = %v", err)
	}
}

// startPart runs an app as a daemon does and returns its address and what asks
// it to stop.
func startPart(t *testing.T, app *fiber.App) (addr string, stop context.CancelFunc, stopped <-chan error) {
	t.Helper()
	addr = testkit.FreeAddr(t)
	component := ListenComponent("listener", addr, "x.listen", app, slog.New(slog.DiscardHandler))
	if err := component.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- errors.Join(component.Run(ctx), component.Stop(context.WithoutCancel(ctx))) }()
	t.Cleanup(stop)
	return addr, stop, done
}

// awaitStop waits until an app that was asked to stop has. A stop that never ends is a
// failure of its own, not that of the whole binary minutes later.
func awaitStop(t *testing.T, stopped <-chan error) {
	t.Helper()
	select {
	case err := <-stopped:
		if err != nil {
			t.Errorf("stopping: %v", err)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the stop does not end")
	}
}

func TestAStopUnderLoadLosesNoRequest(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	app := New(Config{}, Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
	kitOf(app).settle = time.Minute // longer than any client here stands still
	var served, confirmed, told atomic.Int64
	Handle(app, "POST", "/echo", func(c *fiber.Ctx) error {
		b, err := Body(c)
		if err != nil {
			return err
		}
		served.Add(1)
		_, err = c.Write(b)
		return err
	})
	addr, stop, stopped := startPart(t, app)
	body := strings.Repeat("x", 5000)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for {
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/echo", strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				resp, err := client.Do(req)
				if errors.Is(err, syscall.ECONNREFUSED) {
					return // the way a stopped server is met
				}
				if err != nil {
					t.Errorf("a request was cut off: %v", err)
					return
				}
				got, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || string(got) != body || resp.StatusCode != 200 {
					t.Errorf("answer %d with %d bytes, %v", resp.StatusCode, len(got), err)
				}
				if resp.Close {
					told.Add(1)
				}
				if confirmed.Add(1) == 500 {
					stop()
				}
			}
		})
	}
	wg.Wait()
	stop() // also where nobody has come to it
	awaitStop(t, stopped)
	if served.Load() != confirmed.Load() || told.Load() == 0 {
		t.Errorf("%d requests served, %d confirmed, %d told to close", served.Load(), confirmed.Load(), told.Load())
	}
}

func TestAStopWaitsForWhatWasBegunAndServesWhatIsOnItsWay(t *testing.T) {
	t.Parallel()
	app := New(Config{}, Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
	entered, leave := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(leave) })
	t.Cleanup(release)
	Handle(app, "GET", "/slow", func(c *fiber.Ctx) error {
		close(entered)
		<-leave
		return c.SendString("done")
	})
	kitOf(app).settle = time.Minute
	Handle(app, "GET", "/quick", func(c *fiber.Ctx) error { return c.SendString("done") })
	addr, stop, stopped := startPart(t, app)

	get := func(conn net.Conn, path string) {
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path); err != nil {
			t.Error(err)
		}
	}
	expect := func(conn net.Conn, closes bool) {
		t.Helper()
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, resp); got.status != 200 || got.body != "done" || got.closes != closes {
			t.Errorf("answer %+v, want 200, done, closing %v", got, closes)
		}
	}
	dial := func() net.Conn {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	slow, idle := dial(), dial()
	get(idle, "/quick")
	expect(idle, false)
	get(slow, "/slow")
	select {
	case <-entered:
	case <-time.After(time.Minute):
		t.Fatal("the request has not arrived")
	}
	stop()
	testkit.Eventually(t, time.Minute, func() error {
		if !kitOf(app).draining.Load() {
			return errors.New("not draining yet")
		}
		return nil
	})
	get(idle, "/quick") // the connection was idle when the stop began
	expect(idle, true)
	select {
	case err := <-stopped:
		t.Fatalf("stopped before the slow request was answered: %v", err)
	default:
	}
	release()
	expect(slow, true)
	slow.Close()
	idle.Close()
	awaitStop(t, stopped)
}

func TestAStopEndsConnectionsThatSendNothingOrHardlyAnything(t *testing.T) {
	t.Parallel()
	const short = 500 * time.Millisecond
	for _, sent := range []string{
		"",
		"GET /health HTTP/",
		"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nx",
	} {
		t.Run(sent, func(t *testing.T) {
			t.Parallel()
			app := newApp(t, Config{})
			k := kitOf(app)
			if k.settle != settle || k.lastCall != lastCall {
				t.Errorf("connections have %s and %s by default, want %s and %s", k.settle, k.lastCall, settle, lastCall)
			}
			k.settle, k.lastCall = short, short
			addr, stop, stopped := startPart(t, app)
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, sent); err != nil {
				t.Fatal(err)
			}
			testkit.Eventually(t, time.Minute, func() error {
				if n := k.connections.Load(); n != 1 {
					return fmt.Errorf("%d connections were accepted", n)
				}
				return nil
			})
			stop()
			// Nothing else ends them so soon: not what a header, a body or a connection
			// without a request may take.
			start := time.Now()
			awaitStop(t, stopped)
			if took := time.Since(start); took > testkit.Promised(short+time.Second) {
				t.Errorf("the stop took %s, want %s", took, short)
			}
		})
	}
}
