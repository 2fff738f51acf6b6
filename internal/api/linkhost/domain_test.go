package linkhost

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/resource/link/redirect"
)

// onDomain is a domain of an organization's own.
var onDomain = link.ServedDomain{
	ID: "dom_1", Hostname: "go.acme.example", CaseSensitive: true, RootURL: "https://acme.example/",
	NotFoundURL: "https://acme.example/missing", ExpiredURL: "https://acme.example/over",
}

// Directory implements redirect.Directory.
func (fixed) Directory() *link.Index {
	return (&link.Directory{Domains: []link.ServedDomain{onDomain}, BlockedHosts: []string{"evil.example"}}).Index()
}

func newDomainApp(t *testing.T, public string) *fiber.App {
	t.Helper()
	all := fixed{}
	for slug, l := range map[string]*link.Link{
		"Été/Vault": {URL: "https://target.example/", PasswordHash: "#pass word", Secret: []byte("a"), ForwardQuery: true},
		"a/b":       {URL: "https://target.example/", Preview: link.Preview{Title: "A title"}},
		"ü":         {URL: "https://target.example/", Preview: link.Preview{Title: "A title"}},
		"evil":      {URL: "https://www.evil.example/"},
	} {
		l.ID, l.Slug, l.Enabled, l.RedirectStatus = "lnk_"+slug, slug, true, http.StatusFound
		all[link.KeyOn(onDomain.ID, true, slug)] = l
	}
	return New(Config{Site: httpkit.Site{PublicURL: public}}, Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
		Redirects: redirect.New(redirect.Config{SharedHost: link.HostOf(public)},
			redirect.Deps{Links: all, Directory: all, Visitors: all, Passwords: all}),
	})
}

func TestADomainAnswersForItself(t *testing.T) {
	t.Parallel()
	app := newDomainApp(t, "https://go.example.com")
	const own, shared = "GO.acme.example:443", "go.example.com"
	for _, tc := range []struct {
		method, host, path string
		status             int
		location           string
	}{
		{"GET", own, "/", 302, "https://acme.example/"},
		{"HEAD", own, "/", 302, "https://acme.example/"},
		{"POST", own, "/", 303, "https://acme.example/"},
		{"GET", own, "/a%2Fb", 302, "https://target.example/"},
		{"GET", own, "/A/b", 302, "https://acme.example/missing"},
		{"GET", own, "/evil", 302, "https://acme.example/missing"},
		{"GET", own, "/robots.txt", 302, "https://acme.example/missing"},
		{"GET", own, "/health", 200, ""},
		{"PUT", own, "/a/b", 405, ""},
		{"GET", shared, "/a/b", 404, ""},
		{"GET", "other.example", "/a/b", 404, ""},
	} {
		got := ask(t, app, tc.method, tc.path, "", "Host", tc.host, "Accept", page1, "Content-Type",
			"application/x-www-form-urlencoded")
		if got.status != tc.status || got.header.Get("Location") != tc.location {
			t.Errorf("%s %s%s: %d to %q, want %d to %q",
				tc.method, tc.host, tc.path, got.status, got.header.Get("Location"), tc.status, tc.location)
		}
		if got.header.Get("Cache-Control") != "private, no-store" || got.header.Get("X-Robots-Tag") != "noindex" {
			t.Errorf("%s %s%s: headers %v", tc.method, tc.host, tc.path, got.header)
		}
	}
}

// However the visitor writes the address, the cookie is for the one that browsers write.
func TestAPasswordOpensALinkOfSeveralParts(t *testing.T) {
	t.Parallel()
	for public, secure := range map[string]bool{"https://go.example.com": true, "http://127.0.0.1:8082": false} {
		app := newDomainApp(t, public)
		const path = "/%C3%89t%C3%A9/Vault"
		got := ask(t, app, "POST", "/E%CC%81t%c3%a9/Vaul%74?a=1",
			"password=pass+word", "Host", onDomain.Hostname, "Content-Type", "application/x-www-form-urlencoded")
		if got.status != 303 || got.header.Get("Location") != path+"?a=1" {
			t.Fatalf("%d to %q", got.status, got.header.Get("Location"))
		}
		cookies := (&http.Response{Header: got.header}).Cookies()
		if len(cookies) != 1 || cookies[0].Path != path || cookies[0].Secure != secure || cookies[0].Domain != "" {
			t.Fatalf("cookies %v", got.header["Set-Cookie"])
		}
		got = ask(t, app, "GET", path+"?a=1", "", "Host", onDomain.Hostname, "Cookie", cookies[0].Name+"="+cookies[0].Value)
		if got.status != 302 || got.header.Get("Location") != "https://target.example/?a=1" {
			t.Errorf("%d to %q", got.status, got.header.Get("Location"))
		}
	}
}

func TestAPreviewNamesTheAddressOnTheDomain(t *testing.T) {
	t.Parallel()
	app := newDomainApp(t, "https://go.example.com")
	for path, want := range map[string]string{
		"/a/b": "https://go.acme.example/a/b", "/ü": "https://go.acme.example/%C3%BC",
	} {
		got := ask(t, app, "GET", path, "", "Host", onDomain.Hostname, "User-Agent", "facebookexternalhit/1.1")
		if !strings.Contains(got.body, `<meta property="og:url" content="`+want+`">`) {
			t.Errorf("%s: %d: without %s:\n%s", path, got.status, want, got.body)
		}
	}
}
