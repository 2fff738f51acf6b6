package mcp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/testkit"
)

// listening is an open stream.
type listening struct {
	answer
	lines chan string // closed at the end
	leave func()
}

// listen opens a stream that waits for changes of tools.
func (h *host) listen(t *testing.T, key string) *listening {
	t.Helper()
	body, header := modern(methodListen, `"notifications":{"toolsListChanged":true}`)
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	req.Header.Set("x-api-key", key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := http.DefaultClient.Do(req) //nolint:bodyclose // the goroutine below closes it
	if err != nil {
		t.Fatal(err)
	}
	l := &listening{lines: make(chan string, 100), leave: cancel}
	l.Status, l.Header = res.StatusCode, res.Header
	go func() {
		defer close(l.lines)
		defer res.Body.Close()
		for s := bufio.NewScanner(res.Body); s.Scan(); {
			if s.Text() != "" {
				l.lines <- s.Text()
			}
		}
	}()
	t.Cleanup(cancel)
	return l
}

// wait waits for a line with a text; "" for the end.
func (l *listening) wait(t *testing.T, text string) {
	t.Helper()
	within := time.After(10 * time.Second)
	for {
		select {
		case line, ok := <-l.lines:
			if !ok && text == "" || ok && text != "" && strings.Contains(line, text) {
				return
			}
			if !ok {
				t.Fatalf("the stream ended without %q", text)
			}
		case <-within:
			t.Fatalf("the stream has no %q", text)
		}
	}
}

const changed = "notifications/tools/list_changed"

func TestListen_ReportsChangedScopes(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	l := h.listen(t, "reader")
	if l.Status != http.StatusOK || l.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%d %v", l.Status, l.Header)
	}
	l.wait(t, "notifications/subscriptions/acknowledged")
	h.keys.set("reader", "read:data", "write:links")
	l.wait(t, changed)
	h.keys.set("reader", "write:links")
	l.wait(t, changed)
}

func TestListen_EndsWithItsKey(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	l, other := h.listen(t, "reader"), h.listen(t, "other")
	l.wait(t, "acknowledged")
	other.wait(t, "acknowledged")
	h.keys.set("reader")
	began := time.Now()
	l.wait(t, "")
	if took := time.Since(began); took > testkit.Promised(time.Second) {
		t.Errorf("the stream of a revoked key went on for %v", took)
	}
	h.keys.set("other", "read:data", "write:links")
	other.wait(t, changed)
}

func TestListen_SendsComments(t *testing.T) {
	t.Parallel()
	l := newHost(t).listen(t, "reader")
	l.wait(t, "acknowledged")
	select {
	case line := <-l.lines:
		if line != ":" {
			t.Errorf("the next line is %q, want a comment", line)
		}
	case <-time.After(testkit.Promised(comment + 5*time.Second)):
		t.Error("the stream has no comment")
	}
}

func TestListen_EndsWithTheHost(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	l := h.listen(t, "reader")
	l.wait(t, "acknowledged")
	h.stop()
	l.wait(t, "")
}

func TestListen_BoundsStreamsOfAKey(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	var first *listening
	for i := range MaxKeyStreams {
		l := h.listen(t, "reader")
		if l.wait(t, "acknowledged"); i == 0 {
			first = l
		}
	}
	if got := h.listen(t, "reader"); got.Status != http.StatusTooManyRequests {
		t.Errorf("one more: %d", got.Status)
	}
	if got := h.listen(t, "other"); got.Status != http.StatusOK {
		t.Errorf("another key: %d", got.Status)
	}
	first.leave()
	testkit.Eventually(t, 10*time.Second, func() error {
		if got := h.listen(t, "reader"); got.Status != http.StatusOK {
			return fmt.Errorf("after one left: %d", got.Status)
		}
		return nil
	})
}

// TestExchange_LosesNoEvent plays the race between a handler's last writes and its return, while the
// bridge waits for more.
func TestExchange_LosesNoEvent(t *testing.T) {
	t.Parallel()
	const replies, clients = 10_000, 8
	var read [clients]chan struct{} // has a value when a client has read the first event
	for i := range read {
		read[i] = make(chan struct{})
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		number, _ := strconv.Atoi(string(body))
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: first %d\n\n", number)
		w.(http.Flusher).Flush()
		<-read[number%clients]
		fmt.Fprintf(w, "data: last %d\n\n", number)
		if number/clients%2 == 0 {
			w.(http.Flusher).Flush()
		}
	})
	app := httpkit.New(httpkit.Config{Host: httpkit.Query},
		httpkit.Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
	httpkit.Handle(app, http.MethodPost, "/", func(c *fiber.Ctx) error {
		body, err := httpkit.Body(c)
		if err != nil {
			return err
		}
		x := &exchange{log: slog.New(slog.DiscardHandler)}
		return x.serve(c, handler, &request{}, body, &message{})
	})
	url, _ := serve(t, app)
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			for i := client; i < replies; i += clients {
				if err := readEvents(t.Context(), url, i, read[client]); err != nil {
					t.Errorf("reply %d: %v", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// A client of HTTP/1.0 cannot read a stream.
func TestListen_RejectsHTTP10AndEndsTheHandler(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{}, 1)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		ended <- struct{}{}
	})
	got := exchangeWith(t, handler, "POST / HTTP/1.0\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
	if !strings.Contains(got, " 400 ") || !strings.Contains(got, "HTTP/1.1") {
		t.Errorf("the response is %q", got)
	}
	receive(t, ended)
}

// A panic of the SDK would end the process.
func TestExchange_SurvivesAPanic(t *testing.T) {
	t.Parallel()
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic("in the SDK") //nolint:forbidigo // is recovered
	})
	got := exchangeWith(t, handler, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	if !strings.Contains(got, " 500 ") || !strings.Contains(got, "-32603") {
		t.Errorf("the response is %q", got)
	}
}

// exchangeWith sends a request to a handler behind the bridge, and returns the response.
func exchangeWith(t *testing.T, handler http.Handler, text string) string {
	t.Helper()
	app := httpkit.New(httpkit.Config{Host: httpkit.Query},
		httpkit.Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
	httpkit.Handle(app, http.MethodPost, "/", func(c *fiber.Ctx) error {
		return (&exchange{log: slog.New(slog.DiscardHandler)}).
			serve(c, handler, &request{}, nil, &message{})
	})
	url, _ := serve(t, app)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	response, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(response)
}

// readEvents requests the events of a number, and reports on read that it has the first one.
func readEvents(ctx context.Context, url string, number int, read chan<- struct{}) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(strconv.Itoa(number)))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	first, last := fmt.Sprintf("data: first %d\n\n", number), fmt.Sprintf("data: last %d\n\n", number)
	got := make([]byte, len(first))
	if _, err := io.ReadFull(resp.Body, got); err != nil {
		return err
	}
	read <- struct{}{}
	rest, err := io.ReadAll(resp.Body)
	if err == nil && string(got)+string(rest) != first+last {
		err = fmt.Errorf("got %q, then %q", got, rest)
	}
	return err
}
