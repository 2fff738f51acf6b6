package services

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/testkit"
)

// meetingEnv is the folder in which two test binaries meet, and sideEnv which of the
// two one is.
const (
	meetingEnv = "MILLRACE_SERVICES_MEETING"
	sideEnv    = "MILLRACE_SERVICES_SIDE"
)

// Two test binaries use the servers of one run at the same time, as those of packages
// that run side by side do: each makes what the other makes too, under the same names,
// and what one of them leaves behind or takes away at its end is nothing to the other.
func TestTwoBinariesShareTheServersOfARun(t *testing.T) {
	t.Parallel()
	kafka, postgres, redis := shared(t, KindKafka, sharedKafka), shared(t, KindPostgres, sharedPostgres), shared(t,
		KindRedis, sharedRedis)
	dir := t.TempDir()
	ended := make([]chan error, 2)
	var logs [2]testkit.Log
	for i := range ended {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOneOfTwoBinaries$", "-test.v")
		cmd.Env = append(os.Environ(),
			meetingEnv+"="+dir, fmt.Sprintf("%s=%d", sideEnv, i),
			AddressEnv+"KAFKA_BROKERS="+kafka.value, AddressEnv+"POSTGRES_URL="+postgres.value,
			AddressEnv+"REDIS_URL="+redis.value)
		cmd.Stdout, cmd.Stderr = &logs[i], &logs[i]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended[i] = make(chan error, 1)
		go func() { ended[i] <- cmd.Wait() }()
	}
	for i := range ended {
		if err := <-ended[i]; err != nil || !logs[i].Contains("--- PASS: TestOneOfTwoBinaries") {
			t.Errorf("binary %d: %v\n%s", i, err, &logs[i])
		}
		note(t, dir, fmt.Sprintf("gone-%d", i), "")
	}
}

// TestOneOfTwoBinaries is what each of the two binaries runs.
func TestOneOfTwoBinaries(t *testing.T) {
	t.Parallel()
	dir, side := os.Getenv(meetingEnv), os.Getenv(sideEnv)
	if dir == "" {
		return
	}
	mine := makeThings(t)
	mine.check(t)
	note(t, dir, "made-"+side, mine.topic)
	other := await(t, dir, map[string]string{"0": "made-1", "1": "made-0"}[side])
	mine.check(t)
	if side == "0" {
		return
	}
	await(t, dir, "gone-0")
	mine.awaitTopic(t, other, false)
	mine.check(t)
}

// things are what a test has made on the three servers.
type things struct {
	admin *kadm.Client
	conn  *pgx.Conn
	redis *redis.Client
	topic string
}

// makeThings fails when something of that name is there already.
func makeThings(t *testing.T) *things {
	t.Helper()
	cfg := Kafka(t)
	client, err := kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	m := &things{admin: kadm.NewClient(client), topic: cfg.TopicPrefix + "events"}
	if _, err := m.admin.CreateTopic(t.Context(), 1, 1, nil, m.topic); err != nil {
		t.Fatal(err)
	}
	if m.conn, err = pgx.Connect(t.Context(), Postgres(t)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.conn.Close(t.Context()) })
	if _, err := m.conn.Exec(t.Context(), "CREATE TABLE events AS SELECT $1::text AS topic", m.topic); err != nil {
		t.Fatal(err)
	}
	opts, err := redis.ParseURL(Redis(t))
	if err != nil {
		t.Fatal(err)
	}
	m.redis = redis.NewClient(opts)
	t.Cleanup(func() { m.redis.Close() })
	if set, err := m.redis.SetNX(t.Context(), "events", m.topic, 0).Result(); err != nil || !set {
		t.Fatalf("the database of Redis is not empty: %v, %v", set, err)
	}
	return m
}

// awaitTopic waits until a topic is there, or is not: the client and the broker each know
// a moment later than it was made.
func (m *things) awaitTopic(t *testing.T, topic string, there bool) {
	t.Helper()
	testkit.Eventually(t, time.Minute, func() error {
		topics, err := m.admin.ListTopics(t.Context())
		if err == nil && topics.Has(topic) != there {
			err = fmt.Errorf("that there is the topic %s should be %t", topic, there)
		}
		return err
	})
}

// check fails unless everything is as it was made.
func (m *things) check(t *testing.T) {
	t.Helper()
	m.awaitTopic(t, m.topic, true)
	var got string
	if err := m.conn.QueryRow(t.Context(), "SELECT topic FROM events").Scan(&got); err != nil || got != m.topic {
		t.Errorf("the table says %q, %v; want %q", got, err, m.topic)
	}
	if got, err := m.redis.Get(t.Context(), "events").Result(); err != nil || got != m.topic {
		t.Errorf("Redis says %q, %v; want %q", got, err, m.topic)
	}
}

// note leaves a file, whole or not at all, in the folder where the binaries meet.
func note(t *testing.T, dir, name, text string) {
	t.Helper()
	part := filepath.Join(dir, "."+name)
	if err := errors.Join(os.WriteFile(part, []byte(text), 0o600), os.Rename(part, filepath.Join(dir, name))); err != nil {
		t.Fatal(err)
	}
}

// await returns what a note says once it is there.
func await(t *testing.T, dir, name string) string {
	t.Helper()
	var text []byte
	testkit.Eventually(t, time.Minute, func() (err error) {
		text, err = os.ReadFile(filepath.Join(dir, name))
		return err
	})
	return strings.TrimSpace(string(text))
}
