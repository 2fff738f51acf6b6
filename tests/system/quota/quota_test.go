// Package quota_test proves on real processes, two ingestion hosts, two query
// hosts and a sink, that an organization whose month is used up is rejected
// everywhere within seconds, and that nothing else is.
package quota_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/quota"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

const patient = time.Minute // for what has no limit of its own

var (
	crossing = testkit.Promised(5 * time.Second)  // from the event that uses a month up to the rejections
	takeOver = testkit.Promised(15 * time.Second) // the same, when whoever counted is gone
)

var operator = audit.By{Actor: audit.Actor{Type: audit.Operator, Name: "test"}}

// stage is the system on which the test plays.
type stage struct {
	db      *store.Store
	edges   []string // addresses of /track
	queries []*harness.Process
}

func newStage(t *testing.T) *stage {
	t.Helper()
	_, broker := kafkatest.Cluster(t)
	url := "sqlite:" + filepath.Join(testkit.ShortDir(t), "meta.db")
	db, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	analytics := clickhousetest.Migrated(t, schema.Migrate)
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := kafka.EnsureTopics(t.Context(), broker); err != nil {
		t.Fatal(err)
	}
	s := &stage{db: db}
	settings := map[string]string{
		"KAFKA_BROKERS": broker.Brokers[0], "KAFKA_TOPIC_PREFIX": broker.TopicPrefix,
		"KAFKA_PARTITIONS": strconv.Itoa(broker.Partitions), "KAFKA_REPLICATION": strconv.Itoa(broker.Replication),
		"STORE_URL": url, "CLICKHOUSE_ADDR": analytics.Addr[0], "CLICKHOUSE_DATABASE": analytics.Database,
		"LIMITS_ENABLED":  "false", // the test asks again and again
		"INGEST_DEADLINE": "25s",   // of a broker that may stand still for some seconds
		"LOG_FORMAT":      "text",
	}
	var all []*harness.Process
	for _, role := range []harness.Role{harness.Edge, harness.Edge, harness.Query, harness.Query, harness.Sink} {
		ingest, query := testkit.FreeAddr(t), testkit.FreeAddr(t)
		settings["INGEST_LISTEN"], settings["QUERY_LISTEN"] = ingest, query
		p := harness.NewProcess(t, string(role), nil, settings)
		all = append(all, p)
		if role == harness.Edge {
			s.edges = append(s.edges, "http://"+ingest+"/track")
		}
		if role == harness.Query {
			s.queries = append(s.queries, p)
		}
	}
	harness.StartAll(t, all...)
	return s
}

// tenant makes an organization and a key of it.
func (s *stage) tenant(t *testing.T) (organizationID, secret string) {
	t.Helper()
	o, err := org.New("Acme", time.Now())
	if err == nil {
		err = s.db.CreateOrganization(t.Context(), operator, o)
	}
	if err != nil {
		t.Fatal(err)
	}
	k, secret, err := apikey.New("mlr",
		apikey.Spec{OrganizationID: o.ID, Name: "ci", Scopes: []string{"track:events"}}, time.Now())
	if err == nil {
		err = s.db.CreateKey(t.Context(), operator, k)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o.ID, secret
}

func (s *stage) allow(t *testing.T, organizationID string, events int64) {
	t.Helper()
	if _, err := s.db.SetQuota(t.Context(), operator, organizationID, events, time.Now()); err != nil {
		t.Fatal(err)
	}
}

// send sends events of these ids through every edge, so that each comes twice.
func (s *stage) send(t *testing.T, key string, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		for _, edge := range s.edges {
			body := fmt.Sprintf(`{"name":"signup","eventId":"e%d"}`, i)
			if err := expectStatus(t.Context(), edge, key, body, http.StatusOK); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// expectStatus returns an error unless an edge answers so.
func expectStatus(ctx context.Context, edge, key, body string, want int) error {
	a, err := harness.Post(ctx, edge, key, []byte(body))
	if err == nil && a.Status != want {
		err = fmt.Errorf("%s answers %d %s, want %d", edge, a.Status, a.Body, want)
	}
	return err
}

// awaitStatus waits until every edge answers so to an event that came before, which is
// never counted again.
func (s *stage) awaitStatus(t *testing.T, key string, want int, within time.Duration) {
	t.Helper()
	start := time.Now()
	for _, edge := range s.edges {
		testkit.Eventually(t, within-time.Since(start), func() error {
			return expectStatus(t.Context(), edge, key, `{"name":"signup","eventId":"e0"}`, want)
		})
	}
	t.Logf("%d everywhere after %s", want, time.Since(start).Round(time.Millisecond))
}

// awaitUsed waits until so many events are written down, which they are at once
// when owners are to be told of them.
func (s *stage) awaitUsed(t *testing.T, organizationID string, want int64) {
	t.Helper()
	testkit.Eventually(t, patient, func() error {
		q, err := s.db.QuotaOf(t.Context(), organizationID)
		if err == nil && q.Used != want {
			err = fmt.Errorf("%d events are counted, want %d", q.Used, want)
		}
		return err
	})
}

// active returns the query host that counts.
func (s *stage) active(t *testing.T) *harness.Process {
	t.Helper()
	var found *harness.Process
	testkit.Eventually(t, patient, func() error {
		for _, p := range s.queries {
			if is, err := p.Metric(t.Context(), "millrace_quota_active"); err == nil && is == 1 {
				found = p
				return nil
			}
		}
		return errors.New("nobody counts")
	})
	return found
}

func TestAQuotaIsFeltEverywhereWithinSeconds(t *testing.T) {
	s := newStage(t)
	limited, key := s.tenant(t)
	_, otherKey := s.tenant(t)
	s.allow(t, limited, 10)

	s.send(t, key, 0, 8)
	s.awaitUsed(t, limited, 8) // every event was sent twice
	s.send(t, key, 8, 9)
	s.awaitStatus(t, key, http.StatusOK, crossing)
	s.send(t, key, 9, 10)
	s.awaitStatus(t, key, http.StatusPaymentRequired, crossing)
	s.awaitStatus(t, otherKey, http.StatusOK, crossing)
	q, err := s.db.QuotaOf(t.Context(), limited)
	if err != nil || !q.Exceeded || q.Used != 10 || q.Noticed != quota.NoticeFull {
		t.Errorf("QuotaOf() = %+v, %v", q, err)
	}

	s.allow(t, limited, 20)
	s.awaitStatus(t, key, http.StatusOK, crossing)

	s.active(t).Kill(t)
	s.send(t, key, 10, 20)
	s.awaitStatus(t, key, http.StatusPaymentRequired, takeOver)
}
