package auth_test

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/website"
)

const (
	prefix = "mlr"
	fresh  = 5 * time.Second
	stale  = 10 * time.Minute
)

var somewhere = netip.MustParseAddr("192.0.2.1")

var errDown = errors.New("the store is down")

// memory is a store in memory that a test can take down.
type memory struct {
	mu       sync.Mutex
	keys     []apikey.Key
	websites []website.Website
	down     bool
	reads    int
}

func (m *memory) change(f func(m *memory)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(m)
}

func (m *memory) read() error {
	m.reads++
	if m.down {
		return errDown
	}
	return nil
}

func (m *memory) KeyByHash(_ context.Context, hash [apikey.HashLen]byte) (*apikey.Key, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.read(); err != nil {
		return nil, err
	}
	for _, k := range m.keys {
		if k.Hash == hash || (k.OldHash == hash && time.Now().Before(k.OldHashUntil)) {
			return &k, nil
		}
	}
	return nil, apikey.ErrNotFound
}

func (m *memory) WebsiteByID(_ context.Context, id string) (*website.Website, error) {
	return m.website(func(w website.Website) bool { return w.ID == id })
}

func (m *memory) WebsiteByClientID(_ context.Context, clientID string) (*website.Website, error) {
	return m.website(func(w website.Website) bool { return w.AcceptsClientID(clientID, time.Now()) })
}

func (m *memory) website(is func(website.Website) bool) (*website.Website, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.read(); err != nil {
		return nil, err
	}
	for _, w := range m.websites {
		if is(w) {
			return &w, nil
		}
	}
	return nil, website.ErrNotFound
}

// add makes a key, changed by edit, and returns its secret.
func (m *memory) add(t *testing.T, edit func(*apikey.Key)) []byte {
	t.Helper()
	k, secret, err := apikey.New(prefix,
		apikey.Spec{OrganizationID: "org_1", Name: "ci", Scopes: []string{"read:data"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		edit(k)
	}
	m.change(func(m *memory) { m.keys = append(m.keys, *k) })
	return []byte(secret)
}

func open(t *testing.T) (*memory, *auth.Authenticator) {
	t.Helper()
	m := &memory{}
	a := auth.New(auth.Config{KeyPrefix: prefix, Fresh: fresh, Stale: stale},
		auth.Deps{Keys: m, Websites: m, Metrics: prometheus.NewRegistry()})
	t.Cleanup(a.Close)
	return m, a
}

// pass lets virtual time go by, and the caches settle.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// expectKey calls Key and compares what it said: a code, or "yes".
func expectKey(t *testing.T, a *auth.Authenticator, when string, secret []byte, want string) {
	t.Helper()
	p, err := a.Key(t.Context(), secret, auth.From{Addr: somewhere})
	synctest.Wait()
	if got := verdict(err); got != want {
		t.Errorf("%s: Key() = %s, want %s", when, got, want)
	}
	if f, ok := errors.AsType[*apierr.Error](err); ok && f.Code == apierr.ServiceUnavailable &&
		f.RetryAfter != 5*time.Second {
		t.Errorf("%s: retry after %s, want 5s", when, f.RetryAfter)
	}
	if (p == auth.Principal{}) != (err != nil) {
		t.Errorf("%s: Key() = %+v with error %v", when, p, err)
	}
}

func TestAKeyIsAcceptedFromItsAddressesOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, a := open(t)
		open := m.add(t, nil)
		limited := m.add(t, func(k *apikey.Key) {
			k.IPAllow = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/32")}
		})
		for _, tc := range []struct {
			secret []byte
			from   string
			want   string
		}{
			{open, "203.0.113.9", "yes"},
			{open, "", "yes"},
			{limited, "192.0.2.255", "yes"},
			{limited, "::ffff:192.0.2.1", "yes"},
			{limited, "2001:db8::7", "yes"},
			{limited, "192.0.3.0", string(apierr.IPNotAuthorized)},
			{limited, "", string(apierr.IPNotAuthorized)},
		} {
			var from netip.Addr
			if tc.from != "" {
				from = netip.MustParseAddr(tc.from)
			}
			p, err := a.Key(t.Context(), tc.secret, auth.From{Addr: from})
			if got := verdict(err); got != tc.want || (p == auth.Principal{}) != (err != nil) {
				t.Errorf("a key from %q: %s, want %s", tc.from, got, tc.want)
			}
		}
	})
}

// touches counts the uses that were noted.
type touches struct {
	mu   sync.Mutex
	keys map[string][]time.Time
}

func (n *touches) Touch(keyID string, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.keys[keyID] = append(n.keys[keyID], now)
}

func TestTheUseOfAKeyIsNotedOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, n := &memory{}, &touches{keys: map[string][]time.Time{}}
		a := auth.New(auth.Config{KeyPrefix: prefix, Fresh: time.Hour}, auth.Deps{Keys: m, Websites: m, Uses: n})
		t.Cleanup(a.Close)
		used := m.add(t, func(k *apikey.Key) { k.ID = "key_used" })
		rejected := m.add(t, func(k *apikey.Key) { k.RevokedAt = time.Now() })
		elsewhere := m.add(t, func(k *apikey.Key) { k.IPAllow = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} })
		for range 130 { // of seconds, over three minutes of the clock
			for _, secret := range [][]byte{used, rejected, elsewhere} {
				_, _ = a.Key(t.Context(), secret, auth.From{Addr: somewhere}) // only the first is accepted
			}
			pass(time.Second)
		}
		if len(n.keys) != 1 || len(n.keys["key_used"]) != 3 {
			t.Errorf("noted %v, want three uses of one key", n.keys)
		}
	})
}

func TestKeyBecomesAPrincipal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, a := open(t)
		secret := m.add(t, func(k *apikey.Key) {
			k.ID, k.WebsiteID, k.Scopes = "key_1", "web_1", []string{"track:events", "of:the:future", "read:data"}
		})
		scopes, err := auth.ParseScopes([]string{"read:data", "track:events"})
		if err != nil {
			t.Fatal(err)
		}
		want := auth.Principal{
			Kind: auth.KindKey, OrganizationID: "org_1", KeyID: "key_1", Name: "ci", WebsiteID: "web_1", Scopes: scopes,
		}
		got, err := a.Key(t.Context(), secret, auth.From{Addr: somewhere})
		if got.Key == nil || got.Key.ID != "key_1" {
			t.Errorf("the principal has the key %+v", got.Key)
		}
		got.Key = nil
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("Key(): %v (-want +got):\n%s", err, diff)
		}
	})
}

func TestKeyThatIsNotValidIsAnAuthRequiredError(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*apikey.Key){
		"expired now":          func(k *apikey.Key) { k.ExpiresAt = time.Now() },
		"expired long ago":     func(k *apikey.Key) { k.ExpiresAt = time.Now().Add(-time.Hour) },
		"revoked":              func(k *apikey.Key) { k.RevokedAt = time.Now() },
		"rotated away":         func(k *apikey.Key) { k.Hash = [32]byte{1} },
		"rotated, grace over":  func(k *apikey.Key) { k.OldHash, k.Hash, k.OldHashUntil = k.Hash, [32]byte{1}, time.Now() },
		"without organization": func(k *apikey.Key) { k.OrganizationID = "" },
	} {
		synctest.Test(t, func(t *testing.T) {
			m, a := open(t)
			expectKey(t, a, name, m.add(t, edit), "AUTH_REQUIRED")
		})
	}
}

func TestMalformedKeyCostsNoRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, a := open(t)
		good := m.add(t, nil)
		m.change(func(m *memory) { m.down = true }) // a read would not be a 401
		wrong := append([]byte(nil), good...)
		wrong[len(wrong)-1] ^= 1
		for _, secret := range [][]byte{nil, {}, []byte("mlr_"), []byte("x"), wrong, good[:len(good)-1], append(good, 'x')} {
			expectKey(t, a, "malformed", secret, "AUTH_REQUIRED")
		}
		if m.reads != 0 {
			t.Errorf("%d reads, want none", m.reads)
		}
	})
}

func TestUnknownKeyIsReadOnceAndRejected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, a := open(t)
		secret, err := apikey.Generate(prefix)
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			expectKey(t, a, "unknown", []byte(secret), "AUTH_REQUIRED")
		}
		if m.reads != 1 {
			t.Errorf("%d reads, want 1", m.reads)
		}
	})
}

func TestKeyEndsAtItsInstantAlsoWhenItIsCached(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*apikey.Key){
		"expiry": func(k *apikey.Key) { k.ExpiresAt = time.Now().Add(time.Second) },
		"grace": func(k *apikey.Key) {
			k.OldHash, k.Hash, k.OldHashUntil = k.Hash, [32]byte{1}, time.Now().Add(time.Second)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, a := open(t)
			secret := m.add(t, edit)
			expectKey(t, a, name+": before", secret, "yes")
			pass(time.Second)
			expectKey(t, a, name+": at the instant", secret, "AUTH_REQUIRED")
			if m.reads != 1 {
				t.Errorf("%s: %d reads, want 1", name, m.reads)
			}
		})
	}
}

func TestChangesAreSeenWhenTheCachedResultIsNoLongerFresh(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*apikey.Key){
		"revoked":               func(k *apikey.Key) { k.RevokedAt = time.Now() },
		"rotated":               func(k *apikey.Key) { k.Hash = [32]byte{1} },
		"organization deleted":  func(k *apikey.Key) { k.OrganizationID = "" },
		"expiry brought nearer": func(k *apikey.Key) { k.ExpiresAt = time.Now() },
	} {
		synctest.Test(t, func(t *testing.T) {
			m, a := open(t)
			secret := m.add(t, nil)
			expectKey(t, a, name+": before", secret, "yes")
			m.change(func(m *memory) { edit(&m.keys[0]) })
			pass(fresh)
			expectKey(t, a, name+": after", secret, "AUTH_REQUIRED")
		})
	}
}

func TestKnownKeyIsAcceptedWhileTheStoreIsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, a := open(t)
		known, unknown := m.add(t, nil), m.add(t, nil)
		ending := m.add(t, func(k *apikey.Key) { k.ExpiresAt = time.Now().Add(time.Minute) })
		expectKey(t, a, "before", known, "yes")
		expectKey(t, a, "before", ending, "yes")
		m.change(func(m *memory) { m.down = true })
		pass(fresh)
		expectKey(t, a, "known, store down", known, "yes")
		expectKey(t, a, "unknown, store down", unknown, "SERVICE_UNAVAILABLE")
		pass(time.Minute)
		expectKey(t, a, "expired meanwhile, store down", ending, "AUTH_REQUIRED")
		pass(stale)
		expectKey(t, a, "known too long ago, store down", known, "SERVICE_UNAVAILABLE")
		m.change(func(m *memory) { m.down = false })
		pass(2 * time.Second)
		expectKey(t, a, "store back", known, "yes")
		expectKey(t, a, "store back", unknown, "yes")
	})
}

func TestWebsiteIsFoundByWhatTheCallerMayName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, a := open(t)
		m.websites = []website.Website{{
			Record:           managed.Record{ID: "web_1"},
			ClientID:         "new",
			OldClientID:      "old",
			OldClientIDUntil: time.Now().Add(time.Second),
		}}
		expect := func(when, ref string, client, keyed bool) {
			t.Helper()
			for _, tc := range []struct {
				name string
				get  func(context.Context, string) (*website.Website, error)
				want bool
			}{{"ClientWebsite", a.ClientWebsite, client}, {"Website", a.Website, keyed}} {
				w, err := tc.get(t.Context(), ref)
				synctest.Wait()
				if found := err == nil && w.ID == "web_1"; found != tc.want || (!found && !errors.Is(err, website.ErrNotFound)) {
					t.Errorf("%s: %s(%q) = %v, %v, want found %t", when, tc.name, ref, w, err, tc.want)
				}
			}
		}
		expect("client id", "new", true, true)
		expect("id", "web_1", false, true)
		expect("old client id within its grace", "old", true, true)
		expect("unknown", "other", false, false)
		pass(time.Second)
		expect("old client id after its grace, cached", "old", false, false)
		m.change(func(m *memory) { m.reads, m.down = 0, true })
		expect("implausible", "a b", false, false)
		expect("empty", "", false, false)
		if m.reads != 0 {
			t.Errorf("%d reads for implausible names, want none", m.reads)
		}
		expect("known, store down", "new", true, true)
		pass(fresh)
		expect("known, store down and no longer fresh", "new", true, true)
		for _, get := range []func(context.Context, string) (*website.Website, error){a.ClientWebsite, a.Website} {
			if _, err := get(t.Context(), "never-asked"); !apierr.Is(err, apierr.ServiceUnavailable) {
				t.Errorf("unknown, store down: %v, want %s", err, apierr.ServiceUnavailable)
			}
		}
	})
}

func TestTwoAuthenticatorsShareARegistry(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	for range 2 { // the edge and the query host of standalone mode
		auth.New(auth.Config{KeyPrefix: prefix}, auth.Deps{Keys: &memory{}, Websites: &memory{}, Metrics: reg}).Close()
	}
}

func BenchmarkKey(b *testing.B) {
	k, secret, err := apikey.New(prefix,
		apikey.Spec{OrganizationID: "org_1", Name: "ci", Scopes: []string{"read:data"}}, time.Now())
	if err != nil {
		b.Fatal(err)
	}
	m := &memory{keys: []apikey.Key{*k}}
	a := auth.New(auth.Config{KeyPrefix: prefix}, auth.Deps{Keys: m, Websites: m})
	defer a.Close()
	s, ctx := []byte(secret), b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Key(ctx, s, auth.From{Addr: somewhere}); err != nil {
			b.Fatal(err)
		}
	}
}
