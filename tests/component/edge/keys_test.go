package edge_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
)

func TestAKeyIsAcceptedFromItsAddressesAndItsUseIsNoted(t *testing.T) {
	t.Parallel()
	e := newHost(t).run(t)
	db, err := store.Open(t.Context(), e.settings.Store.URL.Reveal(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	keys := apikey.NewService(apikey.Config{Prefix: e.settings.Key.Prefix, Scopes: []string{"track:events"}}, db, nil)
	used := map[string]bool{}
	for _, tc := range []struct {
		ips    []string
		status int
	}{
		{nil, http.StatusOK},
		{[]string{"127.0.0.0/8"}, http.StatusOK},
		{[]string{"10.0.0.0/8", "::1"}, http.StatusForbidden},
	} {
		k, secret, err := keys.Create(t.Context(), audit.BySystem(), apikey.Spec{
			OrganizationID: e.site.OrganizationID, Name: "k", Scopes: []string{"track:events"}, IPAllow: tc.ips,
		})
		if err != nil {
			t.Fatal(err)
		}
		e.key = secret
		status, text, err := e.track(t.Context(), http.DefaultClient, "req_"+k.ID, `{"name":"x"}`)
		if err != nil || status != tc.status {
			t.Errorf("a key for %v from 127.0.0.1: %d %s, %v; want %d", tc.ips, status, text, err, tc.status)
		}
		used[k.ID] = status == http.StatusOK
	}
	if err := e.stop(); err != nil { // which writes what was used
		t.Fatal(err)
	}
	for id, want := range used {
		k, err := db.KeyByID(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if got := !k.LastUsedAt.IsZero(); got != want || got && time.Since(k.LastUsedAt) > 5*time.Minute {
			t.Errorf("key %s was last used at %s, used %t", id, k.LastUsedAt, want)
		}
	}
}
