package control_test

import (
	"bytes"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/tenant/quota"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

// step is what happens to a running system.
type step struct {
	name string
	test func(*testing.T, *stage)
}

// What is there at first, and comes back at last.
var (
	everything = step{"with everything", promises}
	allBack    = step{"with all back", promises}
)

// The servers, or the process, that are taken away.
var (
	redisAway = step{"without Redis", withoutRedis}
	kafkaAway = step{"without Kafka", withoutKafka}
	relayAway = step{"without a relay", withoutRelay}
	storeAway = step{"without the store", withoutStore}
)

// outages is what is taken away, one after the other, from each of some systems. They
// run side by side, because an outage is a wait; where bounds are asserted as users were
// given them, there is one system, from which everything is taken.
func outages() map[string][]step {
	if testkit.Strict() {
		return map[string][]step{"all": {everything, redisAway, kafkaAway, relayAway, storeAway, allBack}}
	}
	return map[string][]step{
		"Kafka":           {kafkaAway, allBack},
		"Redis and relay": {everything, redisAway, relayAway, allBack},
		"store":           {storeAway, allBack},
	}
}

func TestChangesSurviveWhateverIsAway(t *testing.T) {
	harness.Beside(t)
	for name, steps := range outages() {
		t.Run(name, func(t *testing.T) {
			harness.Beside(t)
			s := newStage(t, realServers(t, steps))
			for _, step := range steps {
				if !t.Run(step.name, func(t *testing.T) { step.test(t, s) }) {
					return
				}
			}
		})
	}
}

// withoutKafka revokes a key in the moment in which Kafka is gone and nobody has
// noticed, and another one later; once Kafka is back, the change events come after all.
func withoutKafka(t *testing.T, s *stage) {
	first, firstSecret := s.key(t, s.organizationID)
	second, secondSecret := s.key(t, s.organizationID)
	s.holds(t, "a key", firstSecret)
	s.holds(t, "another key", secondSecret)
	f := s.withFlag(t)
	s.kafkaServer.Kill(t)
	turned := f.turn(t, flag.Disabled)
	since := s.revoke(t, first)
	var flags sync.WaitGroup
	flags.Go(func() { f.serves(t, "a flag that was turned off when Kafka was gone", false, turned, late) })
	s.expect(t, "revoked when Kafka was gone", firstSecret, http.StatusUnauthorized, since, late)
	flags.Wait()
	s.holds(t, "another key", secondSecret)
	since = s.revoke(t, second)
	s.expect(t, "revoked without Kafka", secondSecret, http.StatusUnauthorized, since, late)
	s.switchedFlag(t, late)
	s.kafkaServer.Start(t)
	s.awaitFollowing(t)
	s.awaitRelayed(t)
	revokedKey(t, s)
}

// withoutRelay revokes keys while no process publishes, which is also a restart
// between commit and publication.
func withoutRelay(t *testing.T, s *stage) {
	edges, queries := s.edges(), s.queries() // one of which publishes
	first, firstSecret := s.key(t, s.organizationID)
	second, secondSecret := s.key(t, s.organizationID)
	s.holds(t, "a key", firstSecret)
	s.holds(t, "another key", secondSecret)
	for _, h := range queries {
		h.Kill(t)
	}
	since := s.revoke(t, first)
	s.expectOf(t, edges, "revoked without a relay", firstSecret, "", http.StatusUnauthorized, since, late)
	s.revoke(t, second)
	if pending, err := s.db.Pending(t.Context(), 10); err != nil || len(pending) == 0 {
		t.Errorf("%d changes wait, %v, want some", len(pending), err)
	}
	for _, h := range queries {
		h.Start(t)
	}
	s.awaitRelayed(t)
	s.awaitFollowing(t)
	s.expect(t, "revoked before the relay was back", secondSecret, http.StatusUnauthorized, time.Now(), atOnce)
}

// withoutRedis makes every change, while each host limits by itself.
func withoutRedis(t *testing.T, s *stage) {
	end := s.watch(t)
	s.redisServer.Stop(t)
	s.awaitMetric(t, "millrace_limits_shared", 0, s.hosts...)
	during(*outage, func() {
		limitAlone(t, s)
		changes(t, s)
	})
	for _, h := range s.hosts {
		if n, err := h.Metric(t.Context(), "millrace_limits_local_total"); err != nil || n == 0 {
			t.Errorf("%s has decided %v requests by itself, %v", h.name, n, err)
		}
	}
	s.redisServer.Start(t)
	s.awaitMetric(t, "millrace_limits_shared", 1, s.hosts...)
	limitTogether(t, s)
	end()
}

// withoutStore asks with a key that is remembered, one that is not, and one that
// is none, and with what was decided before: a limit that is half used up, and a
// quota that is used up.
func withoutStore(t *testing.T, s *stage) {
	_, unknown := s.key(t, s.organizationID)
	website, unknownWebsite := s.site(t, s.organizationID), s.site(t, s.organizationID)
	s.expectOf(t, s.edges(), "a client id", "", "?website_id="+website.ClientID, http.StatusOK, time.Now(), patient)
	_, limited := s.limitedKey(t, s.organizationID, 30)
	for i := range 15 {
		s.expectStatus(t, s.hosts[i%3], limited, http.StatusOK)
	}
	organizationID, overQuota, at := s.quotaOf(t, 3)
	s.expectOf(t, s.edges(), "an organization whose month is used up", overQuota, at,
		http.StatusPaymentRequired, time.Now(), soon)
	f := s.withFlag(t)
	end := s.watch(t)
	s.storeServer.Kill(t)
	during(*outage, func() { // at once, and when what is remembered is old
		f.goesOn(t, "a flag")
		s.expect(t, "a known key", s.known, http.StatusBadRequest, time.Now(), late)
		s.expectOf(t, s.edges(), "a known client id", "", "?website_id="+website.ClientID, http.StatusOK, time.Now(), late)
		s.expectOf(t, s.edges(), "a quota", overQuota, at, http.StatusPaymentRequired, time.Now(), late)
		s.expect(t, "no key", unknown[:len(unknown)-1]+"!", http.StatusUnauthorized, time.Now(), late)
		for _, h := range s.hosts {
			cannotTell(t, h.name+", a key that it does not know", h.url, unknown, `{}`)
		}
		for _, h := range s.edges() {
			cannotTell(t, h.name+", a client id that it does not know", h.url+"?website_id="+unknownWebsite.ClientID, "", h.body)
		}
		for _, path := range []string{"/rpc/websites/list", "/rpc/organization/get"} {
			cannotTell(t, path, s.query().base+path, s.known, `{}`)
		}
		mcp := s.query().base + "/v1/mcp"
		cannotTell(t, "MCP, a key that it does not know", mcp, unknown, `{}`)
		if a, err := harness.Post(t.Context(), mcp, s.known, []byte(`{}`)); err != nil || a.Status != http.StatusBadRequest {
			t.Errorf("MCP, a known key: %d %s, %v, want 400 for the message", a.Status, a.Body, err)
		}
	})
	for i := range 15 {
		s.expectStatus(t, s.hosts[i%3], limited, http.StatusOK)
	}
	for _, h := range s.hosts {
		s.expectStatus(t, h, limited, http.StatusTooManyRequests)
	}
	s.storeServer.Start(t)
	s.expect(t, "an unknown key, with the store back", unknown, http.StatusBadRequest, time.Now(), patient)
	end()
	s.awaitFollowing(t)
	s.awaitStore(t)
	s.setQuota(t, organizationID, quota.Default)
	s.expectOf(t, s.edges(), "an organization without a quota", overQuota, at, http.StatusOK, time.Now(), patient)
}

// cannotTell expects that a host says so, and when to come back.
func cannotTell(t *testing.T, what, url, key, body string) {
	t.Helper()
	a, err := harness.Post(t.Context(), url, key, []byte(body))
	if err != nil || a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") != "5" ||
		!bytes.Contains(a.Body, []byte("SERVICE_UNAVAILABLE")) {
		t.Errorf("%s: %d %s, Retry-After %q, %v, want 503 and 5", what, a.Status, a.Body, a.Header.Get("Retry-After"), err)
	}
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
