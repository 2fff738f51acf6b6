package flagapi

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/api/httpkit"
)

func TestTheSameResultIsAnswered304(t *testing.T) {
	t.Parallel()
	at := now
	flags := testFlags()
	app := mounted(t, flags, func(d *Deps) { d.Now = func() time.Time { return at } })
	for _, target := range []string{evaluatePath + "?clientId=public-1&key=ruled", bulkPath + "?clientId=public-1"} {
		first := send(t, app, http.MethodGet, target)
		etag := first.Header.Get("ETag")
		if !strings.HasPrefix(etag, `W/"`) || first.Header.Get("Cache-Control") != "private, no-cache" {
			t.Fatalf("%s: %v", target, first.Header)
		}
		at = at.Add(time.Minute)
		strong := strings.TrimPrefix(etag, "W/")
		for _, header := range []string{etag, strong, `"x", ` + etag, `"x",` + strong, "*"} {
			got := send(t, app, http.MethodGet, target, "If-None-Match", header)
			if got.Status != http.StatusNotModified || got.Body != "" || got.Header.Get("ETag") != etag ||
				got.Header.Get("Cache-Control") != "private, no-cache" || got.Header.Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("%s with %s: %d %v %q", target, header, got.Status, got.Header, got.Body)
			}
		}
		got := send(t, app, http.MethodGet, target, "If-None-Match", `"x"`)
		if got.Status != http.StatusOK || got.Body == "" {
			t.Errorf("%s with another ETag: %d %s", target, got.Status, got.Body)
		}
		other := send(t, app, http.MethodGet, target+`&properties=%7B%22plan%22%3A%22pro%22%7D`, "If-None-Match", etag)
		if other.Status != http.StatusOK || other.Header.Get("ETag") == etag {
			t.Errorf("%s for somebody else: %d %v", target, other.Status, other.Header)
		}
	}
}

func TestPagesOfEverySiteMayAsk(t *testing.T) {
	t.Parallel()
	site := httpkit.Site{PublicURL: "https://api.example", Origins: []string{"https://app.example"}}
	app := httpkit.New(httpkit.Config{Host: httpkit.Query, Site: site, Open: Elsewhere},
		httpkit.Deps{Log: tenants{}.deps().Log, Metrics: tenants{}.deps().Metrics})
	Mount(app, tenants{set: testSet(t, testFlags())}.deps())
	for _, r := range Routes {
		for _, tc := range []struct{ method, query, origin, allowed string }{
			{http.MethodGet, "?clientId=public-1&key=nav", "https://elsewhere.example", "*"},
			{http.MethodGet, "?clientId=public-1&key=nav", "", "*"},
			{http.MethodGet, "?clientId=nothing", "https://elsewhere.example", "*"},
			{http.MethodGet, "?clientId=nothing", "https://app.example", "https://app.example"},
			{http.MethodOptions, "", "https://elsewhere.example", "*"},
			{http.MethodOptions, "", "https://app.example", "https://app.example"},
			{http.MethodOptions, "", "https://api.example", "https://api.example"},
		} {
			got := send(t, app, tc.method, r.Path+tc.query, "Origin", tc.origin)
			if got.Header.Get("Access-Control-Allow-Origin") != tc.allowed {
				t.Errorf("%s %s from %q: %d %v", tc.method, r.Path, tc.origin, got.Status, got.Header)
			}
			for _, name := range []string{"ETag", "Retry-After"} {
				if tc.method == http.MethodGet && !strings.Contains(got.Header.Get("Access-Control-Expose-Headers"), name) {
					t.Errorf("%s %s from %q does not show %s", tc.method, r.Path, tc.origin, name)
				}
			}
			if tc.method != http.MethodOptions {
				continue
			}
			for _, name := range []string{"Content-Type", "Authorization", "X-Api-Key", "If-None-Match"} {
				if !strings.Contains(got.Header.Get("Access-Control-Allow-Headers"), name) || got.Status != http.StatusNoContent {
					t.Errorf("%s from %q does not take %s: %d", r.Path, tc.origin, name, got.Status)
				}
			}
			for _, method := range []string{"GET", "POST"} {
				if !strings.Contains(got.Header.Get("Access-Control-Allow-Methods"), method) {
					t.Errorf("%s from %q does not take %s", r.Path, tc.origin, method)
				}
			}
		}
	}
}

func TestPagesOfEverySiteMayReadWhatNoRouteAnswers(t *testing.T) {
	t.Parallel()
	app := mounted(t, testFlags())
	for _, tc := range []struct {
		method, target string
		want           int
	}{
		{http.MethodGet, prefix + "/nothing", http.StatusNotFound},
		{http.MethodDelete, evaluatePath, http.StatusMethodNotAllowed},
		{http.MethodGet, ofrepPath, http.StatusMethodNotAllowed},
		{http.MethodOptions, prefix + "/nothing", http.StatusNoContent},
	} {
		got := send(t, app, tc.method, tc.target, "Origin", "https://elsewhere.example")
		if got.Status != tc.want || got.Header.Get("Access-Control-Allow-Origin") != "*" ||
			!strings.Contains(got.Header.Get("Access-Control-Expose-Headers"), "Retry-After") {
			t.Errorf("%s %s: %d %v, want %d", tc.method, tc.target, got.Status, got.Header, tc.want)
		}
	}
}

func TestWhatCanBeGotCanBeAskedForByHead(t *testing.T) {
	t.Parallel()
	app := mounted(t, testFlags())
	got := send(t, app, fiber.MethodHead, evaluatePath+"?clientId=public-1&key=nav")
	if got.Status != http.StatusOK || got.Body != "" || got.Header.Get("ETag") == "" {
		t.Errorf("%d %v %q", got.Status, got.Header, got.Body)
	}
}
