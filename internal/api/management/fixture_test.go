package management_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/adapter/store/storetest"
	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/management"
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/privacy/erasure"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/idempotency"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/quota"
	"github.com/millrace/millrace/internal/tenant/session"
	"github.com/millrace/millrace/internal/tenant/website"
	"github.com/millrace/millrace/internal/testkit"
)

// fixture is a host with the operations on websites and keys over a store of its
// own, in which there are two organizations. Real keys work on it, and as
// sessions the names of roles: "owner", and "stranger" for the owner of the
// other organization.
type fixture struct {
	t          *testing.T
	app        *fiber.App
	db         *store.Store
	access     *auth.Authenticator
	keys       *countedKeys
	identifier *rpc.Identifier // of a house
	own, other *org.Organization
	dns        resolver
	clicks     struct {
		mu    sync.Mutex
		asked [][]string
		of    map[string]link.Clicks
		away  bool
	}
}

const fixturePrefix = "mlr"

func newFixture(t *testing.T) *fixture {
	t.Helper()
	db, err := store.Open(t.Context(), storetest.SQLite(t), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := &fixture{t: t, db: db}
	t.Cleanup(func() { db.Close() })
	d.own, d.other = d.organization("Own"), d.organization("Other")
	for _, token := range []string{"owner", "admin", "editor", "viewer", "stranger"} {
		d.settle(token)
	}
	d.keys = &countedKeys{KeyStore: db}
	// An hour: what is known stays known however slow the machine is. A thousand: the race
	// detector looks at each byte of a cache that ends.
	d.access = auth.New(auth.Config{
		KeyPrefix: fixturePrefix, Fresh: time.Hour, Trusted: time.Hour, Stale: time.Hour, Remembered: 1000,
	}, auth.Deps{Keys: d.keys, Websites: db})
	t.Cleanup(d.access.Close)
	d.app = httpkit.New(httpkit.Config{Host: httpkit.Query},
		httpkit.Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
	mount(t, d.app, management.Resources(d.deps()), rpc.Deps{
		Identifier: &rpc.Identifier{Keys: d.access, Sessions: d, Site: &httpkit.Site{}},
		Repeats:    idempotency.New(db, nil),
		Log:        slog.New(slog.DiscardHandler),
	})
	return d
}

// deps are the services of the fixture's operations.
func (d *fixture) deps() management.Deps {
	websites := website.NewService(d.db, nil)
	return management.Deps{
		Organizations: management.Organizations{
			Service: org.NewService("", org.Deps{Store: d.db, Invitations: d.db, Ownership: d.db, Deletions: d.db}),
			Quotas:  quota.NewService(quota.Config{}, d.db, d, nil), Websites: websites,
		},
		Websites: management.Websites{Service: websites, IngestURL: "https://in.example.com"},
		Profiles: management.Profiles{Service: erasure.NewService(d.db, nil), Websites: websites},
		APIKeys: management.APIKeys{
			Service: apikey.NewService(apikey.Config{
				Prefix: fixturePrefix, Scopes: auth.AllScopes().Strings(),
				Rate: apikey.RateLimit{Limit: 300, Window: time.Minute},
			}, d.db, nil),
			Websites: websites,
		},
		Audit: management.Audit{Entries: d.db},
		Flags: management.Flags{
			Service:  flag.NewService(flag.Caps{Flags: 20, Segments: 5}, flag.Deps{Store: d.db, Versions: d.db, Segments: d.db}),
			Websites: websites,
		},
		Links: management.Links{Clicks: d, Log: slog.New(slog.DiscardHandler), Service: link.NewService(
			link.Rules{
				Schemes:   []string{"https", "http"},
				PublicURL: "https://go.example.com",
				OwnHosts:  []string{"api.example.com"},
				MaxLinks:  3,
			},
			link.Deps{
				Store: d.db, Folders: d.db, Domains: d.db, DNS: &d.dns, Attempts: d.db,
				Passwords: org.NewPasswordsAt(org.Costs{MemoryKiB: 8, Passes: 1, Lanes: 1}),
			},
		)},
	}
}

func (d *fixture) organization(name string) *org.Organization {
	d.t.Helper()
	o, err := org.New(name, time.Now())
	if err == nil {
		err = d.db.CreateOrganization(d.t.Context(), audit.By{Actor: audit.Actor{Type: audit.System}}, o)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return o
}

// settle keeps the person of a token, their membership and their session.
func (d *fixture) settle(token string) {
	d.t.Helper()
	id, u, memberships, err := d.SignedIn(d.t.Context(), token)
	if err == nil {
		err = d.db.CreateUser(d.t.Context(), audit.BySystem(), u)
	}
	if err == nil {
		err = d.db.AddMember(d.t.Context(), audit.BySystem(), &memberships[0])
	}
	if err == nil {
		err = d.db.CreateSession(d.t.Context(), audit.BySystem(), u, &session.Session{
			ID: id, UserID: u.ID, Hash: sha256.Sum256([]byte(id)), CreatedAt: time.Now(), SeenAt: time.Now(),
			ExpiresAt: time.Now().Add(time.Hour),
		})
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// SignedIn implements auth.Sessions.
func (d *fixture) SignedIn(_ context.Context, token string) (string, *org.User, []org.Member, error) {
	user := &org.User{
		ID: "usr_" + token, Email: token + "@example.com", Name: token, PasswordHash: "none", CreatedAt: time.Now(),
		PasswordChangedAt: time.Now(),
	}
	membership := org.Member{OrganizationID: d.own.ID, UserID: user.ID, Role: org.Role(token), CreatedAt: time.Now()}
	switch token {
	case "owner", "admin", "editor", "viewer":
	case "stranger":
		membership.OrganizationID, membership.Role = d.other.ID, org.RoleOwner
	default:
		return "", nil, nil, apierr.New(apierr.AuthRequired)
	}
	return "ses_" + token, user, []org.Member{membership}, nil
}

// reply is a response.
type reply struct {
	Status int
	Header http.Header
	Text   string

	Success    bool
	Code       string
	Error      string
	Data       json.RawMessage
	Details    []struct{ Field, Message, Suggestion string }
	Pagination struct {
		NextCursor *string
		HasMore    bool
	}
}

// call makes a call as who: the token of a session, or an API key; headers are names and
// values in turns.
func (d *fixture) call(who, operation, body string, headers ...string) *reply {
	d.t.Helper()
	req := httptest.NewRequestWithContext(d.t.Context(), http.MethodPost, "/rpc/"+operation, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	if strings.HasPrefix(who, fixturePrefix+"_") {
		req.Header.Set("X-Api-Key", who)
	} else if who != "" {
		req.Header.Set("Cookie", "millrace_session="+who)
	}
	resp, err := d.app.Test(req, -1)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	r := &reply{Status: resp.StatusCode, Header: resp.Header, Text: string(text)}
	if err := json.Unmarshal(text, r); err != nil { //nolint:musttag // the names differ in case only
		d.t.Fatalf("%s: %s: %v", operation, text, err)
	}
	return r
}

// do makes a call that succeeds and reads its data.
func do[T any](d *fixture, who, operation, body string) T {
	d.t.Helper()
	r := d.call(who, operation, body)
	var data T
	if !r.Success {
		d.t.Fatalf("%s %s: %d %s", operation, body, r.Status, r.Text)
	}
	if err := json.Unmarshal(r.Data, &data); err != nil {
		d.t.Fatal(err)
	}
	return data
}

// rejected makes a call that fails and compares its status and code.
func (d *fixture) rejected(who, operation, body string, status int, code apierr.Code) *reply {
	d.t.Helper()
	r := d.call(who, operation, body)
	if r.Success || r.Status != status || r.Code != string(code) {
		d.t.Errorf("%s %s by %.12s: %d %s, want %d %s", operation, body, who, r.Status, r.Text, status, code)
	}
	return r
}

// key makes a key past the operations and returns its secret.
func (d *fixture) key(websiteID string, scopes ...string) string {
	d.t.Helper()
	return d.keyFor(apikey.Spec{OrganizationID: d.own.ID, WebsiteID: websiteID, Name: "k", Scopes: scopes})
}

// keyFor makes any key past the operations and returns its secret.
func (d *fixture) keyFor(spec apikey.Spec) string {
	d.t.Helper()
	k, secret, err := apikey.New(fixturePrefix, spec, time.Now())
	if err == nil {
		err = d.db.CreateKey(d.t.Context(), audit.By{Actor: audit.Actor{Type: audit.System}}, k)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return secret
}

// countedKeys counts what is read.
type countedKeys struct {
	auth.KeyStore
	reads atomic.Int64
}

func (k *countedKeys) KeyByHash(ctx context.Context, hash [apikey.HashLen]byte) (*apikey.Key, error) {
	k.reads.Add(1)
	return k.KeyStore.KeyByHash(ctx, hash)
}

// known waits until the cache accepts a secret without asking the store: what was read
// once is kept a moment later.
func (d *fixture) known(secret string) {
	d.t.Helper()
	testkit.Eventually(d.t, time.Minute, func() error {
		before := d.keys.reads.Load()
		_, err := d.access.Key(d.t.Context(), []byte(secret), auth.From{Addr: netip.MustParseAddr("192.0.2.1")})
		if err == nil && d.keys.reads.Load() != before {
			err = errors.New("the store was asked for a key")
		}
		return err
	})
}

// accepts reports whether a secret is accepted, as of what the store says now.
func (d *fixture) accepts(secret string) bool {
	d.t.Helper()
	fresh := auth.New(auth.Config{KeyPrefix: fixturePrefix}, auth.Deps{Keys: d.db, Websites: d.db})
	defer fresh.Close()
	_, err := fresh.Key(d.t.Context(), []byte(secret), auth.From{Addr: netip.MustParseAddr("192.0.2.1")})
	return err == nil
}
