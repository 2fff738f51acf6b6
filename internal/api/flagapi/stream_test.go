package flagapi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
	"github.com/millrace/millrace/internal/testkit"
)

// within is the longest time that a test waits for what must come.
const within = time.Minute

// changing is an organization whose flags change, and who watches it.
type changing struct {
	tenants

	mu      sync.Mutex
	set     *flagset.Set
	err     error
	watches map[*watching]bool
}

type watching struct {
	of *changing
	c  chan struct{}
}

func newChanging(t *testing.T, flags ...*flag.Flag) *changing {
	t.Helper()
	c := &changing{watches: map[*watching]bool{}}
	c.change(t, 1, flags...)
	return c
}

// change replaces the flags, and tells everybody.
func (c *changing) change(t *testing.T, version int64, flags ...*flag.Flag) {
	t.Helper()
	set, err := flagset.New("org_1", flagset.Mark{Version: version}, flags, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set = set
	for w := range c.watches {
		select {
		case w.c <- struct{}{}:
		default:
		}
	}
}

// fail has the flags not be there, for an error; nil brings them back.
func (c *changing) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

func (c *changing) Get(context.Context, string) (*flagset.Set, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.set, c.err
}

func (c *changing) AtLeast(ctx context.Context, id string, _ flagset.Mark) (*flagset.Set, error) {
	return c.Get(ctx, id)
}

func (c *changing) watch(string) Watch {
	w := &watching{c, make(chan struct{}, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watches[w] = true
	return w
}

func (w *watching) C() <-chan struct{} { return w.c }

func (w *watching) Close() {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	delete(w.of.watches, w)
}

func (c *changing) watched() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.watches)
}

// host is a host around the organization.
func (c *changing) host(changes ...func(*Deps)) *Host {
	deps := c.deps()
	deps.Sets, deps.Watch, deps.Now = c, c.watch, time.Now
	for _, change := range changes {
		change(&deps)
	}
	return New(deps)
}

// changed is a flag one version later.
func changed(f *flag.Flag) *flag.Flag {
	f.Version++
	return f
}

// serving serves the stream of a host on a port of its own; stop begins to end it.
func serving(t *testing.T, h *Host) (url string, stop func()) {
	t.Helper()
	app := newKit()
	httpkit.Handle(app, http.MethodGet, pathStream, h.stream)
	addr, stop := listen(t, app)
	return "http://" + addr + pathStream + "?clientId=public-1", stop
}

// listen serves an app on a port of its own; stop begins to end it, and the test waits for its end.
func listen(t *testing.T, app *fiber.App) (addr string, stop func()) {
	t.Helper()
	addr, log := testkit.FreeAddr(t), slog.New(slog.DiscardHandler)
	component := httpkit.ListenComponent("query", addr, "query.listen", app, log)
	if err := component.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- errors.Join(component.Run(ctx), component.Stop(context.WithoutCancel(ctx))) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return addr, stop
}

// following reads a stream.
type following struct {
	resp  *http.Response
	lines *bufio.Scanner
}

func follow(t *testing.T, url, lastEventID string) *following {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if lastEventID != "" {
		req.Header.Set(headerLastEventID, lastEventID)
	}
	transport := &http.Transport{}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		resp.Body.Close()
		transport.CloseIdleConnections()
	})
	return &following{resp, bufio.NewScanner(resp.Body)}
}

// block returns the next fields, up to an empty line; nil at the end.
func (f *following) block() (fields map[string]string) {
	for f.lines.Scan() {
		line := f.lines.Text()
		if line == "" {
			return fields
		}
		if fields == nil {
			fields = map[string]string{}
		}
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.TrimPrefix(value, " ")
	}
	return nil
}

func TestChangesOfWhatIsSeenAreTold(t *testing.T) {
	t.Parallel()
	nav, secret, other := boolean("nav"), boolean("secret", server), boolean("other", of("web_2"))
	c := newChanging(t, nav, secret, other)
	h := c.host()
	url, _ := serving(t, h)
	f := follow(t, url, "")
	first := f.block()
	if first["retry"] == "" || first["id"] == "" || first["data"] != "" {
		t.Fatalf("it begins with %v", first)
	}
	if got := f.resp.Header; got.Get("Content-Type") != "text/event-stream" ||
		got.Get("Access-Control-Allow-Origin") != "*" ||
		got.Get("Cache-Control") != "private, no-cache" || got.Get("Content-Encoding") != "" {
		t.Errorf("%v", got)
	}
	c.change(t, 2, nav, changed(boolean("secret", server)), other)
	c.change(t, 3, nav, secret, changed(boolean("other", of("web_2"))))
	c.change(t, 4, changed(boolean("nav")), secret, other)
	event := f.block()
	seen, ok := parseState(event["id"])
	want := map[string]string{
		"event": "message", "id": event["id"],
		"data": fmt.Sprintf(`{"type":"refetchEvaluation","etag":%q,"lastModified":%d}`, event["id"], seen.at.Unix()),
	}
	if diff := cmp.Diff(want, event); diff != "" || !ok || seen.mark.Version != 4 {
		t.Errorf("the event (-want +got):\n%s", diff)
	}
}

func TestWhoComesAgainIsToldWhatItMissed(t *testing.T) {
	t.Parallel()
	c := newChanging(t, boolean("nav"))
	url, _ := serving(t, c.host())
	before := follow(t, url, "").block()["id"]
	c.change(t, 2, changed(boolean("nav")))
	now := follow(t, url, "").block()["id"]
	for _, tc := range []struct {
		name, since, lastEventID string
		told                     bool
	}{
		{"seen nothing", "", "", false},
		{"seen what is", "", now, false},
		{"seen what was", "", before, true},
		{"seen flags that were", before, "", true},
		{"seen flags that are", now, "", false},
		{"told since", before, now, false},
		{"what is no state", "1", "2", false},
	} {
		got := follow(t, url+"&since="+tc.since, tc.lastEventID).block()
		if (got["data"] != "") != tc.told || got["id"] == "" {
			t.Errorf("%s: it begins with %v", tc.name, got)
		}
	}
}

func TestAStreamEndsWhenItsHostStops(t *testing.T) {
	t.Parallel()
	c := newChanging(t, boolean("nav"))
	h := c.host()
	url, stop := serving(t, h)
	f := follow(t, url, "")
	f.block()
	stop()
	if rest, err := io.ReadAll(f.resp.Body); err != nil {
		t.Errorf("%q, %v: want the body to have its end", rest, err)
	}
	testkit.Eventually(t, within, func() error {
		if n := h.streams.Taken() + c.watched(); n > 0 {
			return fmt.Errorf("%d streams and watches are open", n)
		}
		return nil
	})
}

func TestAStreamIsRejectedAsARequestIs(t *testing.T) {
	t.Parallel()
	c := newChanging(t, boolean("nav"))
	h := c.host()
	url, _ := serving(t, h)
	for range MaxStreamsPerAddr {
		if _, err := h.streams.enter(viewed("web_1"), netip.MustParseAddr("127.0.0.1")); err != nil {
			t.Fatal(err)
		}
	}
	of := func(clientID string) string { return strings.Replace(url, "public-1", clientID, 1) }
	for clientID, want := range map[string]int{"public-1": 429, "public-2": 200, "nothing": 404, "": 400} {
		got := follow(t, of(clientID), "").resp
		if got.StatusCode != want || (want == http.StatusTooManyRequests) != (got.Header.Get("Retry-After") == "10") {
			t.Errorf("%s: %d %v, want %d", clientID, got.StatusCode, got.Header, want)
		}
		if limited := got.Header.Get("X-RateLimit-Limit") + " " + got.Header.Get("X-RateLimit-Remaining"); want == 429 &&
			(limited != "50 0" || got.Header.Get("X-RateLimit-Reset") == "") {
			t.Errorf("its limits are told as %v", got.Header)
		}
	}
	c.fail(&apierr.Error{Code: apierr.ServiceUnavailable, RetryAfter: time.Second})
	if got := follow(t, of("public-2"), "").resp; got.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("without flags: %d", got.StatusCode)
	}
}

// ending is a flag that ends so long from now.
func ending(key string, after time.Duration) *flag.Flag {
	return boolean(key, func(f *flag.Flag) { f.Definition.Schedule.EndsAt = time.Now().Add(after) })
}

// ramping is a flag with a ramp of a length from now on.
func ramping(key string, length time.Duration) *flag.Flag {
	return text(key, rule(flageval.Rule{
		Serve:       rollout(50, ""),
		Progressive: &flageval.Progressive{From: 0, To: 100, StartsAt: time.Now(), EndsAt: time.Now().Add(length)},
	}))
}
