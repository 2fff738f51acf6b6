package control_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/apikey"
	"github.com/millrace/millrace/internal/auth"
	"github.com/millrace/millrace/internal/website"
)

func TestChangeIsKnownEverywhereAtOnce(t *testing.T) {
	for name, backends := range map[string]func(*testing.T) backends{"embedded": embedded, "real": realServers} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, backends(t))
			for name, test := range map[string]func(*testing.T, *stage){
				"revoked key": revokedKey, "rotated key": rotatedKey, "new key": newKey,
				"website": rotatedClientID, "organization": deletedOrganization,
			} {
				t.Run(name, func(t *testing.T) { test(t, s) })
			}
		})
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
	_, next, err := s.keys().Rotate(t.Context(), apikey.Target{OrganizationID: k.OrganizationID, ID: k.ID}, 0, operator)
	if err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	s.expect(t, "the old secret", secret, http.StatusUnauthorized, since, atOnce)
	s.expect(t, "the new secret", next, http.StatusBadRequest, since, 2*atOnce)
}

// newKey is asked for before it is there, which is remembered too.
func newKey(t *testing.T, s *stage) {
	k, secret, err := apikey.New("mlr", apikey.Spec{OrganizationID: s.organizationID, Name: "ci", Scopes: auth.AllScopes().Strings()}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	s.expect(t, "a key to come", secret, http.StatusUnauthorized, time.Now(), patient)
	if err := s.db.CreateKey(t.Context(), k, operator); err != nil {
		t.Fatal(err)
	}
	s.expect(t, "a new key", secret, http.StatusBadRequest, time.Now(), atOnce)
}

// rotatedClientID asks the ingestion hosts alone: client ids are for them.
func rotatedClientID(t *testing.T, s *stage) {
	edges := s.hosts[:2]
	sites := website.NewService(s.db, nil)
	was, err := sites.Create(t.Context(), website.Spec{OrganizationID: s.organizationID, Name: "Shop", Domain: "shop.example.com"}, operator)
	if err != nil {
		t.Fatal(err)
	}
	s.expectOf(t, edges, "a client id, before", "", "?website_id="+was.ClientID, http.StatusOK, time.Now(), patient)
	is, err := sites.RotateClientID(t.Context(), website.Target{OrganizationID: s.organizationID, Ref: was.ID}, 0, operator)
	if err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	s.expectOf(t, edges, "the old client id", "", "?website_id="+was.ClientID, http.StatusNotFound, since, atOnce)
	s.expectOf(t, edges, "the new client id", "", "?website_id="+is.ClientID, http.StatusOK, since, 2*atOnce)
}

func deletedOrganization(t *testing.T, s *stage) {
	organizationID := s.organization(t)
	_, secret := s.key(t, organizationID)
	s.holds(t, "a key", secret)
	if err := s.db.DeleteOrganization(t.Context(), operator, organizationID, time.Now()); err != nil {
		t.Fatal(err)
	}
	s.expect(t, "a key of a deleted organization", secret, http.StatusUnauthorized, time.Now(), atOnce)
}
