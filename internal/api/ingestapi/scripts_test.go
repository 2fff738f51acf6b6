package ingestapi

import (
	"bytes"
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/web/tracker"
)

// fetched is what a test sees of a response.
type fetched struct {
	status int
	header http.Header
	length int64
	body   string
}

// fetch asks the host for a file of the tracker, as a page of another origin does.
func fetch(t *testing.T, method, path string, header ...string) fetched {
	t.Helper()
	app := New(Config{}, Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
	req := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
	req.Header.Set("Origin", "https://shop.example.com")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := app.Test(req, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fetched{resp.StatusCode, resp.Header, resp.ContentLength, string(raw)}
}

func TestTheTrackerIsServedByNameAndByHash(t *testing.T) {
	t.Parallel()
	for _, f := range tracker.Current() {
		for path, cached := range map[string]string{
			"/" + f.Name:   "public, max-age=3600, must-revalidate",
			"/" + f.Hashed: "public, max-age=31536000, immutable",
			// Not known, such as a newer release's: the current one, asked for anew.
			"/" + strings.TrimSuffix(f.Name, ".js") + ".0123456789abcdef.js": "no-cache",
		} {
			got := fetch(t, http.MethodGet, path)
			if got.status != http.StatusOK || got.body != string(f.Content) {
				t.Errorf("%s: %d with %d bytes, want %d", path, got.status, len(got.body), len(f.Content))
			}
			for name, want := range map[string]string{
				"Cache-Control": cached, "Content-Type": "text/javascript; charset=utf-8", "Access-Control-Allow-Origin": "*",
				"Access-Control-Allow-Credentials": "", "Cross-Origin-Resource-Policy": "cross-origin", "Vary": "Accept-Encoding",
				"X-Content-Type-Options": "nosniff",
			} {
				if got := got.header.Get(name); got != want {
					t.Errorf("%s: %s is %q, want %q", path, name, got, want)
				}
			}
		}
	}
}

func TestWhatIsNoFileOfTheTrackerIsNotFound(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"/tracker.0123456789abcde.js", "/tracker.0123456789abcdef0.js", "/tracker.0123456789ABCDEF.js", "/tracker.a.b.js",
		"/tracker", "/tracker.js.map", "/tracker-extra.x.js",
	} {
		if got := fetch(t, http.MethodGet, path); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.status)
		}
	}
}

func TestTheTrackerIsSentInTheCodingThatTheBrowserReads(t *testing.T) {
	t.Parallel()
	for accepted, want := range map[string]string{
		"gzip, deflate, br, zstd": "br", "gzip, deflate": "gzip", "gzip;q=1.0, br;q=0": "gzip", "BR ; q=0.5": "br",
		"identity": "", "": "", "*": "", "gzip;q=0.000": "", "brotli": "",
	} {
		got := fetch(t, http.MethodGet, "/tracker.js", "Accept-Encoding", accepted)
		if coding := got.header.Get("Content-Encoding"); coding != want {
			t.Errorf("%q: coding %q, want %q", accepted, coding, want)
			continue
		}
		plain := io.Reader(strings.NewReader(got.body))
		switch want {
		case "br":
			plain = brotli.NewReader(plain)
		case "gzip":
			z, err := gzip.NewReader(plain)
			if err != nil {
				t.Fatal(err)
			}
			plain = z
		}
		script, err := io.ReadAll(plain)
		if err != nil || !bytes.Equal(script, tracker.Script().Content) {
			t.Errorf("%q: %d bytes, error %v", accepted, len(script), err)
		}
	}
}

func TestTheTrackerIsNotSentAgainToWhoHasIt(t *testing.T) {
	t.Parallel()
	etag := fetch(t, http.MethodGet, "/tracker.js").header.Get("ETag")
	for given, want := range map[string]int{
		etag: http.StatusNotModified, strings.TrimPrefix(etag, "W/"): http.StatusNotModified,
		`"x", ` + etag: http.StatusNotModified,
		"*":            http.StatusNotModified, `"x"`: http.StatusOK, "": http.StatusOK,
	} {
		got := fetch(t, http.MethodGet, "/tracker.js", "If-None-Match", given)
		if got.status != want || (want == http.StatusNotModified && got.body != "") {
			t.Errorf("If-None-Match %s: %d with %d bytes, want %d", given, got.status, len(got.body), want)
		}
	}
	head := fetch(t, http.MethodHead, "/tracker.js")
	if head.status != http.StatusOK || head.body != "" || head.length != int64(len(tracker.Script().Content)) {
		t.Errorf("HEAD: %d, length %d, %d bytes", head.status, head.length, len(head.body))
	}
}

func TestAFileOfAnEarlierReleaseIsServedAsItWas(t *testing.T) {
	t.Parallel()
	old := &tracker.File{Name: "tracker.js", Hashed: "tracker.00112233445566aa.js", Content: []byte("old")}
	s := newScripts(tracker.Current(), []*tracker.File{old})
	if a := s.find("/" + old.Hashed); a == nil || string(a.plain) != "old" || a.cached != byHash {
		t.Errorf("found %+v", a)
	}
	if a := s.find("/tracker.js"); !bytes.Equal(a.plain, tracker.Script().Content) {
		t.Error("an old file has taken the name of the current one")
	}
}
