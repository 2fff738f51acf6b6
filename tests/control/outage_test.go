package control_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

// TestChangesSurviveWhateverIsAway takes away one thing after the other from one
// running system.
func TestChangesSurviveWhateverIsAway(t *testing.T) {
	s := newStage(t, realServers(t))
	for _, step := range []struct {
		name string
		test func(*testing.T, *stage)
	}{
		{"without Kafka", withoutKafka},
		{"without a relay", withoutRelay},
		{"without the store", withoutStore},
		{"with all back", revokedKey},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.test(t, s) }) {
			return
		}
	}
}

// withoutKafka revokes a key in the moment in which Kafka is gone and nobody has
// noticed, and another one later; once Kafka is back, the news come after all.
func withoutKafka(t *testing.T, s *stage) {
	first, firstSecret := s.key(t, s.organizationID)
	second, secondSecret := s.key(t, s.organizationID)
	s.holds(t, "a key", firstSecret)
	s.holds(t, "another key", secondSecret)
	s.kafkaServer.Kill(t)
	since := s.revoke(t, first)
	s.expect(t, "revoked when Kafka was gone", firstSecret, http.StatusUnauthorized, since, late)
	s.holds(t, "another key", secondSecret)
	since = s.revoke(t, second)
	s.expect(t, "revoked without Kafka", secondSecret, http.StatusUnauthorized, since, late)
	s.kafkaServer.Start(t)
	s.awaitFollowing(t)
	s.awaitRelayed(t)
	revokedKey(t, s)
}

// withoutRelay revokes keys while no process publishes, which is also a restart
// between commit and publication.
func withoutRelay(t *testing.T, s *stage) {
	edges, query := s.hosts[:2], s.hosts[2]
	first, firstSecret := s.key(t, s.organizationID)
	second, secondSecret := s.key(t, s.organizationID)
	s.holds(t, "a key", firstSecret)
	s.holds(t, "another key", secondSecret)
	query.Kill(t)
	since := s.revoke(t, first)
	s.expectOf(t, edges, "revoked without a relay", firstSecret, "", http.StatusUnauthorized, since, late)
	s.revoke(t, second)
	if pending, err := s.db.Pending(t.Context(), 10); err != nil || len(pending) == 0 {
		t.Errorf("%d changes wait, %v, want some", len(pending), err)
	}
	query.Start(t)
	s.awaitRelayed(t)
	s.awaitFollowing(t)
	s.expect(t, "revoked before the relay was back", secondSecret, http.StatusUnauthorized, time.Now(), atOnce)
}

// withoutStore asks with a key that is remembered, one that is not, and one that
// is none.
func withoutStore(t *testing.T, s *stage) {
	_, known := s.key(t, s.organizationID)
	_, unknown := s.key(t, s.organizationID)
	s.holds(t, "a key", known)
	s.storeServer.Kill(t)
	for range 3 { // at once, and when what is remembered is old
		s.expect(t, "a known key", known, http.StatusBadRequest, time.Now(), late)
		s.expect(t, "a key that nobody knows", unknown, http.StatusServiceUnavailable, time.Now(), late)
		s.expect(t, "no key", unknown[:len(unknown)-1]+"!", http.StatusUnauthorized, time.Now(), late)
		<-time.After(3 * time.Second)
	}
	for _, h := range s.hosts {
		a, err := harness.Post(t.Context(), h.url, unknown, []byte(`{}`))
		if err != nil || a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") != "5" {
			t.Errorf("%s: %d, Retry-After %q, %v, want 503 and 5", h.name, a.Status, a.Header.Get("Retry-After"), err)
		}
	}
	s.storeServer.Start(t)
	s.expect(t, "an unknown key, with the store back", unknown, http.StatusBadRequest, time.Now(), patient)
	s.awaitFollowing(t)
	s.awaitStore(t)
}

// awaitStore waits until the test itself reaches the store again.
func (s *stage) awaitStore(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, patient, func() error { return s.db.Ping(t.Context()) })
}

// awaitRelayed waits until the outbox is empty.
func (s *stage) awaitRelayed(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, patient, func() error {
		pending, err := s.db.Pending(t.Context(), 10)
		if err == nil && len(pending) > 0 {
			err = fmt.Errorf("%d changes wait", len(pending))
		}
		return err
	})
}
