package services

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
)

// The servers that tests share, found or started by the first that asks.
var (
	sharedKafka    = sync.OnceValues(func() (*Server, error) { return find(KindKafka, "KAFKA_BROKERS") })
	sharedPostgres = sync.OnceValues(func() (*Server, error) { return find(KindPostgres, "POSTGRES_URL") })
	sharedRedis    = sync.OnceValues(func() (*Server, error) { return find(KindRedis, "REDIS_URL") })
)

// process tells the names that this test binary makes on a shared server from those of
// all others; serial tells those of one test from the next one's.
var (
	process = strings.ToLower(rand.Text()[:10])
	serial  atomic.Int64
)

// name is one that nobody else has: of letters and digits, and no longer than needed.
func name() string { return fmt.Sprintf("t%s%d", process, serial.Add(1)) }

// find returns the run's server of a kind, or starts one for this test binary. The run's
// cannot be told to stop.
func find(kind Kind, variable string) (*Server, error) {
	if value := os.Getenv(AddressEnv + variable); value != "" { //nolint:forbidigo // tests have no settings but these
		return &Server{kind: kind, value: value, log: &testkit.Log{}}, nil
	}
	return launch(kind)
}

func shared(tb testing.TB, kind Kind, get func() (*Server, error)) *Server {
	tb.Helper()
	leaveOutWhenShort(tb, kind)
	s, err := get()
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// Kafka returns settings for the shared broker, with a topic prefix that no
// other test has. Topics are not there yet.
func Kafka(tb testing.TB) config.Kafka {
	tb.Helper()
	cfg := shared(tb, KindKafka, sharedKafka).Kafka()
	tb.Cleanup(func() { deleteTopics(tb, cfg) })
	return cfg
}

// deleteTopics leaves a broker that serves a whole run as a test has found it: each
// partition that is left costs it files and memory.
func deleteTopics(tb testing.TB, cfg config.Kafka) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), time.Minute)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...))
	if err != nil {
		tb.Errorf("deleting the topics of the test: %v", err)
		return
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	topics, err := admin.ListTopics(ctx)
	own := slices.DeleteFunc(topics.Names(), func(n string) bool { return !strings.HasPrefix(n, cfg.TopicPrefix) })
	if err == nil && len(own) > 0 {
		_, err = admin.DeleteTopics(ctx, own...)
	}
	if err != nil {
		tb.Errorf("deleting the topics of the test: %v", err)
	}
}

// Kafka returns settings for this broker, with a new topic prefix.
func (s *Server) Kafka() config.Kafka {
	cfg := config.Default().Kafka
	cfg.Brokers = []string{s.value}
	cfg.TopicPrefix = name() + "."
	cfg.Partitions = 4
	cfg.Replication = 1
	return cfg
}

// Postgres returns the URL of an empty database on the shared server, dropped
// after the test.
func Postgres(tb testing.TB) string {
	tb.Helper()
	return shared(tb, KindPostgres, sharedPostgres).Database(tb)
}

// Database creates an empty database on this PostgreSQL and returns its URL. It
// is dropped after the test when the server still runs then.
func (s *Server) Database(tb testing.TB) string {
	tb.Helper()
	name := name()
	if err := s.sql(tb.Context(), "CREATE DATABASE "+name); err != nil {
		tb.Fatalf("creating a database: %v", err)
	}
	tb.Cleanup(func() {
		ctx := context.WithoutCancel(tb.Context())
		if err := s.sql(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			tb.Logf("dropping database %s: %v", name, err)
		}
	})
	u, err := url.Parse(s.value)
	if err != nil {
		tb.Fatal(err)
	}
	u.Path = name
	return u.String()
}

func (s *Server) sql(ctx context.Context, statement string) error {
	conn, err := pgx.Connect(ctx, s.value)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}

// Redis returns the URL of an empty database on the shared server.
func Redis(tb testing.TB) string {
	tb.Helper()
	return shared(tb, KindRedis, sharedRedis).Redis(tb)
}

// Redis returns the URL of a database on this server that no other test has. Databases
// have numbers, so the server itself counts them, in the first one.
func (s *Server) Redis(tb testing.TB) string {
	tb.Helper()
	opts, err := redis.ParseURL(s.value)
	if err != nil {
		tb.Fatal(err)
	}
	client := redis.NewClient(opts)
	defer client.Close()
	number, err := client.Incr(tb.Context(), "databases").Result()
	if err != nil {
		tb.Fatalf("asking for a database of Redis: %v", err)
	}
	return fmt.Sprintf("%s/%d", strings.TrimSuffix(s.value, "/"), number)
}

// KafkaUser returns settings for a broker of KindKafkaACL as one of its users:
// "admin" may do everything, "alice" and "bob" what somebody allows them. The
// topics have no prefix.
func (s *Server) KafkaUser(name string) config.Kafka {
	cfg := s.Kafka()
	cfg.TopicPrefix = ""
	cfg.SASL = config.KafkaSASL{Mechanism: "plain", User: name, Password: config.Secret(name + "-secret")}
	return cfg
}
