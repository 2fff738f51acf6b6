package control_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/tests/harness"
)

// TestChangeIsKnownEverywhereAtOnce holds with an embedded broker and SQLite;
// TestChangesSurviveWhateverIsAway has the real servers.
func TestChangeIsKnownEverywhereAtOnce(t *testing.T) {
	harness.Beside(t)
	s := newStage(t, embedded(t))
	for name, test := range map[string]func(*testing.T, *stage){
		"revoked key": revokedKey, "rotated key": rotatedKey, "new key": newKey,
		"client id": rotatedClientID, "published website": publishedWebsite, "organization": deletedOrganization,
		"flag": switchedFlag,
	} {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
}

func revokedKey(t *testing.T, s *stage) {
	k, secret := s.key(t, s.organizationID)
	_, other := s.key(t, s.organizationID)
	s.holds(t, "a key", secret)
	s.holds(t, "another key", other)
	since := s.revoke(t, k)
	s.expect(t, "a revoked key", secret, http.StatusUnauthorized, since, atOnce)
	s.expect(t, "the key beside it", other, http.StatusBadRequest, time.Now(), atOnce)
}

func rotatedKey(t *testing.T, s *stage) {
	k, secret := s.key(t, s.organizationID)
	s.holds(t, "a key", secret)
	_, next, err := s.keys().Rotate(t.Context(), operator, managed.Target{OrganizationID: k.OrganizationID, Ref: k.ID}, 0)
	if err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	s.expect(t, "the old secret", secret, http.StatusUnauthorized, since, atOnce)
	s.expect(t, "the new secret", next, http.StatusBadRequest, since, 2*atOnce)
}

// remembered is how long a host goes by what it has found absent before it reads it
// again by itself: half of lookup.fresh at the soonest.
const remembered = 2500 * time.Millisecond

// newKey is asked for before it is there, which is remembered too, but not for long: so
// it has to be known before that has passed once in some tries, of which a busy machine
// may spoil one.
func newKey(t *testing.T, s *stage) {
	const tries = 5
	for range tries {
		asked := time.Now()
		oneNewKey(t, s)
		if t.Failed() || time.Since(asked) < remembered {
			return
		}
	}
	t.Errorf("a new key was not known within %s, %d times", remembered, tries)
}

func oneNewKey(t *testing.T, s *stage) {
	t.Helper()
	k, secret, err := apikey.New("mlr",
		apikey.Spec{OrganizationID: s.organizationID, Name: "ci", Scopes: auth.AllScopes().Strings()}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	s.expect(t, "a key to come", secret, http.StatusUnauthorized, time.Now(), patient)
	if err := s.db.CreateKey(t.Context(), operator, k); err != nil {
		t.Fatal(err)
	}
	s.expect(t, "a new key", secret, http.StatusBadRequest, time.Now(), atOnce)
}

// rotatedClientID asks the ingestion hosts alone: client ids are for them.
func rotatedClientID(t *testing.T, s *stage) {
	was := s.site(t, s.organizationID)
	s.expectOf(t, s.edges(), "a client id, before", "", "?website_id="+was.ClientID, http.StatusOK, time.Now(), patient)
	is, err := s.sites().RotateClientID(t.Context(), operator,
		managed.Target{OrganizationID: s.organizationID, Ref: was.ID}, 0)
	if err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	s.expectOf(t, s.edges(), "the old client id", "", "?website_id="+was.ClientID, http.StatusNotFound, since, atOnce)
	s.expectOf(t, s.edges(), "the new client id", "", "?website_id="+is.ClientID, http.StatusOK, since, 2*atOnce)
}

// publishedWebsite asks the query host alone, without a credential: what everybody may
// ask is its matter.
func publishedWebsite(t *testing.T, s *stage) {
	w := s.site(t, s.organizationID)
	query, hosts := "?website_id="+w.ID, []*host{s.query()}
	s.expectOf(t, hosts, "a website, before it is published", "", query, http.StatusUnauthorized, time.Now(), patient)
	for _, step := range []struct {
		what   string
		public bool
		want   int
	}{
		{"a published website", true, http.StatusOK},
		{"a website that is public no more", false, http.StatusUnauthorized},
	} {
		if _, err := s.sites().Publish(t.Context(), operator,
			managed.Target{OrganizationID: s.organizationID, Ref: w.ID}, step.public); err != nil {
			t.Fatal(err)
		}
		s.expectOf(t, hosts, step.what, "", query, step.want, time.Now(), atOnce)
	}
}

func deletedOrganization(t *testing.T, s *stage) {
	organizationID := s.organization(t)
	_, secret := s.key(t, organizationID)
	s.holds(t, "a key", secret)
	agreed := func(*org.Organization) error { return nil }
	if _, err := s.db.DeleteOrganization(t.Context(), operator, organizationID, 0, time.Now(), agreed); err != nil {
		t.Fatal(err)
	}
	s.expect(t, "a key of a deleted organization", secret, http.StatusUnauthorized, time.Now(), atOnce)
}
