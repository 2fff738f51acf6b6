package flagapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
	"github.com/millrace/millrace/internal/tenant/website"
	"github.com/millrace/millrace/internal/testkit"
)

// asking is a host whose only route tells who asks.
func asking(t *testing.T, knows tenants, change func(*config.Limits)) *fiber.App {
	t.Helper()
	limits := config.Default().Limits
	if change != nil {
		change(&limits)
	}
	deps := knows.deps()
	deps.Limits = ratelimit.New(limits, ratelimit.Deps{Log: slog.New(slog.DiscardHandler)})
	return askingOf(deps)
}

// askingOf is asking of a host with other parts.
func askingOf(deps Deps) *fiber.App {
	h, app := New(deps), newKit()
	httpkit.Handle(app, fiber.MethodGet, "/who", func(c *fiber.Ctx) error {
		who, err := h.enter(c, c.Query("clientId"))
		if err != nil {
			return err
		}
		defer who.release(c)
		return c.SendString(fmt.Sprintf("%s %t %s", who.website.ID, who.trusted, who.principal.KeyID))
	})
	return app
}

func TestWhoAsksIsTheClientIdOrTheKey(t *testing.T) {
	t.Parallel()
	const (
		unknown = `"error":"Website not found","code":"NOT_FOUND"`
		denied  = `"error":"Access denied to this website","code":"ACCESS_DENIED"`
		noKey   = `"code":"AUTH_REQUIRED"`
	)
	app := asking(t, tenants{}, nil)
	for _, tc := range []struct {
		name, query, key string
		status           int
		want             string
	}{
		{"a client id", "clientId=public-1", "", 200, "web_1 false "},
		{"one in the grace of its rotation", "clientId=before-1", "", 200, "web_1 false "},
		{"an id is no client id", "clientId=web_1", "", 404, unknown},
		{"a client id that is no website's", "clientId=nothing", "", 404, unknown},
		{"what can be no client id", "clientId=a%20b", "", 404, unknown},
		{"a website without an organization", "clientId=public-orphan", "", 404, unknown},
		{"no client id", "", "", 400, `"details":[{"field":"clientId","message":"clientId is required"}]`},
		{"the longest client id", "clientId=" + strings.Repeat("x", 128), "", 404, unknown},
		{"one that is longer", "clientId=" + strings.Repeat("x", 129), "", 400, `"field":"clientId"`},
		{"the store is away", "clientId=down", "", 503, `"code":"SERVICE_UNAVAILABLE"`},
		{"a key with every scope", "clientId=public-1", "manager", 200, "web_1 true key_1"},
		{"a key without any", "clientId=public-1", "powerless", 200, "web_1 true key_2"},
		{"a key by the website's id", "clientId=web_1", "powerless", 200, "web_1 true key_2"},
		{"a key of the website", "clientId=web_1", "limited", 200, "web_1 true key_3"},
		{"a key of another website", "clientId=web_2", "limited", 403, denied},
		{"a key of another organization", "clientId=public-1", "foreign", 404, unknown},
		{"the same by the website's id", "clientId=web_1", "foreign", 404, unknown},
		{"a key without a website", "", "manager", 400, `"field":"clientId"`},
		{"a key about nothing", "clientId=nothing", "manager", 404, unknown},
		{"a bad key is not overlooked", "clientId=public-1", "bad", 401, noKey},
		{"a bad key before everything else", "", "bad", 401, noKey},
		{"a key from another address", "clientId=public-1", "elsewhere", 403, `"code":"IP_NOT_AUTHORIZED"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			headers := []string{"Origin", "https://elsewhere.example", "Cookie", "millrace_session=whatever"}
			if tc.key != "" {
				headers = append(headers, "X-Api-Key", tc.key)
			}
			got := send(t, app, http.MethodGet, "/who?"+tc.query, headers...)
			if got.Status != tc.status || !strings.Contains(got.Body, tc.want) {
				t.Errorf("%d %s, want %d with %s", got.Status, got.Body, tc.status, tc.want)
			}
		})
	}
}

func TestABearerTokenIsAKeyToo(t *testing.T) {
	t.Parallel()
	app := asking(t, tenants{}, nil)
	for token, status := range map[string]int{"manager": 200, "bad": 401} {
		got := send(t, app, http.MethodGet, "/who?clientId=public-1", "Authorization", "Bearer "+token)
		if got.Status != status {
			t.Errorf("Bearer %s: %d %s, want %d", token, got.Status, got.Body, status)
		}
	}
}

// ask sends requests one after the other and returns their statuses.
func ask(t *testing.T, app *fiber.App, n int, target string, headers ...string) string {
	t.Helper()
	var all strings.Builder
	for range n {
		fmt.Fprint(&all, send(t, app, http.MethodGet, target, headers...).Status, " ")
	}
	return all.String()
}

func TestEachWebsiteAndEachKeyIsCountedByItself(t *testing.T) {
	t.Parallel()
	app := asking(t, tenants{remembered: true}, func(l *config.Limits) { l.Flags, l.FlagsAnonymous = 3, 2 })
	for _, tc := range []struct{ target, key, want string }{
		{"/who?clientId=public-1", "", "200 200 429 429 "},
		{"/who?clientId=public-2", "", "200 200 429 429 "},
		{"/who?clientId=public-1", "manager", "200 200 200 429 "},
		{"/who?clientId=public-1", "powerless", "200 200 200 429 "},
		{"/who?clientId=public-2", "throttled", "200 429 429 429 "},
	} {
		var headers []string
		if tc.key != "" {
			headers = []string{"X-Api-Key", tc.key}
		}
		if got := ask(t, app, 4, tc.target, headers...); got != tc.want {
			t.Errorf("%s with %q: %s, want %s", tc.target, tc.key, got, tc.want)
		}
	}
	got := send(t, app, http.MethodGet, "/who?clientId=public-1")
	if got.Header.Get("Retry-After") == "" || got.Header.Get("X-RateLimit-Limit") != "2" ||
		got.Header.Get("X-RateLimit-Remaining") != "0" || got.Header.Get("X-RateLimit-Reset") == "" ||
		!strings.Contains(got.Body, `"code":"RATE_LIMITED"`) || !strings.Contains(got.Body, `"limit":2,"remaining":0,`) {
		t.Errorf("the refusal is %v %s", got.Header, got.Body)
	}
}

// Whoever tries out client ids is counted by the address, and keeps none out of what is
// remembered.
func TestTryingOutClientIdsIsBounded(t *testing.T) {
	t.Parallel()
	few := func(l *config.Limits) { l.FlagsAnonymous = 2 }
	for _, tc := range []struct {
		remembered bool
		want       string
	}{{true, "200 "}, {false, "429 "}} {
		app := asking(t, tenants{remembered: tc.remembered}, few)
		if got := ask(t, app, 3, "/who?clientId=nothing"); got != "404 404 429 " {
			t.Errorf("unknown client ids: %s", got)
		}
		if got := ask(t, app, 1, "/who?clientId=public-1"); got != tc.want {
			t.Errorf("a good one afterwards, remembered %t: %s, want %s", tc.remembered, got, tc.want)
		}
	}
}

// kept is a store of the websites of these tests, and of no keys.
type kept struct{}

func (kept) KeyByHash(context.Context, [apikey.HashLen]byte) (*apikey.Key, error) {
	return nil, apikey.ErrNotFound
}

func (kept) WebsiteByID(ctx context.Context, id string) (*website.Website, error) {
	return tenants{}.FlagWebsite(ctx, id)
}

func (kept) WebsiteByClientID(ctx context.Context, id string) (*website.Website, error) {
	return tenants{}.FlagWebsite(ctx, id)
}

// What was asked for is remembered by those who know the websites.
func TestTryingOutClientIdsKeepsNoneOutOfWhatWasAskedForBefore(t *testing.T) {
	t.Parallel()
	knows := auth.New(auth.Config{FlagStale: time.Hour}, auth.Deps{Keys: kept{}, Websites: kept{}})
	t.Cleanup(knows.Close)
	limits := config.Default().Limits
	limits.FlagsAnonymous = 2
	deps := tenants{}.deps()
	deps.Websites, deps.Limits = knows, ratelimit.New(limits, ratelimit.Deps{Log: slog.New(slog.DiscardHandler)})
	app := askingOf(deps)
	if got := ask(t, app, 1, "/who?clientId=public-1"); got != "200 " {
		t.Errorf("at first: %s", got)
	}
	testkit.Eventually(t, 30*time.Second, func() error { // caches take what they were given a moment later
		w, err := knows.FlagWebsite(t.Context(), "public-1")
		if err == nil && knows.Remembered("public-1") != w {
			err = errors.New("it is not remembered")
		}
		return err
	})
	if got := ask(t, app, 3, "/who?clientId=nothing"); got != "404 404 429 " {
		t.Errorf("unknown client ids: %s", got)
	}
	if got := ask(t, app, 1, "/who?clientId=public-1"); got != "200 " {
		t.Errorf("afterwards: %s", got)
	}
}

// Places among requests under way are given back, also by what is rejected.
func TestAKeysSlotsAreGivenBack(t *testing.T) {
	t.Parallel()
	app := asking(t, tenants{}, func(l *config.Limits) { l.Concurrency = 1 })
	for _, target := range []string{"/who?clientId=public-1", "/who?clientId=nothing", "/who", "/who?clientId=public-1"} {
		if got := ask(t, app, 2, target, "X-Api-Key", "manager"); strings.Contains(got, "429") {
			t.Errorf("%s: %s", target, got)
		}
	}
}
