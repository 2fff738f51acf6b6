package flagapi

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/website"
)

// now is when these tests take place.
var now = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// keys are the API keys of these tests by their secret.
var keys = map[string]auth.Principal{
	"manager":   {Kind: auth.KindKey, OrganizationID: "org_1", KeyID: "key_1", Scopes: auth.AllScopes()},
	"powerless": {Kind: auth.KindKey, OrganizationID: "org_1", KeyID: "key_2"},
	"limited":   {Kind: auth.KindKey, OrganizationID: "org_1", KeyID: "key_3", WebsiteID: "web_1"},
	"owned": {
		Kind: auth.KindKey, OrganizationID: "org_1", KeyID: "key_6", WebsiteID: "web_1", Scopes: auth.AllScopes(),
	},
	"foreign": {Kind: auth.KindKey, OrganizationID: "org_2", KeyID: "key_4", Scopes: auth.AllScopes()},
	"throttled": {
		Kind: auth.KindKey, OrganizationID: "org_1", KeyID: "key_5",
		Key: &apikey.Key{RateLimit: apikey.RateLimit{Enabled: true, Limit: 1, Window: time.Minute}},
	},
}

var websites = []website.Website{
	{
		Record: managed.Record{ID: "web_1", OrganizationID: "org_1"}, ClientID: "public-1",
		OldClientID: "before-1", OldClientIDUntil: now.Add(time.Minute),
		Settings: website.Settings{AllowedOrigins: []string{"https://shop.example"}, AllowedIPs: []string{"192.0.2.1"}},
	},
	{Record: managed.Record{ID: "web_2", OrganizationID: "org_1"}, ClientID: "public-2"},
	{Record: managed.Record{ID: "web_orphan"}, ClientID: "public-orphan"},
}

// tenants know the keys, websites and flags of these tests. Nothing is remembered but what
// remembered says.
type tenants struct {
	set        *flagset.Set
	err        error // of sets
	remembered bool
}

func (tenants) Key(ctx context.Context, secret []byte, from auth.From) (auth.Principal, error) {
	switch p, ok := keys[string(secret)]; {
	case string(secret) == "elsewhere":
		return p, from.Failed(ctx, apierr.New(apierr.IPNotAuthorized))
	case !ok:
		return p, from.Failed(ctx, apierr.New(apierr.AuthRequired))
	default:
		return p, nil
	}
}

func (t tenants) Remembered(ref string) *website.Website {
	if !t.remembered {
		return nil
	}
	w, _ := t.FlagWebsite(context.Background(), ref)
	return w
}

func (tenants) FlagWebsite(_ context.Context, ref string) (*website.Website, error) {
	if ref == "down" {
		return nil, &apierr.Error{Code: apierr.ServiceUnavailable, RetryAfter: 5 * time.Second}
	}
	for i := range websites {
		if w := &websites[i]; w.Accepts(ref, now) {
			return w, nil
		}
	}
	return nil, website.ErrNotFound
}

func (t tenants) Get(context.Context, string) (*flagset.Set, error) { return t.set, t.err }

func (t tenants) AtLeast(ctx context.Context, id string, _ flagset.Mark) (*flagset.Set, error) {
	return t.Get(ctx, id)
}

// deps are the parts of a host around tenants.
func (t tenants) deps() Deps {
	return Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Sets: t, Websites: t, Keys: t,
		Shapes: Shapes{
			Flag: func(f *flag.Flag, _ time.Time) any {
				return map[string]any{"key": f.Key(), "name": f.Name, "rules": f.Definition.Rules}
			},
			Segment: func(g *flag.Segment) any { return map[string]any{"key": g.Key()} },
		},
		Now: func() time.Time { return now },
	}
}

// newKit is an app without routes.
func newKit() *fiber.App {
	return httpkit.New(httpkit.Config{Host: httpkit.Query, Page: Page, Open: Elsewhere},
		httpkit.Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
}

// reply is a response as these tests look at it.
type reply struct {
	Status int
	Header http.Header
	Body   string
}

// send sends a request without a body; headers are names and values in turn.
func send(t *testing.T, app *fiber.App, method, target string, headers ...string) reply {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, target, http.NoBody)
	req.Header.Set("X-Request-ID", "req_1")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := app.Test(req, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(text)}
}
