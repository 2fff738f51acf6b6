package services

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/millrace/millrace/internal/config"
)

// The servers that all tests of a binary share, started by the first that asks.
var (
	sharedKafka    = sync.OnceValues(func() (*Server, error) { return launch(KindKafka) })
	sharedPostgres = sync.OnceValues(func() (*Server, error) { return launch(KindPostgres) })
	sharedRedis    = sync.OnceValues(func() (*Server, error) { return launch(KindRedis) })
	serial         atomic.Int64
)

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
	return shared(tb, KindKafka, sharedKafka).Kafka()
}

// Kafka returns settings for this broker, with a new topic prefix.
func (s *Server) Kafka() config.Kafka {
	cfg := config.Default().Kafka
	cfg.Brokers = []string{s.value}
	cfg.TopicPrefix = fmt.Sprintf("t%d.", serial.Add(1))
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
	name := fmt.Sprintf("t%d", serial.Add(1))
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
	return shared(tb, KindRedis, sharedRedis).Redis()
}

// Redis returns the URL of a database on this server that no other test has.
func (s *Server) Redis() string {
	return strings.TrimSuffix(s.value, "/") + fmt.Sprintf("/%d", serial.Add(1))
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
