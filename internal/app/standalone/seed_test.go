package standalone

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/adapter/store/storetest"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
)

func openStore(t *testing.T, url string) *store.Store {
	t.Helper()
	db, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func seeded(t *testing.T, db *store.Store, known devEnv) (devEnv, []string) {
	t.Helper()
	env, notes, err := seed(t.Context(), db, "mlr", known)
	if err != nil {
		t.Fatal(err)
	}
	return env, notes
}

func TestTheFirstStartMakesWhoeverSendsAndQueries(t *testing.T) {
	t.Parallel()
	db := openStore(t, storetest.SQLite(t))
	env, notes := seeded(t, db, devEnv{})
	if len(notes) != 0 {
		t.Errorf("it notes %q", notes)
	}
	if _, err := db.OrganizationByID(t.Context(), env.OrganizationID); err != nil {
		t.Error(err)
	}
	w, err := db.WebsiteByID(t.Context(), env.WebsiteID)
	if err != nil {
		t.Fatal(err)
	}
	if w.OrganizationID != env.OrganizationID || w.ClientID != w.ID {
		t.Errorf("the website is %+v", w)
	}
	key, err := db.KeyByHash(t.Context(), apikey.HashOf([]byte(env.APIKey)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(auth.AllScopes().Strings(), key.Scopes); diff != "" || key.WebsiteID != "" ||
		!key.ExpiresAt.IsZero() {
		t.Errorf("the key is %+v, scopes (-want +got):\n%s", key, diff)
	}
	user, err := db.UserByEmail(t.Context(), env.AdminEmail)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := org.VerifyPassword(user.PasswordHash, env.AdminPassword); !ok || err != nil {
		t.Errorf("the password does not fit: %v", err)
	}
	members, err := db.ListPeople(t.Context(), env.OrganizationID, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(members) != 1 || members[0].UserID != user.ID || members[0].Role != org.RoleOwner {
		t.Errorf("the members are %+v", members)
	}
}

func TestALaterStartKeepsWhatDevEnvHoldsAndReplacesWhatIsLost(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lose      func(t *testing.T, db *store.Store, known *devEnv)
		wantNotes []string
		wantKey   bool // the same
	}{
		"nothing lost": {func(*testing.T, *store.Store, *devEnv) {}, nil, true},
		"file lost": {
			func(_ *testing.T, _ *store.Store, known *devEnv) { *known = devEnv{} },
			[]string{noteNoPassword, noteNewKey},
			false,
		},
		"key mistyped": {
			func(_ *testing.T, _ *store.Store, known *devEnv) { known.APIKey += "x" },
			[]string{noteNewKey},
			false,
		},
		"key revoked": {
			func(t *testing.T, db *store.Store, known *devEnv) {
				t.Helper()
				key, err := db.KeyByHash(t.Context(), apikey.HashOf([]byte(known.APIKey)))
				if err != nil {
					t.Fatal(err)
				}
				keys := apikey.NewService(apikey.Config{}, db, nil)
				if _, err := keys.Revoke(t.Context(), audit.By{Actor: audit.Actor{Type: audit.System}},
					managed.Target{OrganizationID: key.OrganizationID, Ref: key.ID}); err != nil {
					t.Fatal(err)
				}
			},
			[]string{noteNewKey},
			false,
		},
		"website unknown": {
			func(_ *testing.T, _ *store.Store, known *devEnv) { known.WebsiteID = "web_x" },
			nil, true,
		},
		"organization unknown": {
			func(_ *testing.T, _ *store.Store, known *devEnv) { known.OrganizationID = "org_x" },
			nil, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := openStore(t, storetest.SQLite(t))
			first, _ := seeded(t, db, devEnv{})
			known := first
			tt.lose(t, db, &known)
			second, notes := seeded(t, db, known)
			if diff := cmp.Diff(tt.wantNotes, notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			if got := second.APIKey == first.APIKey; got != tt.wantKey {
				t.Errorf("the key is kept: %t, want %t", got, tt.wantKey)
			}
			if works, err := keyWorks(t.Context(), db, "mlr", second.OrganizationID, second.APIKey); !works || err != nil {
				t.Errorf("the key does not work: %v", err)
			}
			second.APIKey, second.AdminPassword = first.APIKey, first.AdminPassword
			if diff := cmp.Diff(first, second); diff != "" {
				t.Errorf("(-first start +second):\n%s", diff)
			}
		})
	}
}

func TestAWebsiteWhoseSettingsCannotBeReadHoldsUpNoStart(t *testing.T) {
	t.Parallel()
	url := storetest.SQLite(t)
	db := openStore(t, url)
	first, _ := seeded(t, db, devEnv{})
	storetest.Corrupt(t, url, first.WebsiteID)
	for name, known := range map[string]devEnv{"known": first, "not known": {OrganizationID: first.OrganizationID}} {
		if again, _ := seeded(t, db, known); again.WebsiteID != first.WebsiteID {
			t.Errorf("where it is %s, the website is %q, want %q", name, again.WebsiteID, first.WebsiteID)
		}
	}
}

func TestAStoreWhoseOnlyOrganizationWasDeletedGetsAnotherOne(t *testing.T) {
	t.Parallel()
	db := openStore(t, storetest.SQLite(t))
	first, _ := seeded(t, db, devEnv{})
	agreed := func(*org.Organization) error { return nil }
	if _, err := db.DeleteOrganization(t.Context(), audit.BySystem(), first.OrganizationID, 0,
		time.Now(), agreed); err != nil {
		t.Fatal(err)
	}
	second, notes := seeded(t, db, first)
	if second.OrganizationID == first.OrganizationID || second.AdminPassword != first.AdminPassword || len(notes) != 0 {
		t.Errorf("seeded %+v after %+v, notes %v", second, first, notes)
	}
	if works, err := keyWorks(t.Context(), db, "mlr", second.OrganizationID, second.APIKey); !works || err != nil {
		t.Errorf("the key does not work: %v", err)
	}
}
