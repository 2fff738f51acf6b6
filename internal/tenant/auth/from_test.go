package auth_test

import (
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// Who tries out keys has what callers without a credential have (specification, section
// 8), and the store is asked no more often than that. Keys that are known, and other
// addresses, keep theirs.
func TestKeysThatAreTriedOutAreCountedByAddress(t *testing.T) {
	t.Parallel()
	const limit = 60
	for _, tc := range []struct {
		name  string
		bad   func(t *testing.T, m *memory) []byte
		first string // what each is answered within the limit
		reads int    // of the store, at most
	}{
		{"made up", func(t *testing.T, _ *memory) []byte {
			t.Helper()
			return (&memory{}).add(t, nil)
		}, "AUTH_REQUIRED", limit},
		{"malformed", func(*testing.T, *memory) []byte { return []byte("mlr_nonsense") }, "AUTH_REQUIRED", 0},
		{"revoked", func(t *testing.T, m *memory) []byte {
			t.Helper()
			return m.add(t, func(k *apikey.Key) { k.RevokedAt = k.CreatedAt })
		}, "AUTH_REQUIRED", limit},
		{"for other addresses", func(t *testing.T, m *memory) []byte {
			t.Helper()
			return m.add(t, func(k *apikey.Key) { k.IPAllow = []netip.Prefix{netip.MustParsePrefix("198.51.100.1/32")} })
		}, "IP_NOT_AUTHORIZED", limit},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m, a := open(t)
				limits := ratelimit.New(config.Default().Limits, ratelimit.Deps{})
				from := auth.From{Addr: somewhere, Limits: limits, Family: ratelimit.Query}
				good := m.add(t, nil)
				expectFrom(t, a, "a good key", good, from, "yes")
				m.change(func(m *memory) { m.reads = 0 })
				for range limit {
					expectFrom(t, a, "within the limit", tc.bad(t, m), from, tc.first)
				}
				for range limit {
					expectFrom(t, a, "beyond the limit", tc.bad(t, m), from, "RATE_LIMITED")
				}
				m.change(func(m *memory) {
					if m.reads > tc.reads {
						t.Errorf("the store was read %d times, want %d at most", m.reads, tc.reads)
					}
				})
				for range 3 {
					expectFrom(t, a, "a good key at the same address", good, from, "yes")
				}
				from.Addr = netip.MustParseAddr("192.0.2.2")
				expectFrom(t, a, "another address", tc.bad(t, m), from, tc.first)
				from.Addr, from.Family = somewhere, ratelimit.Compile
				expectFrom(t, a, "another family", tc.bad(t, m), from, tc.first)
			})
		})
	}
}

func TestKeysAreNotCountedWhileTheStoreIsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, a := open(t)
		m.change(func(m *memory) { m.down = true })
		limits := ratelimit.New(config.Default().Limits, ratelimit.Deps{})
		from := auth.From{Addr: somewhere, Limits: limits, Family: ratelimit.Query}
		for range 61 {
			expectFrom(t, a, "while the store is down", (&memory{}).add(t, nil), from, "SERVICE_UNAVAILABLE")
		}
	})
}

// expectFrom calls Key and compares what it said: a code, or "yes".
func expectFrom(t *testing.T, a *auth.Authenticator, when string, secret []byte, from auth.From, want string) {
	t.Helper()
	_, err := a.Key(t.Context(), secret, from)
	synctest.Wait() // until the cache has taken it in
	if got := verdict(err); got != want {
		t.Fatalf("%s: Key() = %s, want %s", when, got, want)
	}
	if f := apierr.Of(err); want == "RATE_LIMITED" && (f.Rate == nil || f.Rate.Limit != 60) {
		t.Errorf("%s: %+v, want the limit of callers without a credential", when, f.Rate)
	}
}
