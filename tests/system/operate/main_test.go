package operate

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/services"
	"github.com/millrace/millrace/tests/harness"
)

func TestMain(m *testing.M) { harness.MainBeside(m, 6) }

func leaveOutWhenShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out under -short: runs programs against real servers")
	}
}

// site is an installation's servers, and the settings of whoever works with them,
// as environment variables without the prefix MILLRACE_.
type site struct {
	kafka      config.Kafka
	clickhouse config.ClickHouse
	storeURL   string
	settings   map[string]string
}

// newSite has tables and topics, and no daemons.
func newSite(t *testing.T) *site {
	t.Helper()
	s := newServers(t)
	s.must(t, "migrate")
	s.must(t, "topics create")
	return s
}

// newServers has nothing in them.
func newServers(t *testing.T) *site {
	t.Helper()
	leaveOutWhenShort(t)
	s := &site{kafka: services.Kafka(t), clickhouse: clickhousetest.Database(t), storeURL: services.Postgres(t)}
	s.settings = map[string]string{
		"KAFKA_BROKERS": s.kafka.Brokers[0], "KAFKA_TOPIC_PREFIX": s.kafka.TopicPrefix,
		"KAFKA_PARTITIONS": strconv.Itoa(s.kafka.Partitions), "KAFKA_REPLICATION": strconv.Itoa(s.kafka.Replication),
		"CLICKHOUSE_ADDR": s.clickhouse.Addr[0], "CLICKHOUSE_DATABASE": s.clickhouse.Database,
		"STORE_URL": s.storeURL, "SINK_GROUP": s.kafka.TopicPrefix + "sink",
		"INGEST_LISTEN": testkit.FreeAddr(t), "QUERY_LISTEN": testkit.FreeAddr(t), "ADMIN_LISTEN": testkit.FreeAddr(t),
		"LINK_LISTEN": testkit.FreeAddr(t),
	}
	return s
}

// with returns the settings with some changed.
func (s *site) with(changed map[string]string) map[string]string {
	all := maps.Clone(s.settings)
	maps.Copy(all, changed)
	return all
}

func (s *site) must(t *testing.T, line string) string {
	t.Helper()
	out, code := millrace(t, s.settings, strings.Fields(line)...)
	if code != 0 {
		t.Fatalf("millrace %s ends with %d:\n%s", line, code, out)
	}
	return out
}

// millrace runs the program and returns what it prints and how it ends.
func millrace(t *testing.T, settings map[string]string, args ...string) (out string, code int) {
	t.Helper()
	return run(t, harness.Binary(t, "millrace"), settings, args...)
}

func run(t *testing.T, program string, settings map[string]string, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + cmd.Dir}
	for name, value := range settings {
		cmd.Env = append(cmd.Env, "MILLRACE_"+name+"="+value)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return stdout.String() + stderr.String(), exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return stdout.String(), 0
}

// postgresAddr is host:port of a store's URL, asRole the URL for somebody else.
func postgresAddr(t *testing.T, storeURL string) string {
	t.Helper()
	return parsed(t, storeURL).Host
}

func asRole(t *testing.T, storeURL, role string) string {
	t.Helper()
	u := parsed(t, storeURL)
	u.User = url.UserPassword(role, "r")
	return u.String()
}

func parsed(t *testing.T, storeURL string) *url.URL {
	t.Helper()
	u, err := url.Parse(storeURL)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// query runs a statement and returns the first column of its response, as text.
func query(t *testing.T, cfg config.ClickHouse, sql string) (rows []string) {
	t.Helper()
	c := harness.DialClickHouse(t, cfg)
	defer c.Close()
	var col proto.ColStr
	q := ch.Query{Body: sql}
	if strings.HasPrefix(sql, "SELECT") {
		q.Result = proto.Results{{Data: &col}}
		q.OnResult = func(context.Context, proto.Block) error {
			for i := range col.Rows() {
				rows = append(rows, col.Row(i))
			}
			col.Reset()
			return nil
		}
	}
	if err := c.Do(t.Context(), q); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return rows
}
