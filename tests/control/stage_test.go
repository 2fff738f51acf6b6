// Package control_test proves on three processes, two ingestion hosts and a query
// host, that a change made in the metadata store is known to all of them in less
// than a second, and in less than six when something between them is broken.
package control_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/apikey"
	"github.com/millrace/millrace/internal/audit"
	"github.com/millrace/millrace/internal/auth"
	"github.com/millrace/millrace/internal/clickhouse"
	"github.com/millrace/millrace/internal/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/config"
	"github.com/millrace/millrace/internal/kafka"
	"github.com/millrace/millrace/internal/kafka/kafkatest"
	"github.com/millrace/millrace/internal/org"
	"github.com/millrace/millrace/internal/store"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/services"
	"github.com/millrace/millrace/tests/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

const (
	atOnce  = time.Second     // when everything works
	late    = 6 * time.Second // when something is broken
	patient = time.Minute     // for what has no limit of its own
	pause   = 50 * time.Millisecond
)

// backends are what the processes share.
type backends struct {
	kafka    config.Kafka
	storeURL string
	// The servers, where the test may stop them.
	kafkaServer, storeServer *services.Server
}

// embedded are an embedded broker and SQLite.
func embedded(t *testing.T) backends {
	t.Helper()
	_, cfg := kafkatest.Cluster(t)
	return backends{kafka: cfg, storeURL: "sqlite:" + filepath.Join(testkit.ShortDir(t), "meta.db")}
}

// realServers are Apache Kafka and PostgreSQL of the test's own.
func realServers(t *testing.T) backends {
	t.Helper()
	b := backends{kafkaServer: services.Own(t, services.KindKafka), storeServer: services.Own(t, services.KindPostgres)}
	b.kafka, b.storeURL = b.kafkaServer.Kafka(), b.storeServer.Database(t)
	return b
}

// host is one of the three processes.
type host struct {
	*harness.Process

	name, url string
}

// stage is the system on which a test plays.
type stage struct {
	backends

	db             *store.Store
	organizationID string
	hosts          []*host // the query host comes last
}

func newStage(t *testing.T, b backends) *stage {
	t.Helper()
	s := &stage{backends: b}
	var err error
	if s.db, err = store.Open(t.Context(), b.storeURL, store.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.db.Close() })
	analytics := clickhousetest.Database(t)
	if err := s.db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := clickhouse.Migrate(t.Context(), analytics); err != nil {
		t.Fatal(err)
	}
	if _, err := kafka.EnsureTopics(t.Context(), b.kafka); err != nil {
		t.Fatal(err)
	}
	s.organizationID = s.organization(t)
	settings := map[string]string{
		"KAFKA_BROKERS": b.kafka.Brokers[0], "KAFKA_TOPIC_PREFIX": b.kafka.TopicPrefix,
		"KAFKA_PARTITIONS": strconv.Itoa(b.kafka.Partitions), "KAFKA_REPLICATION": strconv.Itoa(b.kafka.Replication),
		"STORE_URL":       b.storeURL,
		"CLICKHOUSE_ADDR": analytics.Addr[0], "CLICKHOUSE_DATABASE": analytics.Database,
		"LIMITS_ENABLED": "false", // the test asks again and again
		"LOG_FORMAT":     "text",
	}
	for i, role := range []harness.Role{harness.Edge, harness.Edge, harness.Query} {
		ingest, query := testkit.FreeAddr(t), testkit.FreeAddr(t)
		settings["INGEST_LISTEN"], settings["QUERY_LISTEN"] = ingest, query
		h := &host{name: fmt.Sprintf("%s %d", role, i), url: "http://" + ingest + "/track"}
		if role == harness.Query {
			h.url = "http://" + query + "/v1/query"
		}
		h.Process = harness.NewProcess(t, string(role), nil, settings)
		h.Launch(t)
		s.hosts = append(s.hosts, h)
	}
	for _, h := range s.hosts {
		h.WaitReady(t)
	}
	s.awaitFollowing(t)
	return s
}

// awaitFollowing waits until changes arrive everywhere.
func (s *stage) awaitFollowing(t *testing.T) {
	t.Helper()
	for _, h := range s.hosts {
		testkit.Eventually(t, patient, func() error {
			if is, err := h.Metric(t.Context(), "millrace_control_following"); err != nil || is != 1 {
				return fmt.Errorf("%s does not follow: %v, %w", h.name, is, err)
			}
			return nil
		})
	}
}

// operator is who makes the changes.
var operator = audit.By{Actor: audit.Actor{Type: audit.Operator, Name: "test"}}

func (s *stage) organization(t *testing.T) string {
	t.Helper()
	o, err := org.New("Acme", time.Now())
	if err == nil {
		err = s.db.CreateOrganization(t.Context(), operator, o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o.ID
}

func (s *stage) keys() *apikey.Service {
	return apikey.NewService(apikey.Config{Prefix: "mlr", Scopes: auth.AllScopes().Strings()}, s.db, nil)
}

// key makes a key and returns it with its secret.
func (s *stage) key(t *testing.T, organizationID string) (k *apikey.Key, secret string) {
	t.Helper()
	k, secret, err := s.keys().Create(t.Context(), apikey.Spec{
		OrganizationID: organizationID, Name: "ci", Scopes: auth.AllScopes().Strings(),
	}, operator)
	if err != nil {
		t.Fatal(err)
	}
	return k, secret
}

// revoke revokes a key and returns when that was committed.
func (s *stage) revoke(t *testing.T, k *apikey.Key) time.Time {
	t.Helper()
	if _, err := s.keys().Revoke(t.Context(), apikey.Target{OrganizationID: k.OrganizationID, ID: k.ID}, operator); err != nil {
		t.Fatal(err)
	}
	return time.Now()
}

// is returns an error unless the host answers so to a key, or to a query such as
// "?website_id=x". Whoever may send is told from others by a body that is wrong;
// a website is looked for only with one that is right.
func (h *host) is(ctx context.Context, key, query string, want int) error {
	body := `{"name":1}`
	if query != "" {
		body = `{"name":"signup"}`
	}
	a, err := harness.Post(ctx, h.url+query, key, []byte(body))
	if err == nil && a.Status != want {
		err = fmt.Errorf("%s answers %d %s, want %d", h.name, a.Status, a.Body, want)
	}
	return err
}

// expect asks every host until each answers so, and fails when one takes longer
// than the limit after since.
func (s *stage) expect(t *testing.T, what, key string, want int, since time.Time, limit time.Duration) {
	t.Helper()
	s.expectOf(t, s.hosts, what, key, "", want, since, limit)
}

func (s *stage) expectOf(t *testing.T, hosts []*host, what, key, query string, want int, since time.Time, limit time.Duration) {
	t.Helper()
	type result struct {
		host *host
		took time.Duration
		err  error
	}
	results := make(chan result, len(hosts))
	for _, h := range hosts {
		go func() {
			var err error
			for {
				if err = h.is(t.Context(), key, query, want); err == nil || time.Since(since) > limit+patient/2 {
					break
				}
				<-time.After(pause)
			}
			results <- result{h, time.Since(since), err}
		}()
	}
	for range hosts {
		switch r := <-results; {
		case r.err != nil:
			t.Errorf("%s: %v", what, r.err)
		case r.took > limit:
			t.Errorf("%s: %s took %s, want at most %s", what, r.host.name, r.took, limit)
		default:
			t.Logf("%s: %s after %s", what, r.host.name, r.took.Round(time.Millisecond))
		}
	}
}

// holds makes every host remember a key that it accepts.
func (s *stage) holds(t *testing.T, what, key string) {
	t.Helper()
	s.expect(t, what+", before", key, http.StatusBadRequest, time.Now(), patient)
}
