package httpkit

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
)

func TestInner_AsksInTheNameOfTheCaller(t *testing.T) {
	t.Parallel()
	app := newApp(t, Config{Host: Query})
	Handle(app, http.MethodPost, "/inner", func(c *fiber.Ctx) error {
		body, err := Body(c)
		if err != nil {
			return err
		}
		return c.JSON(map[string]string{
			"body": string(body), "key": string(Credential(c)), "id": RequestID(c), "addr": ClientAddr(c).String(),
			"q": c.Query("q"), "agent": c.Get("User-Agent"), "cookie": c.Get("Cookie"),
		})
	})
	Handle(app, http.MethodGet, "/wait", func(c *fiber.Ctx) error {
		<-c.UserContext().Done()
		return c.UserContext().Err()
	})
	Handle(app, http.MethodPost, "/outer", func(c *fiber.Ctx) error {
		inner := NewInner(c)
		status, answer := inner.Do(c.UserContext(), http.MethodPost, "/inner?q=1", []byte("text"))
		if status != http.StatusOK {
			t.Errorf("/inner: %d %s", status, answer)
		}
		if status, answer := inner.Do(c.UserContext(), http.MethodPost, "/nowhere", nil); status != http.StatusNotFound {
			t.Errorf("/nowhere: %d %s", status, answer)
		}
		gone, cancel := context.WithCancel(c.UserContext())
		time.AfterFunc(time.Millisecond, cancel)
		if status, _ := inner.Do(gone, http.MethodGet, "/wait", nil); status < http.StatusInternalServerError {
			t.Errorf("a context that ended: %d", status)
		}
		return c.Send(answer)
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+serve(t, app)+"/outer", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"X-Api-Key": "secret", "X-Request-Id": "req-1", "User-Agent": "test/1", "Cookie": "a=b",
	} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got map[string]string
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"body": "text", "key": "secret", "id": "req-1", "addr": "127.0.0.1", "q": "1", "agent": "test/1", "cookie": "",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}

// A client that sends its next request early has not left, and gets both responses.
func TestWhenGone_LeavesTheNextRequestAlone(t *testing.T) {
	t.Parallel()
	app := newApp(t, Config{Host: Query})
	entered, release := make(chan struct{}), make(chan struct{})
	Handle(app, http.MethodPost, "/slow", func(c *fiber.Ctx) error {
		stop := WhenGone(c, func() { t.Error("the client is gone") })
		close(entered)
		<-release
		stop()
		return c.SendString("slow")
	})
	Handle(app, http.MethodGet, "/next", func(c *fiber.Ctx) error { return c.SendString("next") })
	conn := dial(t, serve(t, app), "127.0.0.1")
	send := func(text string) {
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
	}
	send("POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
	<-entered
	send("GET /next HTTP/1.1\r\nHost: x\r\n\r\n")
	close(release)
	responses := bufio.NewReader(conn)
	for _, want := range []string{"slow", "next"} {
		resp, err := http.ReadResponse(responses, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(got) != want {
			t.Errorf("got %q and %v, want %q", got, err, want)
		}
	}
}

func TestGone_ReportsClosedConnection(t *testing.T) {
	t.Parallel()
	app := newApp(t, Config{Host: Query})
	entered, left := make(chan bool), make(chan struct{})
	Handle(app, http.MethodGet, "/slow", func(c *fiber.Ctx) error {
		entered <- Gone(c)
		for !Gone(c) && c.UserContext().Err() == nil {
			runtime.Gosched()
		}
		if !Gone(c) {
			t.Error("the client has left, and counts as present")
		}
		close(left)
		return nil
	})
	conn := dial(t, serve(t, app), "127.0.0.1")
	if _, err := io.WriteString(conn, "GET /slow HTTP/1.1\r\nHost: x\r\n\r\nGET /slow HTTP/1.1\r\n"); err != nil {
		t.Fatal(err)
	}
	if <-entered {
		t.Error("the client sends its next request, and counts as gone")
	}
	conn.Close()
	<-left
}
