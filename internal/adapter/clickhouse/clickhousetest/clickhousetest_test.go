package clickhousetest_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
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
	if used.Database == "" {
		t.SkipNow() // as what it looks at was
	}
	other := used
	other.Database = "default"
	var n proto.ColUInt64
	query(t, other, "SELECT count() AS n FROM system.databases WHERE name = '"+used.Database+"'", &n)
	if n[0] != 0 {
		t.Error("the database is still there")
	}
}

// killing makes the test of that name kill the server that its binary shares.
const killing = "MILLRACE_CLICKHOUSETEST_KILLING"

func TestABinaryFailsWhenItsServerDies(t *testing.T) {
	t.Parallel()
	for _, kills := range []string{"0", "1"} {
		t.Run(kills+" kills", func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTheSharedServerAnswers$")
			cmd.Env = append(os.Environ(), killing+"="+kills, "TMPDIR="+t.TempDir(), clickhousetest.Environment+"=")
			out, err := cmd.CombinedOutput()
			if !bytes.Contains(out, []byte("PASS")) {
				t.Fatalf("its tests fail: %v: %s", err, out)
			}
			told := fmt.Sprintf("panic: the server of %s: the embedded ClickHouse died: signal: killed",
				filepath.Base(os.Args[0]))
			if failed := err != nil; failed != (kills != "0") || bytes.Contains(out, []byte(told)) != failed {
				t.Errorf("it ends with %v, and says:\n%s", err, out)
			}
		})
	}
}

// In the binary that the test before starts, the server may be killed, which this
// test would not notice.
func TestTheSharedServerAnswers(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Database(t)
	if os.Getenv(killing) == "1" {
		files, err := filepath.Glob(filepath.Join(os.TempDir(), "clickhousetest-*", "pid"))
		if err != nil || len(files) != 1 {
			t.Fatalf("the server's folder: %v, %v", files, err)
		}
		text, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, time.Minute, func() error {
			if clickhousetest.Died() == nil {
				return errors.New("the death is not told")
			}
			return nil
		})
		clickhousetest.Database(t) // waits for the next one
	}
	if got := tables(t, cfg); got != 0 {
		t.Errorf("an empty database has %d tables", got)
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
