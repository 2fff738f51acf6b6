//go:build go1.25

package millrace

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// ours returns the stacks of goroutines that the client, or a connection of it, runs.
func ours() []string {
	buf := make([]byte, 1<<20)
	var found []string
	for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		running := strings.Contains(g, "millrace.(*queue)") || strings.Contains(g, "net/http.(*persistConn)")
		if running && !strings.Contains(g, "testing.tRunner") {
			found = append(found, g)
		}
	}
	return found
}

// TestAClientOnTheNetworkLeavesNothingBehind is not parallel: it looks at every
// goroutine there is.
func TestAClientOnTheNetworkLeavesNothingBehind(t *testing.T) { //nolint:paralleltest // see above
	var mu sync.Mutex
	got := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		events, err := eventsOf(body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		for _, e := range events {
			got[fmt.Sprint(e["eventId"])]++
		}
		mu.Unlock()
		fmt.Fprint(w, accepted.body)
	}))
	defer server.Close()
	c, err := New(goodKey, WithAPIURL(server.URL), WithLogger(slog.New(slog.DiscardHandler)), WithBatchTimeout(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	const goroutines, each = 16, 100
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for i := range each {
				id := fmt.Sprint(g, "-", i)
				for r := c.Track(t.Context(), Event{Name: "x", EventID: id}); !r.Success; r = c.Track(t.Context(),
					Event{Name: "x", EventID: id}) {
					c.Flush(t.Context())
				}
			}
		})
	}
	all.Wait()
	if r := c.Identify(t.Context(), Identity{ProfileID: "p", EventID: "identity"}); !r.Success {
		t.Errorf("%+v", r)
	}
	if b := c.Close(t.Context()); !b.Success {
		t.Errorf("%+v", b)
	}
	delete(got, "identity")
	if len(got) != goroutines*each {
		t.Errorf("%d events arrived, want %d", len(got), goroutines*each)
	}
	for id, n := range got {
		if n != 1 {
			t.Errorf("%s arrived %d times", id, n)
		}
	}
	deadline := time.Now().Add(10 * time.Second)
	for len(ours()) > 0 && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	if left := ours(); len(left) > 0 {
		t.Errorf("%d goroutines are left:\n%s", len(left), strings.Join(left, "\n\n"))
	}
}
