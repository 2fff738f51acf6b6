package auth_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/website"
)

// flagged is an Authenticator of websites whose flags are asked for, of organization org_1.
func flagged(t *testing.T) (*memory, *auth.Authenticator) {
	t.Helper()
	m := &memory{websites: []website.Website{
		{Record: managed.Record{ID: "web_1", OrganizationID: "org_1", Version: 1}, ClientID: "public"},
	}}
	a := auth.New(
		auth.Config{KeyPrefix: prefix, Fresh: fresh, Stale: stale, FlagStale: 24 * time.Hour},
		auth.Deps{Keys: m, Websites: m, Metrics: prometheus.NewRegistry()},
	)
	t.Cleanup(a.Close)
	return m, a
}

func expectFlags(t *testing.T, a *auth.Authenticator, when, ref, want string) {
	t.Helper()
	_, err := a.FlagWebsite(t.Context(), ref)
	synctest.Wait()
	if got := verdict(err); got != want {
		t.Errorf("%s: FlagWebsite(%s) = %s, want %s", when, ref, got, want)
	}
}

func TestWebsitesWhoseFlagsAreAskedForAreKnownForADayWithoutTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, a := flagged(t)
		for _, ref := range []string{"public", "web_1"} {
			expectFlags(t, a, "at first", ref, "yes")
		}
		if _, err := a.ClientWebsite(t.Context(), "public"); err != nil {
			t.Fatal(err)
		}
		expectFlags(t, a, "unknown", "web_2", "not found")
		m.change(func(m *memory) { m.down = true })
		pass(24*time.Hour - time.Minute)
		expectFlags(t, a, "for a day", "public", "yes")
		expectFlags(t, a, "for a day", "web_1", "yes")
		expectFlags(t, a, "never known", "other", "SERVICE_UNAVAILABLE")
		if _, err := a.ClientWebsite(t.Context(), "public"); verdict(err) != "SERVICE_UNAVAILABLE" {
			t.Errorf("for others than flags: %v", err)
		}
		pass(2 * time.Minute)
		expectFlags(t, a, "after a day", "public", "SERVICE_UNAVAILABLE")
		m.change(func(m *memory) { m.down = false })
		pass(2 * time.Second)
		expectFlags(t, a, "when the store is back", "public", "yes")
	})
}

// Whoever stands behind an address that has used up what it may ask for in vain is served the
// flags of websites that are known.
func TestWebsitesWhoseFlagsWereAskedForAreRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, a := flagged(t)
		if w := a.Remembered("public"); w != nil {
			t.Errorf("before anybody asked there is %+v", w)
		}
		for _, ref := range []string{"public", "web_1"} {
			expectFlags(t, a, "at first", ref, "yes")
			if w := a.Remembered(ref); w == nil || w.ID != "web_1" {
				t.Errorf("of %s there is %+v", ref, w)
			}
		}
		expectFlags(t, a, "unknown", "web_2", "not found")
		if w := a.Remembered("web_2"); w != nil {
			t.Errorf("of a website that there is none of there is %+v", w)
		}
	})
}

func TestChangesOfWebsitesAreSeenByThoseWhoAskForFlags(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change control.Change
		held   string // while the store is down
	}{
		"the website is deleted": {
			control.Change{Kind: control.Website, ID: "web_1", Version: 2, Refs: []string{"web_1", "public"}},
			"SERVICE_UNAVAILABLE",
		},
		"the organization is gone": {
			control.Change{Kind: control.Organization, ID: "org_1", Gone: true}, "SERVICE_UNAVAILABLE",
		},
		"another one is changed": {
			control.Change{Kind: control.Website, ID: "web_2", Version: 2, Refs: []string{"web_2"}}, "yes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m, a := flagged(t)
				a.Trust(time.Now().Add(time.Hour))
				expectFlags(t, a, "at first", "public", "yes")
				pass(time.Millisecond)
				m.change(func(m *memory) { m.down, m.websites = true, nil })
				a.Apply(tc.change)
				expectFlags(t, a, "while the store is down", "public", tc.held)
				m.change(func(m *memory) { m.down = false })
				a.Forget()
				pass(2 * time.Second)
				expectFlags(t, a, "when it is back", "public", "not found")
			})
		})
	}
}
