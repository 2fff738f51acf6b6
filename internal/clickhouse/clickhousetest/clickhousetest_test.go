package clickhousetest_test

import (
	"testing"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/config"
)

func TestMain(m *testing.M) { clickhousetest.Main(m) }

func TestEachDatabaseIsEmptyAndItsOwn(t *testing.T) {
	t.Parallel()
	a, b := clickhousetest.Database(t), clickhousetest.Database(t)
	if a.Database == b.Database {
		t.Fatalf("both databases are %s", a.Database)
	}
	do(t, a, "CREATE TABLE x (n UInt8) ENGINE = MergeTree ORDER BY n")
	if got := tables(t, b); got != 0 {
		t.Errorf("a table made in one database shows as %d tables in another", got)
	}
}

func TestADatabaseIsGoneAfterItsTest(t *testing.T) { //nolint:tparallel // the end of its subtest is what is tested
	t.Parallel()
	var used config.ClickHouse
	t.Run("use it", func(t *testing.T) {
		used = clickhousetest.Database(t)
		do(t, used, "CREATE TABLE x (n UInt8) ENGINE = MergeTree ORDER BY n")
	})
	other := used
	other.Database = "default"
	var n proto.ColUInt64
	query(t, other, "SELECT count() AS n FROM system.databases WHERE name = '"+used.Database+"'", &n)
	if n[0] != 0 {
		t.Error("the database is still there")
	}
}

func tables(t *testing.T, cfg config.ClickHouse) uint64 {
	t.Helper()
	var n proto.ColUInt64
	query(t, cfg, "SELECT count() AS n FROM system.tables WHERE database = currentDatabase()", &n)
	return n[0]
}

func do(t *testing.T, cfg config.ClickHouse, statement string) {
	t.Helper()
	run(t, cfg, ch.Query{Body: statement})
}

func query(t *testing.T, cfg config.ClickHouse, statement string, n *proto.ColUInt64) {
	t.Helper()
	run(t, cfg, ch.Query{Body: statement, Result: proto.Results{{Name: "n", Data: n}}})
}

func run(t *testing.T, cfg config.ClickHouse, q ch.Query) {
	t.Helper()
	client, err := ch.Dial(t.Context(), ch.Options{Address: cfg.Addr[0], Database: cfg.Database})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.Do(t.Context(), q); err != nil {
		t.Fatal(err)
	}
}
