package auth_test

import (
	"context"
	"encoding/hex"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/website"
	"github.com/millrace/millrace/internal/testkit"
)

func refOf(secret []byte) string {
	h := apikey.HashOf(secret)
	return hex.EncodeToString(h[:])
}

func TestChangeOfAKeyIsSeenAtOnceAndOthersAreNotAskedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, a := open(t)
		first, second := m.add(t, nil), m.add(t, nil)
		expectKey(t, a, "before", first, "yes")
		expectKey(t, a, "before", second, "yes")
		m.change(func(m *memory) { m.keys[0].RevokedAt, m.keys[0].Version, m.reads = time.Now(), 2, 0 })
		expectKey(t, a, "revoked and not told", first, "yes")
		for _, other := range []control.Change{
			// held as of this version
			{Kind: control.Key, ID: "other", Version: 1, Refs: []string{refOf(second), "", "not hex", refOf(second) + "00"}},
			{Kind: control.Website, Refs: []string{refOf(first)}},
			{Kind: control.Organization, ID: "org_1", Version: 2},
			{Kind: "of the future", Refs: []string{refOf(first)}},
		} {
			a.Apply(other)
		}
		expectKey(t, a, "told of others", first, "yes")
		if m.reads != 0 {
			t.Errorf("%d reads of a key that nobody was told of, want none", m.reads)
		}
		a.Apply(control.Change{Kind: control.Key, Version: 2, Refs: []string{refOf(first)}})
		expectKey(t, a, "told", first, "AUTH_REQUIRED")
		expectKey(t, a, "told of this one too", second, "yes")
	})
}

// A dropped key is never accepted from memory, even when the store cannot be
// asked: the answer is then that nobody knows.
func TestRevokedKeyDoesNotComeBackWhileTheStoreIsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, a := open(t)
		secret := m.add(t, nil)
		expectKey(t, a, "before", secret, "yes")
		m.change(func(m *memory) { m.keys[0].RevokedAt = time.Now() })
		a.Apply(control.Change{Kind: control.Key, Version: 2, Refs: []string{refOf(secret)}})
		m.change(func(m *memory) { m.down = true })
		expectKey(t, a, "store down", secret, "SERVICE_UNAVAILABLE")
	})
}

func TestKeysAreReadLessOftenWhileChangesAreTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, a := open(t)
		secret := m.add(t, nil)
		reads := func(over time.Duration) int {
			m.change(func(m *memory) { m.reads = 0 })
			for range over / time.Second {
				expectKey(t, a, "asked", secret, "yes")
				pass(time.Second)
			}
			return m.reads
		}
		a.Trust(time.Now().Add(10 * time.Minute))
		if n := reads(time.Minute); n > 5 {
			t.Errorf("%d reads in a minute while changes are told, want 5 at most", n)
		}
		a.Trust(time.Now())
		if n := reads(time.Minute); n < 12 {
			t.Errorf("%d reads in a minute while none are told, want 12 at least", n)
		}
		m.change(func(m *memory) { m.keys[0].RevokedAt = time.Now() })
		pass(fresh)
		expectKey(t, a, "revoked while nobody tells", secret, "AUTH_REQUIRED")
	})
}

func TestEndOfAnOrganizationEndsWhatItHas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, a := open(t)
		a.Trust(time.Now().Add(time.Hour))
		secret := m.add(t, nil)
		m.change(func(m *memory) {
			m.websites = []website.Website{{Record: managed.Record{ID: "web_1", OrganizationID: "org_1"}, ClientID: "public"}}
		})
		organization := func() string {
			w, err := a.ClientWebsite(t.Context(), "public")
			synctest.Wait()
			if err != nil {
				t.Fatal(err)
			}
			return w.OrganizationID
		}
		expectKey(t, a, "before", secret, "yes")
		if got := organization(); got != "org_1" {
			t.Errorf("the website's organization is %q", got)
		}
		m.change(func(m *memory) { m.keys[0].OrganizationID, m.websites[0].OrganizationID = "", "" })
		pass(time.Millisecond)
		a.Apply(control.Change{Kind: control.Organization, ID: "org_1", Gone: true})
		expectKey(t, a, "after", secret, "AUTH_REQUIRED")
		if got := organization(); got != "" {
			t.Errorf("the website's organization is still %q", got)
		}
	})
}

// What another organization has serves on while the store is away; what the ended one had
// does not, though nothing has told that it is gone but the end itself.
func TestEndOfAnOrganizationHoldsWhileTheStoreIsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, a := open(t)
		a.Trust(time.Now().Add(time.Hour))
		ended := m.add(t, nil)
		other := m.add(t, func(k *apikey.Key) { k.OrganizationID = "org_2" })
		m.change(func(m *memory) {
			m.websites = []website.Website{
				{Record: managed.Record{ID: "web_1", OrganizationID: "org_1"}, ClientID: "public"},
				{Record: managed.Record{ID: "web_2", OrganizationID: "org_2"}, ClientID: "open"},
			}
		})
		site := func(when, id, want string) {
			t.Helper()
			for name, look := range map[string]func(context.Context, string) (*website.Website, error){
				"ClientWebsite": a.ClientWebsite, "Website": a.Website,
			} {
				_, err := look(t.Context(), id)
				synctest.Wait()
				if got := verdict(err); got != want {
					t.Errorf("%s: %s(%s) = %s, want %s", when, name, id, got, want)
				}
			}
		}
		expectKey(t, a, "before", ended, "yes")
		expectKey(t, a, "before", other, "yes")
		site("before", "public", "yes")
		site("before", "open", "yes")
		pass(time.Millisecond)
		m.change(func(m *memory) { m.down = true })
		a.Apply(control.Change{Kind: control.Organization, ID: "org_1", Gone: true})
		for range 3 { // also once the store is known to fail
			expectKey(t, a, "after", ended, "SERVICE_UNAVAILABLE")
			expectKey(t, a, "after", other, "yes")
			site("after", "public", "SERVICE_UNAVAILABLE")
			site("after", "open", "yes")
			pass(time.Second)
		}
		m.change(func(m *memory) { m.down, m.keys[0].OrganizationID = false, "" })
		pass(fresh)
		expectKey(t, a, "when the store is back", ended, "AUTH_REQUIRED")
		expectKey(t, a, "when the store is back", other, "yes")
	})
}

func TestChangeOfAWebsiteIsSeenByEveryName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, a := open(t)
		a.Trust(time.Now().Add(time.Hour))
		m.websites = []website.Website{{Record: managed.Record{ID: "web_1", Name: "old"}, ClientID: "public"}}
		names := func(want string) {
			t.Helper()
			for _, get := range []func() (*website.Website, error){
				func() (*website.Website, error) { return a.ClientWebsite(t.Context(), "public") },
				func() (*website.Website, error) { return a.Website(t.Context(), "public") },
				func() (*website.Website, error) { return a.Website(t.Context(), "web_1") },
			} {
				w, err := get()
				synctest.Wait()
				if err != nil || w.Name != want {
					t.Errorf("%+v, %v, want the name %q", w, err, want)
				}
			}
		}
		names("old")
		m.change(func(m *memory) { m.websites[0].Name, m.websites[0].Version = "new", 2 })
		names("old")
		a.Apply(control.Change{Kind: control.Website, ID: "web_1", Version: 2, Refs: []string{"web_1", "public"}})
		names("new")
	})
}

// A flood of made-up secrets costs no read; one of secrets that could be, and are
// not, costs one for each in the time for which that is remembered.
func TestFloodOfKeysIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, a := open(t)
		good := m.add(t, nil)
		for i := range 10_000 {
			wrong := append([]byte(nil), good...)
			wrong[10+i%30]++
			if _, err := a.Key(t.Context(), wrong, auth.From{Addr: somewhere}); err == nil {
				t.Fatal("a made-up key is accepted")
			}
		}
		if m.reads != 0 {
			t.Errorf("%d reads for made-up keys, want none", m.reads)
		}
		var unknown [][]byte
		for range 20 {
			secret, err := apikey.Generate(prefix)
			if err != nil {
				t.Fatal(err)
			}
			unknown = append(unknown, []byte(secret))
		}
		for range 100 {
			for _, secret := range unknown {
				expectKey(t, a, "unknown", secret, "AUTH_REQUIRED")
			}
		}
		if m.reads != len(unknown) {
			t.Errorf("%d reads for %d unknown keys, want one each", m.reads, len(unknown))
		}
	})
}

// Checking a known key is on the path of every request.
//
//nolint:paralleltest // counts allocations
func TestKnownKeyIsCheckedWithoutGarbage(t *testing.T) {
	k, secret, err := apikey.New(prefix,
		apikey.Spec{OrganizationID: "org_1", Name: "ci", Scopes: []string{"read:data"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	m := &memory{keys: []apikey.Key{*k}}
	a := auth.New(auth.Config{KeyPrefix: prefix}, auth.Deps{Keys: m, Websites: m})
	defer a.Close()
	a.Trust(time.Now().Add(time.Hour))
	s, ctx := []byte(secret), context.Background() //nolint:usetesting // its own costs nothing
	check := func() { _, _ = a.Key(ctx, s, auth.From{Addr: somewhere}) }
	reads := func() int {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.reads
	}
	testkit.Eventually(t, time.Minute, func() error {
		before := reads()
		if check(); reads() != before {
			return errors.New("the key is not remembered yet")
		}
		return nil
	})
	if n := testing.AllocsPerRun(1000, check); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// moves are those of a store, and how often it was asked.
type moves struct {
	known website.Moves
	reads int
}

func (m *moves) WebsiteMoves(context.Context, string) (*website.Moves, error) {
	m.reads++
	known := m.known
	return &known, nil
}

func TestAMoveIsSeenAtOnceByBothOrganizations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &moves{}
		a := auth.New(auth.Config{KeyPrefix: prefix, Fresh: fresh, Stale: stale},
			auth.Deps{Keys: &memory{}, Websites: &memory{}, Moves: m})
		t.Cleanup(a.Close)
		a.Trust(time.Now().Add(time.Hour))
		left := func() int {
			t.Helper()
			found, err := a.Moves(t.Context(), "org_1")
			synctest.Wait()
			if err != nil {
				t.Fatal(err)
			}
			return len(found.Left)
		}
		for range 2 {
			if n := left(); n != 0 || m.reads != 1 {
				t.Errorf("%d left, %d reads, want one", n, m.reads)
			}
		}
		m.known.Left = []string{"web_1"}
		a.Apply(control.Change{Kind: control.Organization, ID: "org_2", Version: 1})
		if left() != 0 {
			t.Error("change events of another organization drop what is known of this one")
		}
		a.Apply(control.Change{Kind: control.Organization, ID: "org_1", Version: 1})
		if left() != 1 {
			t.Error("the move is not seen")
		}
		m.known.Left = append(m.known.Left, "web_2")
		a.Apply(control.Change{
			Kind: control.Website, ID: "web_2", OrganizationID: "org_1", Version: 2, Refs: []string{"web_2"}, Gone: true,
		})
		if left() != 2 {
			t.Error("a website that is deleted is not seen to have left")
		}
		of := func(id string, gone bool) control.Change {
			return control.Change{
				Kind: control.Website, ID: id, OrganizationID: "org_1", Version: 3, Refs: []string{id}, Gone: gone,
			}
		}
		reads := m.reads
		a.Apply(of("web_2", true)) // once more
		a.Apply(of("web_3", false))
		if left() != 2 || m.reads != reads {
			t.Errorf("%d reads after changes by which none leaves or comes back", m.reads-reads)
		}
		m.known.Left = m.known.Left[:1]
		a.Apply(of("web_2", false))
		if left() != 1 {
			t.Error("a website that is restored is not seen to be back")
		}
	})
}
