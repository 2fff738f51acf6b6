package operate

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/app/doctor"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/services"
)

// illness is a way in which an installation is broken on purpose.
type illness struct {
	name string
	// infect returns the settings that are wrong, or makes a server wrong.
	infect func(t *testing.T, s *site) map[string]string
	// check names the finding, what is part of its sentence, do of its advice.
	check, what, do string
}

func settings(pairs ...string) func(*testing.T, *site) map[string]string {
	return func(*testing.T, *site) map[string]string {
		changed := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			changed[pairs[i]] = pairs[i+1]
		}
		return changed
	}
}

// illnesses that a setting brings, each on servers that are well.
var settingsIllnesses = []illness{
	{"a setting that is none", settings("KAFKA_PARTITONS", "4"), "settings", "KAFKA_PARTITONS", "config reference"},
	{"no broker there", nowhere("KAFKA_BROKERS"), "kafka.reach", "connection refused", "kafka.brokers"},
	{"another server instead of Kafka", func(t *testing.T, s *site) map[string]string {
		return map[string]string{"KAFKA_BROKERS": postgresAddr(t, s.storeURL)}
	}, "kafka.reach", "do not respond like Kafka", "check the port"},
	{
		"no topics under this prefix", settings("KAFKA_TOPIC_PREFIX", "nobody."), "kafka.topics",
		"missing topics: nobody.events.v1", "topics create",
	},
	{
		"other partitions than the settings say", settings("KAFKA_PARTITIONS", "12"), "kafka.topics",
		"events.v1 has 4 partitions, but kafka.partitions is 12", "growing-topics",
	},
	{
		"fewer replicas than the settings say", settings("KAFKA_REPLICATION", "3"), "kafka.topics",
		"has 1 replicas, but kafka.replication is 3", "reassign",
	},
	{"certificates that are none", func(t *testing.T, _ *site) map[string]string {
		file := filepath.Join(t.TempDir(), "ca.pem")
		write(t, file, "no certificate")
		return map[string]string{"KAFKA_TLS_ENABLED": "true", "KAFKA_TLS_CA_FILE": file}
	}, "files", "contains nothing in PEM format", "correct the path"},
	{"no ClickHouse there", nowhere("CLICKHOUSE_ADDR"), "clickhouse.reach", "connection refused", "clickhouse.addr"},
	{
		"a database that is missing", settings("CLICKHOUSE_DATABASE", "nobodys"), "clickhouse.schema",
		"database nobodys is missing", "millrace migrate",
	},
	{"no PostgreSQL there", func(t *testing.T, _ *site) map[string]string {
		return map[string]string{"STORE_URL": "postgres://millrace:secret@" + testkit.FreeAddr(t) + "/millrace"}
	}, "store.reach", "connection refused", "store.url"},
	{"a database without tables", func(t *testing.T, _ *site) map[string]string {
		return map[string]string{"STORE_URL": services.Postgres(t)}
	}, "store.schema", "no schema yet", "millrace bootstrap"},
	{
		"a SQLite file that is missing", settings("STORE_URL", "sqlite:/nowhere/millrace.db"), "store.reach",
		"no metadata store exists at /nowhere/millrace.db", "millrace migrate",
	},
	{"no Redis there", func(t *testing.T, _ *site) map[string]string {
		return map[string]string{"REDIS_URL": "redis://" + testkit.FreeAddr(t)}
	}, "redis.reach", "connection refused", "redis.url"},
	{"no billing service there", nowhere("BILLING_URL", "http://"), "billing.reach", "connection refused", "billing.url"},
	{"no mail server there", func(t *testing.T, s *site) map[string]string {
		changed := nowhere("MAIL_SMTP_ADDR")(t, s)
		changed["MAIL_FROM"] = "millrace@example.com"
		return changed
	}, "mail.reach", "connection refused", "mail.smtp.addr"},
	{
		"no collector of traces there", nowhere("TRACE_ENDPOINT", "http://"), "trace.reach", "connection refused",
		"trace.endpoint",
	},
	{"a wrong password for Redis", func(t *testing.T, _ *site) map[string]string {
		return map[string]string{"REDIS_URL": strings.Replace(services.Redis(t), "redis://", "redis://somebody:wrong@", 1)}
	}, "redis.reach", "WRONGPASS", "user and password"},
	{"a folder that cannot be written", func(t *testing.T, _ *site) map[string]string {
		file := filepath.Join(t.TempDir(), "file")
		write(t, file, "")
		return map[string]string{"STORE_URL": "", "DATA_DIR": filepath.Join(file, "data")}
	}, "data.dir", "cannot be written", "data.dir"},
	{"a port that is taken", func(t *testing.T, _ *site) map[string]string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return map[string]string{"INGEST_LISTEN": l.Addr().String()}
	}, "listen", "another program listens", "ss -ltnp"},
	{"a proxy in front that is not believed", func(t *testing.T, _ *site) map[string]string {
		return map[string]string{"INGEST_PUBLIC_URL": "https://" + testkit.FreeAddr(t)}
	}, "proxy.trusted", "proxy.trusted is empty", "addresses of the proxy"},
}

// serverIllnesses are servers that were changed behind millrace's back. They come
// one after the other to one installation, which gets no better.
var serverIllnesses = []illness{
	{"a topic that was deleted", kafkaAdmin(func(ctx context.Context, adm *kadm.Client, prefix string) error {
		_, err := adm.DeleteTopic(ctx, prefix+"vitals.v1")
		return err
	}), "kafka.topics", "missing topics: ", "topics create"},
	{
		"a topic that keeps less than the window", topicSetting("retention.ms", "600000"), "kafka.topics",
		"keeps records for 10m0s, but sink.window is 1h0m0s", "kafka-configs.sh",
	},
	{
		"a topic that is compacted", topicSetting("cleanup.policy", "compact"), "kafka.topics",
		"has cleanup.policy=compact, not delete", "kafka-configs.sh",
	},
	{
		"a topic that takes only small batches", topicSetting("max.message.bytes", "1000"), "kafka.topics",
		"has max.message.bytes=1000, but needs 1048576", "kafka-configs.sh",
	},
	{
		"more replicas wanted in sync than there are", topicSetting("min.insync.replicas", "2"), "kafka.topics",
		"has min.insync.replicas=2 and 1 replicas", "kafka-configs.sh",
	},
	{
		"a table that remembers no tokens",
		ordered("ALTER TABLE events MODIFY SETTING non_replicated_deduplication_window = 0"), "clickhouse.exactness",
		"non_replicated_deduplication_window", "follow the instruction",
	},
	{
		"a view that is gone", ordered("DROP TABLE " + schema.Views[0].Name + " SYNC"), "clickhouse.exactness", "is missing",
		"follow the instruction",
	},
	{
		"a migration that was not run",
		ordered("ALTER TABLE schema_migrations DELETE WHERE version = 1 SETTINGS mutations_sync = 1"), "clickhouse.schema",
		"lacks migration 0001", "millrace migrate",
	},
	{
		"a migration of the store that was another file", func(t *testing.T, s *site) map[string]string {
			postgres(t, s.storeURL, "UPDATE millrace_schema SET checksum = 'of another file' WHERE version_id = 1")
			return nil
		}, "store.schema", "postgres/00001_initial.sql: not the migration that was applied",
		"use the build that created the database",
	},
	{"a user without rights", func(t *testing.T, s *site) map[string]string {
		role := "reader" + strings.Trim(s.kafka.TopicPrefix, ".")
		postgres(t, s.storeURL, "CREATE ROLE "+role+" LOGIN PASSWORD 'r'",
			"GRANT SELECT ON ALL TABLES IN SCHEMA public TO "+role)
		t.Cleanup(func() { postgres(t, s.storeURL, "DROP OWNED BY "+role, "DROP ROLE "+role) })
		return map[string]string{"STORE_URL": asRole(t, s.storeURL, role)}
	}, "store.rights", "may not read and write", "GRANT SELECT"},
}

func TestTheDoctorNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	t.Run("nothing", func(t *testing.T) {
		testkit.EventuallyEvery(t, time.Second, patience, func() error {
			out, code := millrace(t, s.settings, "doctor", "--all")
			if code != 0 || strings.Contains(out, "fail") && !strings.Contains(out, " 0 failures") {
				return fmt.Errorf("the doctor finds something on an installation that is well, and ends with %d:\n%s", code, out)
			}
			return nil
		})
	})
	t.Run("settings", func(t *testing.T) {
		for _, i := range settingsIllnesses {
			t.Run(i.name, func(t *testing.T) {
				t.Parallel()
				i.found(t, s)
			})
		}
		t.Run("clocks", func(t *testing.T) {
			t.Parallel()
			s.clocksAreCompared(t)
		})
	})
	for _, i := range serverIllnesses {
		t.Run(i.name, func(t *testing.T) { i.found(t, s) })
	}
}

// found runs the doctor on the ill installation and wants the one finding, with
// its reason and advice. It asks again: the doctor gives each server some seconds, and
// one that a busy machine keeps from answering is a finding too.
func (i illness) found(t *testing.T, s *site) {
	t.Helper()
	changed := s.with(i.infect(t, s))
	testkit.EventuallyEvery(t, time.Second, patience, func() error {
		start := time.Now()
		out, code := millrace(t, changed, "doctor", "--json")
		if took := time.Since(start); took > time.Minute {
			return fmt.Errorf("it took %s", took)
		}
		return i.isIn(out, code)
	})
}

// isIn says what is wrong with a report of the illness.
func (i illness) isIn(out string, code int) error {
	var r doctor.Report
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&r); err != nil {
		return fmt.Errorf("%w:\n%s", err, out)
	}
	if wantFail := r.Worst() == doctor.Fail; (code == 1) != wantFail {
		return fmt.Errorf("it ends with %d, worst finding: %s", code, r.Worst())
	}
	for _, f := range r.Findings {
		if f.Check == i.check && f.Level != doctor.OK && strings.Contains(f.What, i.what) {
			if !strings.Contains(f.Do, i.do) || f.Why == "" {
				return fmt.Errorf("of %q it says %q and %q, want %q advised", f.What, f.Why, f.Do, i.do)
			}
			return nil
		}
	}
	return fmt.Errorf("no finding of %s says %q:\n%s", i.check, i.what, out)
}

// clocksAreCompared sets this machine's clock back by five minutes.
func (s *site) clocksAreCompared(t *testing.T) {
	t.Helper()
	cfg := config.Default()
	cfg.Kafka, cfg.ClickHouse, cfg.Store.URL = s.kafka, s.clickhouse, config.Secret(s.storeURL)
	cfg.Redis.URL = config.Secret(services.Redis(t))
	r := doctor.Run(t.Context(),
		doctor.Options{Settings: cfg, Now: func() time.Time { return time.Now().Add(-5 * time.Minute) }})
	off := map[string]bool{}
	for _, f := range r.Findings {
		if f.Level == doctor.Fail && strings.Contains(f.What, "ahead of this machine's") && strings.Contains(f.Do, "chrony") {
			off[f.Check] = true
		}
	}
	for _, check := range []string{"clock.clickhouse", "clock.store", "clock.redis"} {
		if !off[check] {
			t.Errorf("%s does not tell of five minutes", check)
		}
	}
}

// nowhere has a setting name an address at which nobody answers, with what stands before
// it.
func nowhere(setting string, before ...string) func(*testing.T, *site) map[string]string {
	return func(t *testing.T, _ *site) map[string]string {
		t.Helper()
		return map[string]string{setting: strings.Join(before, "") + testkit.FreeAddr(t)}
	}
}

func kafkaAdmin(
	do func(ctx context.Context, adm *kadm.Client, prefix string) error,
) func(*testing.T, *site) map[string]string {
	return func(t *testing.T, s *site) map[string]string {
		t.Helper()
		client, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.Brokers...))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if err := do(t.Context(), kadm.NewClient(client), s.kafka.TopicPrefix); err != nil {
			t.Fatal(err)
		}
		return nil
	}
}

func topicSetting(key, value string) func(*testing.T, *site) map[string]string {
	return kafkaAdmin(func(ctx context.Context, adm *kadm.Client, prefix string) error {
		_, err := adm.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Name: key, Value: &value}}, prefix+"events.v1")
		return err
	})
}

func ordered(statement string) func(*testing.T, *site) map[string]string {
	return func(t *testing.T, s *site) map[string]string {
		t.Helper()
		query(t, s.clickhouse, statement)
		return nil
	}
}

func postgres(t *testing.T, url string, statements ...string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
