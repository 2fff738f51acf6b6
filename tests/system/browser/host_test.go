package browser

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/web/tracker"
)

// serve serves a handler on a free port of the loopback and returns the address
// under a name of it.
func serve(t *testing.T, name string, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return "http://" + name + ":" + port
}

// item is one event as it was sent.
type item = map[string]any

// request is one request of a tracker.
type request struct {
	path, query, origin, contentType string
	items                            []item
	array                            bool
}

// recorder is an ingestion host that keeps what it is sent, and answers as it is told.
type recorder struct {
	url string

	mu       sync.Mutex
	requests []request
	spoiled  bool
	// response is the status for a request; 0 ends its connection without one, silence
	// gives none.
	response func(request) (status int, retryAfter string)
	spoke    chan struct{}
}

// silence is for a request that is answered 200 when the host speaks again, or never.
const silence = -1

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{spoke: make(chan struct{})}
	r.url = serve(t, "in.example.net", r)
	t.Cleanup(r.speak)
	return r
}

// speak ends all silence.
func (r *recorder) speak() {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.spoke:
	default:
		close(r.spoke)
	}
}

// respondWith has all requests answered by a function from now on; nil is 200.
func (r *recorder) respondWith(fn func(request) (status int, retryAfter string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.response = fn
}

// ServeHTTP serves the tracker's files and takes its events.
func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", cmp.Or(req.Header.Get("Origin"), "*"))
	w.Header().Set("Access-Control-Expose-Headers", "Retry-After")
	if req.Method == http.MethodGet {
		r.serveScript(w, req)
		return
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	got := request{
		path:        req.URL.Path,
		query:       req.URL.RawQuery,
		origin:      req.Header.Get("Origin"),
		contentType: req.Header.Get("Content-Type"),
	}
	if got.array = strings.HasPrefix(string(body), "["); got.array {
		err = json.Unmarshal(body, &got.items)
	} else {
		got.items = []item{{}}
		err = json.Unmarshal(body, &got.items[0])
	}
	status, retryAfter := http.StatusOK, ""
	r.mu.Lock()
	r.requests = append(r.requests, got)
	if r.response != nil {
		status, retryAfter = r.response(got)
	}
	r.mu.Unlock()
	switch {
	case err != nil || req.Method != http.MethodPost:
		w.WriteHeader(http.StatusTeapot)
	case status == 0:
		panic(http.ErrAbortHandler) //nolint:forbidigo // how net/http is told to end a connection
	case status == silence:
		select {
		case <-r.spoke:
		case <-req.Context().Done(): // the caller is gone
		}
	default:
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(status)
	}
}

// spoil has the second file be another one than the first was built with.
func (r *recorder) spoil() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spoiled = true
}

func (r *recorder) serveScript(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	spoiled := r.spoiled
	r.mu.Unlock()
	for _, f := range tracker.Current() {
		if name := strings.TrimPrefix(req.URL.Path, "/"); name == f.Name || name == f.Hashed {
			w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
			if spoiled && f.Name == tracker.ExtraName {
				fmt.Fprint(w, "window.spoiled = true;")
			}
			w.Write(f.Content)
			return
		}
	}
	w.WriteHeader(http.StatusNotFound)
}

// all returns the requests until now.
func (r *recorder) all() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.requests)
}

// events returns the events of a path until now, each id once, in the order of their
// times: requests overtake each other.
func (r *recorder) events(path string) []item {
	var events []item
	seen := map[any]bool{}
	for _, req := range r.all() {
		if req.path != path {
			continue
		}
		for _, e := range req.items {
			if !seen[e["eventId"]] {
				seen[e["eventId"]] = true
				events = append(events, e)
			}
		}
	}
	at := func(e item) float64 {
		ms, _ := e["timestamp"].(float64)
		return ms
	}
	slices.SortStableFunc(events, func(a, b item) int { return cmp.Compare(at(a), at(b)) })
	return events
}

// pages returns the events of /batch with a name.
func (r *recorder) pages(name string) []item {
	return slices.DeleteFunc(r.events("/batch"), func(e item) bool { return e["name"] != name })
}

// eventually waits until a list has so many entries and returns it.
func eventually[T any](t *testing.T, n int, list func() []T) []T {
	t.Helper()
	var got []T
	testkit.Eventually(t, within, func() error {
		if got = list(); len(got) < n {
			return fmt.Errorf("%d of %d came", len(got), n)
		}
		return nil
	})
	if len(got) > n {
		t.Fatalf("%d came instead of %d: %v", len(got), n, got)
	}
	return got
}

// site is a website whose pages carry a tag.
type site struct {
	url string
	// header is sent with each page.
	header http.Header
}

// newSite serves pages with a tag in their head. What a page is, is in its address:
// "?tall" has it scroll.
func newSite(t *testing.T, tag string) *site {
	t.Helper()
	s := &site{header: http.Header{}}
	s.url = serve(t, "shop.example.com", http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/favicon.ico" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		maps.Copy(w.Header(), s.header)
		height := ""
		if req.URL.Query().Has("tall") {
			height = ` style="height:4000px"`
		}
		fmt.Fprintf(w, `<!doctype html><html lang="en"><head><title>Page %s</title>%s</head><body%s><h1>Shop</h1>
<p><a id="inside" href="/inside">inside</a> <a id="www" href="http://www.shop.example.com:1/">inside too</a></p>
<p><a id="out" href="http://partner.example.net:1/deal" target="_blank"> Our <b>partner</b> </a></p>
<p><a id="file" href="http://files.example.net:1/list.pdf" download>list</a> <a id="mail" href="mailto:a@example.com">mail</a></p>
<p><button id="buy" data-track="buy" data-plan-name="pro">Buy</button> <button id="plain">Nothing</button></p>
</body></html>`, html.EscapeString(req.URL.Path), tag, height)
	}))
	return s
}

// tag is a tag for the recorder with further attributes.
func (r *recorder) tag(attributes string) string {
	return `<script async src="` + r.url + `/tracker.js" data-client-id="web_1" data-batch-timeout="200" ` +
		attributes + `></script>`
}
