package control_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/quota"
	"github.com/millrace/millrace/internal/testkit"
)

// promises are what the processes do while everything is there.
func promises(t *testing.T, s *stage) {
	changes(t, s)
	limitTogether(t, s)
}

// changes are those that do not need Redis.
func changes(t *testing.T, s *stage) {
	for _, change := range []func(*testing.T, *stage){
		revokedKey, rotatedKey, newKey, rotatedClientID, publishedWebsite, deletedOrganization, liftedLimit, usedUpQuota,
		switchedFlag,
	} {
		change(t, s)
	}
}

// liftedLimit takes a key's own limit away after it was reached everywhere.
func liftedLimit(t *testing.T, s *stage) {
	k, secret := s.limitedKey(t, s.organizationID, 1)
	for _, h := range s.hosts { // together, or each by itself
		if _, err := h.ask(t.Context(), secret, s.websiteID); err != nil {
			t.Fatal(err)
		}
	}
	s.expect(t, "a key whose limit is reached", secret, http.StatusTooManyRequests, time.Now(), patient)
	target := managed.Target{OrganizationID: k.OrganizationID, Ref: k.ID}
	if _, err := s.keys().Update(t.Context(), operator, target, apikey.Patch{RateLimit: &apikey.RateLimit{}}); err != nil {
		t.Fatal(err)
	}
	s.expect(t, "the key without its limit", secret, http.StatusBadRequest, time.Now(), atOnce)
}

// limitTogether has a key's own limit of 30 be reached by all hosts together.
func limitTogether(t *testing.T, s *stage) {
	_, secret := s.limitedKey(t, s.organizationID, 30)
	for i := range 30 {
		s.expectStatus(t, s.hosts[i%len(s.hosts)], secret, http.StatusOK)
	}
	for _, h := range s.hosts {
		s.expectStatus(t, h, secret, http.StatusTooManyRequests)
	}
}

// limitAlone has it be reached by each host.
func limitAlone(t *testing.T, s *stage) {
	_, secret := s.limitedKey(t, s.organizationID, 5)
	for _, h := range s.hosts {
		for range 5 {
			s.expectStatus(t, h, secret, http.StatusOK)
		}
		s.expectStatus(t, h, secret, http.StatusTooManyRequests)
	}
}

// expectStatus asks once.
func (s *stage) expectStatus(t *testing.T, h *host, key string, want int) {
	t.Helper()
	if a, err := h.ask(t.Context(), key, s.websiteID); err != nil || a.Status != want {
		t.Errorf("%s: %d %s, %v, want %d", h.name, a.Status, a.Body, err, want)
	}
}

// usedUpQuota gives an organization a quota of what it has sent already, and takes
// it away again.
func usedUpQuota(t *testing.T, s *stage) {
	organizationID, key, at := s.quotaOf(t, 3)
	s.expectOf(t, s.edges(), "an organization whose month is used up", key, at,
		http.StatusPaymentRequired, time.Now(), soon)
	s.expectStatus(t, s.hosts[0], s.known, http.StatusOK)
	s.setQuota(t, organizationID, quota.Default)
	s.expectOf(t, s.edges(), "an organization without a quota", key, at, http.StatusOK, time.Now(), soon)
}

// quotaOf makes an organization that sends so many events, waits until they are
// stored and gives it a quota of them. It returns a key and the query string that
// its events are sent with.
func (s *stage) quotaOf(t *testing.T, events int64) (organizationID, key, query string) {
	t.Helper()
	organizationID = s.organization(t)
	_, key = s.key(t, organizationID)
	websiteID := s.site(t, organizationID).ID
	for i := range events {
		h := s.edges()[i%2]
		if a, err := h.ask(t.Context(), key, websiteID); err != nil || a.Status != http.StatusOK {
			t.Fatalf("%s: %d %s, %v", h.name, a.Status, a.Body, err)
		}
	}
	testkit.Eventually(t, patient, func() error {
		used, err := s.usage.Used(t.Context(), quota.MonthOf(time.Now()))
		if err == nil && used[organizationID] < events {
			err = fmt.Errorf("%d events are stored, want %d", used[organizationID], events)
		}
		return err
	})
	testkit.Eventually(t, patient, func() (err error) { // one of the query hosts counts
		counting := 0.0
		for _, h := range s.queries() {
			n, e := h.Metric(t.Context(), "millrace_quota_active")
			counting, err = counting+n, errors.Join(err, e)
		}
		if err == nil && counting != 1 {
			err = fmt.Errorf("%v query hosts count what is used up, want 1", counting)
		}
		return err
	})
	s.setQuota(t, organizationID, events)
	return organizationID, key, "?website_id=" + websiteID
}

func (s *stage) setQuota(t *testing.T, organizationID string, events int64) {
	t.Helper()
	if _, err := quota.NewService(quota.Config{}, s.db, nil, nil).Set(t.Context(), operator,
		organizationID, events); err != nil {
		t.Fatal(err)
	}
}

// awaitMetric waits until the hosts report a figure.
func (s *stage) awaitMetric(t *testing.T, name string, want float64, hosts ...*host) {
	t.Helper()
	for _, h := range hosts {
		testkit.Eventually(t, patient, func() error {
			got, err := h.Metric(t.Context(), name)
			if err == nil && got != want {
				err = fmt.Errorf("%s of %s is %v, want %v", name, h.name, got, want)
			}
			return err
		})
	}
}
