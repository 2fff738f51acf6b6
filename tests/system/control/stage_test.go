// Package control_test proves on three processes, two ingestion hosts and a query
// host, and on two query hosts more where flags are served, that a change made in the metadata
// store is known to all of them in less than a second, and in less than six when something
// between them is broken; that they limit as one and reject what is over a quota; and that
// nobody who is known is turned away while Redis, or the metadata store, is away for a while:
// 10 s, or what the flag -outage says.
package control_test

import (
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/query"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/services"
	"github.com/millrace/millrace/tests/harness"
)

// Four systems at a time: they wait, each for something that is away.
func TestMain(m *testing.M) { harness.MainBeside(m, 4) }

const (
	patient = time.Minute // for what has no limit of its own
	pause   = 50 * time.Millisecond
	many    = "1000000" // requests: the test asks again and again
)

// How soon a change is known everywhere. What nobody is told of is read again after
// minutes here (LOOKUP_TRUSTED), so that it is not that which one sees.
var (
	atOnce = testkit.Promised(time.Second)     // when everything works
	late   = testkit.Promised(6 * time.Second) // when something is broken
	soon   = testkit.Promised(5 * time.Second) // after a month is used up, or no more is
)

// outage is how long each server is away.
var outage = flag.Duration("outage", 10*time.Second, "how long Redis, and then PostgreSQL, are away")

// backends are what the processes share.
type backends struct {
	kafka              config.Kafka
	storeURL, redisURL string // no redisURL: each process limits by itself
	// The servers, where the test may stop them.
	kafkaServer, storeServer, redisServer *services.Server
}

// embedded are an embedded broker and SQLite.
func embedded(t *testing.T) backends {
	t.Helper()
	_, cfg := kafkatest.Cluster(t)
	return backends{kafka: cfg, storeURL: "sqlite:" + filepath.Join(testkit.ShortDir(t), "meta.db")}
}

// realServers are Apache Kafka, PostgreSQL and Redis. Those that the steps take away are
// the test's own.
func realServers(t *testing.T, steps []step) backends {
	t.Helper()
	var b backends
	var kinds []services.Kind
	var to []**services.Server
	for _, step := range steps {
		switch step.name {
		case kafkaAway.name:
			kinds, to = append(kinds, services.KindKafka), append(to, &b.kafkaServer)
		case storeAway.name:
			kinds, to = append(kinds, services.KindPostgres), append(to, &b.storeServer)
		case redisAway.name:
			kinds, to = append(kinds, services.KindRedis), append(to, &b.redisServer)
		}
	}
	for i, server := range services.OwnAll(t, kinds...) {
		*to[i] = server
	}
	if b.kafkaServer != nil {
		b.kafka = b.kafkaServer.Kafka()
	} else {
		b.kafka = services.Kafka(t)
	}
	if b.storeServer != nil {
		b.storeURL = b.storeServer.Database(t)
	} else {
		b.storeURL = services.Postgres(t)
	}
	if b.redisServer != nil {
		b.redisURL = b.redisServer.Redis(t)
	} else {
		b.redisURL = services.Redis(t)
	}
	return b
}

// host is one of the three processes.
type host struct {
	*harness.Process

	name, base string
	url        string // to which body is sent
	body       string // what it answers with 200
}

// stage is the system on which a test plays.
type stage struct {
	backends

	db             *store.Store
	usage          *query.Usage
	organizationID string
	websiteID      string  // a website of the organization
	known          string  // a key of the organization
	hosts          []*host // the query host comes last
	more           []*host // query hosts beside it, for what is theirs alone
}

// edges are the ingestion hosts.
func (s *stage) edges() []*host { return s.hosts[:2] }

// query is the query host.
func (s *stage) query() *host { return s.hosts[2] }

// queries are all of them.
func (s *stage) queries() []*host { return append([]*host{s.query()}, s.more...) }

func newStage(t *testing.T, b backends) *stage {
	t.Helper()
	s := &stage{backends: b}
	var err error
	if s.db, err = store.Open(t.Context(), b.storeURL, store.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.db.Close() })
	analytics := clickhousetest.Migrated(t, schema.Migrate)
	if err := s.db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := kafka.EnsureTopics(t.Context(), b.kafka); err != nil {
		t.Fatal(err)
	}
	s.organizationID = s.organization(t)
	s.websiteID = s.site(t, s.organizationID).ID
	_, s.known = s.key(t, s.organizationID)
	s.usage = query.NewUsage(analytics)
	t.Cleanup(func() { s.usage.Close() })
	settings := map[string]string{
		"KAFKA_BROKERS": b.kafka.Brokers[0], "KAFKA_TOPIC_PREFIX": b.kafka.TopicPrefix,
		"KAFKA_PARTITIONS": strconv.Itoa(b.kafka.Partitions), "KAFKA_REPLICATION": strconv.Itoa(b.kafka.Replication),
		"STORE_URL": b.storeURL, "REDIS_URL": b.redisURL, "REDIS_TIMEOUT": "5s",
		"SINK_GROUP":      b.kafka.TopicPrefix + "sink",
		"CLICKHOUSE_ADDR": analytics.Addr[0], "CLICKHOUSE_DATABASE": analytics.Database,
		// A cache that is told of changes relies on it for long, and Kafka may stand still
		// for some seconds.
		"LOOKUP_TRUSTED": "10m", "INGEST_DEADLINE": "25s",
		"LIMITS_TRACK": many, "LIMITS_QUERY": many, "LIMITS_QUERY_ANONYMOUS": many, "LIMITS_MANAGE": many,
		"LOG_FORMAT": "text",
	}
	for i, role := range []harness.Role{harness.Edge, harness.Edge, harness.Query} {
		s.hosts = append(s.hosts, newHost(t, fmt.Sprintf("%s %d", role, i), role, settings))
	}
	for i := range 2 {
		s.more = append(s.more, newHost(t, fmt.Sprintf("%s %d", harness.Query, len(s.hosts)+i), harness.Query, settings))
	}
	processes := []*harness.Process{harness.NewProcess(t, string(harness.Sink), nil, settings)}
	for _, h := range slices.Concat(s.hosts, s.more) {
		processes = append(processes, h.Process)
	}
	harness.StartAll(t, processes...)
	s.awaitFollowing(t)
	return s
}

// newHost describes one of the three processes.
func newHost(t *testing.T, name string, role harness.Role, settings map[string]string) *host {
	t.Helper()
	base := testkit.FreeAddr(t)
	h := &host{name: name, base: "http://" + base}
	settings = maps.Clone(settings)
	switch role {
	case harness.Query:
		settings["QUERY_LISTEN"], h.url = base, h.base+"/v1/query"
		h.body = `{"parameters":["summary_metrics"],"preset":"today"}`
	default:
		settings["INGEST_LISTEN"], h.url = base, h.base+"/track"
		h.body = `{"name":"signup"}`
	}
	h.Process = harness.NewProcess(t, string(role), nil, settings)
	return h
}

// awaitFollowing waits until changes arrive everywhere.
func (s *stage) awaitFollowing(t *testing.T) {
	t.Helper()
	s.awaitMetric(t, "millrace_control_following", 1, slices.Concat(s.hosts, s.more)...)
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
	return s.limitedKey(t, organizationID, 0)
}

// limitedKey makes a key with a limit of its own, for an hour; 0 for none.
func (s *stage) limitedKey(t *testing.T, organizationID string, limit int) (k *apikey.Key, secret string) {
	t.Helper()
	k, secret, err := s.keys().Create(t.Context(), operator, apikey.Spec{
		OrganizationID: organizationID, Name: "ci", Scopes: auth.AllScopes().Strings(),
		RateLimit: apikey.RateLimit{Enabled: limit > 0, Limit: limit, Window: time.Hour},
	})
	if err != nil {
		t.Fatal(err)
	}
	return k, secret
}

func (s *stage) sites() *website.Service { return website.NewService(s.db, nil) }

// site makes a website.
func (s *stage) site(t *testing.T, organizationID string) *website.Website {
	t.Helper()
	domain := fmt.Sprintf("shop-%d.example.com", serial.Add(1))
	w, err := s.sites().Create(t.Context(), operator,
		website.Spec{OrganizationID: organizationID, Name: "Shop", Domain: domain})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// serial tells domains apart.
var serial atomic.Int64

// revoke revokes a key and returns when that was committed.
func (s *stage) revoke(t *testing.T, k *apikey.Key) time.Time {
	t.Helper()
	if _, err := s.keys().Revoke(t.Context(), operator,
		managed.Target{OrganizationID: k.OrganizationID, Ref: k.ID}); err != nil {
		t.Fatal(err)
	}
	return time.Now()
}
