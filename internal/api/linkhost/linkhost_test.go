package linkhost

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/pipeline/enrich"
	"github.com/millrace/millrace/internal/platform/fair"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/resource/link/redirect"
)

const page1 = "text/html,application/xhtml+xml,*/*;q=0.8"

// fixed has the same few links for everybody.
type fixed map[string]*link.Link

// Find implements redirect.Links. The slug "away" cannot be looked for.
func (f fixed) Find(_ context.Context, key []byte, _ time.Time, to *link.Served) error {
	if string(key) == "away" {
		return apierr.New(apierr.ServiceUnavailable)
	}
	l := f[string(key)]
	if l == nil {
		return link.ErrNotFound
	}
	*to = *l.Served()
	return nil
}

// Verify implements redirect.Passwords.
func (fixed) Verify(_ context.Context, _ fair.Owner, hash, password string) (bool, error) {
	return hash == "#"+password, nil
}

// Visitor implements redirect.Visitors.
func (fixed) Visitor(_ netip.Addr, userAgent []byte) enrich.Visitor {
	a := &enrich.Agent{}
	if strings.HasPrefix(string(userAgent), "facebookexternalhit") {
		a.BotKind = enrich.BotPreview
	}
	return enrich.Visitor{Agent: a}
}

var links = fixed{
	"plain": {Slug: "plain", URL: "https://target.example/a?b=1#c", ForwardQuery: true},
	"kept":  {Slug: "kept", URL: "https://target.example/", RedirectStatus: 301},
	"old":   {Slug: "old", URL: "https://target.example/", ExpiresAt: time.Unix(1, 0)},
	"vault": {
		Slug: "vault", URL: "https://target.example/", PasswordHash: "#pass word", Secret: []byte("a"), ForwardQuery: true,
	},
	"shown": {
		Slug:    "shown",
		URL:     "https://target.example/",
		Preview: link.Preview{Title: `A "title" <b>`, Description: "It's", ImageURL: "https://img.example/a.png?b&c"},
	},
	"wasoff": {Slug: "wasoff", URL: "https://target.example/"},
}

func newApp(t *testing.T, change func(*Config)) *fiber.App {
	t.Helper()
	cfg := Config{Site: httpkit.Site{PublicURL: "https://go.example.com"}}
	if change != nil {
		change(&cfg)
	}
	return New(cfg, Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
		Redirects: redirect.New(redirect.Config{}, redirect.Deps{Links: served(), Visitors: links, Passwords: links}),
	})
}

// served are the links as they are stored.
func served() fixed {
	all := fixed{}
	for slug, l := range links {
		is := *l
		is.ID, is.Enabled = "lnk_"+slug, slug != "wasoff"
		if is.RedirectStatus == 0 {
			is.RedirectStatus = 302
		}
		all[slug] = &is
	}
	return all
}

// response is what a test sees of a response.
type response struct {
	status int
	header http.Header
	body   string
}

func ask(t *testing.T, app *fiber.App, method, path, body string, header ...string) response {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	resp, err := app.Test(req, -1)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return response{resp.StatusCode, resp.Header, string(text)}
}

func TestEachRequestHasItsResponse(t *testing.T) {
	t.Parallel()
	const asForm = "application/x-www-form-urlencoded"
	app := newApp(t, nil)
	for _, tc := range []struct {
		method, path, accept string
		body, agent          string
		status               int
		location, code       string
		allow, title         string
	}{
		{method: "GET", path: "/plain", status: 302, location: "https://target.example/a?b=1#c"},
		{method: "HEAD", path: "/plain?x=y&qr=1", status: 302, location: "https://target.example/a?b=1&x=y#c"},
		{method: "GET", path: "/PL%61in", status: 302, location: "https://target.example/a?b=1#c"},
		{method: "GET", path: "/kept?x=y", status: 301, location: "https://target.example/"},
		{method: "GET", path: "/pl%2561in", status: 404, code: "NOT_FOUND"},
		{method: "GET", path: "/plain/", status: 404, code: "NOT_FOUND"},
		{method: "GET", path: "/nothing", status: 404, code: "NOT_FOUND"},
		{method: "GET", path: "/nothing", accept: page1, status: 404, title: "Link not found"},
		{method: "HEAD", path: "/nothing", accept: page1, status: 404},
		{method: "GET", path: "/wasoff", accept: page1, status: 404, title: "Link not found"},
		{method: "GET", path: "/", accept: page1, status: 404, title: "Link not found"},
		{method: "GET", path: "/robots.txt", status: 404, code: "NOT_FOUND"},
		{method: "GET", path: "/favicon.ico", status: 404, code: "NOT_FOUND"},
		{method: "GET", path: "/.well-known/security.txt", status: 404, code: "NOT_FOUND"},
		{method: "GET", path: "/old", status: 410, code: "GONE"},
		{method: "GET", path: "/old", accept: page1, status: 410, title: "Link expired"},
		{method: "GET", path: "/away", status: 503, code: "SERVICE_UNAVAILABLE"},
		{method: "GET", path: "/away", accept: page1, status: 503, title: "Not available now"},
		{method: "GET", path: "/health", status: 200},
		{method: "PUT", path: "/plain", status: 405, code: "METHOD_NOT_ALLOWED", allow: "GET, HEAD, POST"},
		{method: "OPTIONS", path: "/plain", status: 405, code: "METHOD_NOT_ALLOWED", allow: "GET, HEAD, POST"},
		{method: "PURGE", path: "/plain", status: 405, code: "METHOD_NOT_ALLOWED", allow: "GET, HEAD, POST"},
		{method: "DELETE", path: "/a/b", accept: page1, status: 405, title: "Not possible", allow: "GET, HEAD, POST"},
		{method: "POST", path: "/plain", body: "password=a", status: 405, code: "METHOD_NOT_ALLOWED", allow: "GET, HEAD"},
		{method: "GET", path: "/vault", status: 200, title: "This link is protected"},
		{method: "HEAD", path: "/vault", accept: page1, status: 200},
		{method: "GET", path: "/vault", accept: "application/json", status: 403, code: "FORBIDDEN"},
		{method: "POST", path: "/vault", accept: page1, body: "password=wrong", status: 403, title: "This link is protected"},
		{method: "POST", path: "/vault", body: "password=wrong", status: 403, code: "FORBIDDEN"},
		{method: "POST", path: "/vault", body: strings.Repeat("a", bodyLimit+1), status: 413, code: "PAYLOAD_TOO_LARGE"},
		{
			method:   "POST",
			path:     "/vault",
			body:     "password=pass+word&x=" + strings.Repeat("a", bodyLimit-len("password=pass+word&x=")),
			status:   303,
			location: "/vault",
		},
		{method: "GET", path: "/shown", status: 302, location: "https://target.example/"},
		{method: "GET", path: "/shown", agent: "facebookexternalhit/1.1", status: 200, title: "A &#34;title&#34; &lt;b&gt;"},
	} {
		t.Run(tc.method+" "+tc.path+" "+strconv.Itoa(tc.status), func(t *testing.T) {
			t.Parallel()
			got := ask(t, app, tc.method, tc.path, tc.body, "Accept", tc.accept, "User-Agent", tc.agent, "Content-Type", asForm)
			if got.status != tc.status || got.header.Get("Location") != tc.location || got.header.Get("Allow") != tc.allow {
				t.Errorf("%d to %q, allowed %q\n%s", got.status, got.header.Get("Location"), got.header.Get("Allow"), got.body)
			}
			if got.header.Get("Cache-Control") != "private, no-store" || got.header.Get("X-Robots-Tag") != "noindex" {
				t.Errorf("headers %v", got.header)
			}
			if tc.status != 200 && tc.status >= 300 && tc.status < 400 && got.header.Get("Referrer-Policy") != "" {
				t.Error("a redirect changes the referrer policy")
			}
			checkBody(t, got, tc.code, tc.title)
			if tc.method == "HEAD" && got.body != "" {
				t.Errorf("a body: %s", got.body)
			}
		})
	}
}

// checkBody checks for an error with a code, or a page with a title.
func checkBody(t *testing.T, got response, code, title string) {
	t.Helper()
	var body struct {
		Success   bool   `json:"success"`
		Status    string `json:"status"`
		Code      string `json:"code"`
		Message   string `json:"message"`
		Error     string `json:"error"`
		Retryable bool   `json:"retryable"`
		RequestID string `json:"requestId"`
		Fix       string `json:"fix"`
	}
	switch {
	case code != "":
		if err := json.Unmarshal([]byte(got.body), &body); err != nil {
			t.Fatalf("%v: %s", err, got.body)
		}
		if body.Code != code || body.Status != "error" || body.Message == "" ||
			body.Message != body.Error || body.Fix != "" ||
			body.RequestID != got.header.Get("X-Request-Id") || body.Retryable != (got.status == 503) {
			t.Errorf("body %+v", body)
		}
	case title != "":
		if got.header.Get("Content-Type") != "text/html; charset=utf-8" ||
			!strings.Contains(got.body, "<title>"+title+"</title>") {
			t.Errorf("%s: %s", got.header.Get("Content-Type"), got.body)
		}
	}
	if got.status == 503 && got.header.Get("Retry-After") != "5" {
		t.Errorf("Retry-After %q", got.header.Get("Retry-After"))
	}
}

func TestAPasswordIsGivenOnce(t *testing.T) {
	t.Parallel()
	for url, secure := range map[string]bool{"https://go.example.com": true, "http://127.0.0.1:8082": false} {
		app := newApp(t, func(c *Config) { c.Site.PublicURL = url })
		got := ask(t, app, "POST", "/v%61ulT?a=1&qr=1", "password=pass%20word",
			"Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
		if got.status != 303 || got.header.Get("Location") != "/vaulT?a=1&qr=1" {
			t.Fatalf("%d to %q", got.status, got.header.Get("Location"))
		}
		cookies := (&http.Response{Header: got.header}).Cookies()
		if len(cookies) != 1 {
			t.Fatalf("cookies %v", got.header["Set-Cookie"])
		}
		c := cookies[0]
		if c.Path != "/vaulT" || c.MaxAge != 3600 || !c.HttpOnly || c.Secure != secure || c.SameSite != http.SameSiteLaxMode {
			t.Errorf("cookie %v", c)
		}
		got = ask(t, app, "GET", "/vaulT?a=1&qr=1", "", "Cookie", c.Name+"="+c.Value)
		if got.status != 302 || got.header.Get("Location") != "https://target.example/?a=1" {
			t.Errorf("%d to %q", got.status, got.header.Get("Location"))
		}
	}
}

func TestTooManyPasswordsAreToldToWait(t *testing.T) {
	t.Parallel()
	app := newApp(t, nil)
	try := func(accept string) response {
		return ask(t, app, "POST", "/vault", "password=x", "Content-Type",
			"application/x-www-form-urlencoded", "Accept", accept)
	}
	for range redirect.MaxPasswords {
		if got := try(page1); got.status != 403 || !strings.Contains(got.body, `role="alert"`) ||
			!strings.Contains(got.body, "<form") {
			t.Fatalf("%d: %s", got.status, got.body)
		}
	}
	for accept, want := range map[string]string{page1: "Too many attempts", "": `"code":"RATE_LIMITED"`} {
		got := try(accept)
		if wait, err := strconv.Atoi(got.header.Get("Retry-After")); got.status != 429 || err != nil || wait < 1 ||
			wait > 60 || !strings.Contains(got.body, want) {
			t.Errorf("%d after %q: %s", got.status, got.header.Get("Retry-After"), got.body)
		}
	}
}

func TestPagesRunNothing(t *testing.T) {
	t.Parallel()
	app := newApp(t, nil)
	for _, got := range []response{
		ask(t, app, "GET", "/vault", "", "Accept", page1),
		ask(t, app, "GET", "/nothing", "", "Accept", page1),
		ask(t, app, "GET", "/shown", "", "User-Agent", "facebookexternalhit/1.1"),
	} {
		if csp := got.header.Get("Content-Security-Policy"); csp != policy || !strings.Contains(csp, "default-src 'none'") ||
			strings.Contains(csp, "unsafe") {
			t.Errorf("policy %q", csp)
		}
		if got.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("headers %v", got.header)
		}
		_, rest, _ := strings.Cut(got.body, "<style>")
		if css, _, _ := strings.Cut(rest, "</style>"); css != style {
			t.Errorf("the policy is of another style than %q", css)
		}
		if strings.Contains(got.body, "<script") || strings.Contains(got.body, "style=") {
			t.Error(got.body)
		}
	}
}

func TestAPreviewShowsWhatTheOwnerWrote(t *testing.T) {
	t.Parallel()
	got := ask(t, newApp(t, nil), "GET", "/shown", "", "User-Agent", "facebookexternalhit/1.1", "Accept", "*/*")
	for _, tag := range []string{
		`<meta property="og:title" content="A &#34;title&#34; &lt;b&gt;">`,
		`<meta property="og:description" content="It&#39;s">`,
		`<meta property="og:image" content="https://img.example/a.png?b&amp;c">`,
		`<meta property="og:url" content="https://go.example.com/shown">`,
		`<meta name="twitter:card" content="summary_large_image">`,
	} {
		if !strings.Contains(got.body, tag) {
			t.Errorf("without %s:\n%s", tag, got.body)
		}
	}
	if strings.Contains(got.body, "target.example") {
		t.Error("the target is told")
	}
}
