package httpkit

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
)

const (
	api     = "https://api.example"
	console = "https://app.example"
)

func TestOnlyPagesOfOurOwnMayCallWithACookie(t *testing.T) {
	t.Parallel()
	site := Site{PublicURL: api, Origins: []string{console}}
	plain := Site{}
	for _, tc := range []struct {
		name          string
		site          *Site
		origin, fetch string
		admitted      bool
	}{
		{"no page", &site, "", "", true},
		{"the host's own page", &site, api, "same-origin", true},
		{"an old browser on the host's own page", &site, api, "", true},
		{"a named origin", &site, console, "same-site", true},
		{"an old browser on a named origin", &site, console, "", true},
		{"typed by the person", &site, "", "none", true},
		{"the host asked by another of its names", &site, "http://ingest.example", "same-origin", true},
		{"another site", &site, "https://evil.example", "cross-site", false},
		{"an old browser on another site", &site, "https://evil.example", "", false},
		{"a neighbour", &site, "https://blog.example", "same-site", false},
		{"a page without an origin", &site, "null", "cross-site", false},
		{"an old browser on a page without an origin", &site, "null", "", false},
		{"a page that hides its origin", &site, "", "cross-site", false},
		{"a word that no browser says", &site, "", "whatever", false},
		{"the host without encryption", &site, "http://api.example", "cross-site", false},
		{"an origin that only begins like ours", &site, console + ".evil.example", "", false},
		{"the asked host, without a public address", &plain, "http://ingest.example", "", false},
		{"no page, without a public address", &plain, "", "", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			app := newApp(t, Config{Host: Query})
			Handle(app, "POST", "/change", func(c *fiber.Ctx) error { return tc.site.CheckOrigin(c) })
			header := map[string]string{}
			if tc.origin != "" {
				header["Origin"] = tc.origin
			}
			if tc.fetch != "" {
				header["Sec-Fetch-Site"] = tc.fetch
			}
			got := do(t, app, http.MethodPost, "/change", header, "")
			if admitted := got.status == http.StatusOK; admitted != tc.admitted {
				t.Errorf("admitted %t: %d %s", admitted, got.status, got.body)
			}
			if !tc.admitted && !strings.Contains(got.body, string(apierr.Forbidden)) {
				t.Errorf("refused with %s", got.body)
			}
		})
	}
}

func TestOnlyPagesOfOurOwnMayReadTheQueryHostsAnswers(t *testing.T) {
	t.Parallel()
	app := newApp(t, Config{Host: Query, Site: Site{PublicURL: api, Origins: []string{console}}})
	for _, tc := range []struct {
		name, method, origin string
		status               int
		allowed              string
	}{
		{"a named origin", "GET", console, 200, console},
		{"the host's own", "GET", api, 200, api},
		{"a preflight", "OPTIONS", console, 204, console},
		{"an error", "DELETE", console, 405, console},
		{"no page", "GET", "", 200, ""},
		{"another site", "GET", "https://evil.example", 200, ""},
		{"a preflight of another site", "OPTIONS", "https://evil.example", 405, ""},
		{"a page without an origin", "GET", "null", 200, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := do(t, app, tc.method, "/health", map[string]string{"Origin": tc.origin}, "")
			credentials := ""
			if tc.allowed != "" {
				credentials = "true"
			}
			want := []string{tc.allowed, credentials, "Origin"}
			have := []string{
				got.header.Get("Access-Control-Allow-Origin"), got.header.Get("Access-Control-Allow-Credentials"),
				got.header.Get("Vary"),
			}
			if diff := cmp.Diff(want, have); diff != "" || got.status != tc.status {
				t.Errorf("%d (-want +got):\n%s", got.status, diff)
			}
		})
	}
}

func TestTheSessionsCookieIsOnlyForThisHostAndNoScript(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		site   Site
		token  string
		cookie string
	}{
		{Site{PublicURL: api}, "abc", "__Host-millrace_session=abc; Path=/; Max-Age=7200; HttpOnly; Secure; SameSite=Lax"},
		{Site{PublicURL: api}, "", "__Host-millrace_session=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax"},
		{Site{}, "abc", "millrace_session=abc; Path=/; Max-Age=7200; HttpOnly; SameSite=Lax"},
		{
			Site{PublicURL: "http://127.0.0.1:8080"},
			"abc", "millrace_session=abc; Path=/; Max-Age=7200; HttpOnly; SameSite=Lax",
		},
	} {
		app := newApp(t, Config{Host: Query, Site: tc.site})
		Handle(app, "POST", "/in", func(c *fiber.Ctx) error {
			tc.site.SetSession(c, tc.token, 2*time.Hour)
			return c.SendString(tc.site.SessionToken(c))
		})
		got := do(t, app, http.MethodPost, "/in",
			map[string]string{"Cookie": "a=b; " + tc.site.CookieName() + "=xyz; c=d"}, "")
		if set := got.header.Get("Set-Cookie"); set != tc.cookie || got.body != "xyz" {
			t.Errorf("%+v: Set-Cookie %q, want %q; read %q", tc.site, set, tc.cookie, got.body)
		}
	}
}

func TestTheChallengeNamesThePublicAddress(t *testing.T) {
	t.Parallel()
	app := newApp(t, Config{Host: Query, Site: Site{PublicURL: api}})
	Handle(app, "GET", "/closed", func(*fiber.Ctx) error { return apierr.New(apierr.AuthRequired) })
	got := do(t, app, http.MethodGet, "/closed", nil, "").header.Get("WWW-Authenticate")
	if want := `Bearer resource_metadata="` + api + `/.well-known/oauth-protected-resource"`; got != want {
		t.Errorf("WWW-Authenticate: %s, want %s", got, want)
	}
}
