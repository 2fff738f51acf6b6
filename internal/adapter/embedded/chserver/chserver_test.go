//go:build linux || darwin

package chserver_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
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

	"github.com/millrace/millrace/internal/adapter/embedded/chlibrary"
	"github.com/millrace/millrace/internal/adapter/embedded/chserver"
	"github.com/millrace/millrace/internal/testkit"
)

const (
	// parentDir makes this test binary a program that runs a server on the
	// folder that it names, to be killed.
	parentDir  = "MILLRACE_CHSERVER_TEST_DIR"
	envLibrary = "MILLRACE_EMBEDDED_CLICKHOUSE_LIBRARY"
)

func TestMain(m *testing.M) {
	chserver.RunIfChild()
	runIfFakeBinary()
	if dir := os.Getenv(parentDir); dir != "" {
		serve(dir)
	}
	os.Exit(m.Run())
}

// serve runs a server until this process is killed, and prints its address.
func serve(dir string) {
	s, err := chserver.Start(context.Background(), config(dir))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(s.Addr())
	select {}
}

func config(dir string) chserver.Config {
	return chserver.Config{
		Listen: "127.0.0.1:0", HTTPListen: "127.0.0.1:0", Dir: dir,
		Library: os.Getenv(envLibrary), Log: slog.New(slog.DiscardHandler),
	}
}

func start(t *testing.T, cfg chserver.Config) *chserver.Server {
	t.Helper()
	s, err := chserver.Start(t.Context(), cfg)
	switch {
	case errors.Is(err, chlibrary.ErrMissing) && testing.Short():
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestItServesOnBothAddressesAndKeepsItsTables(t *testing.T) {
	t.Parallel()
	cfg := config(t.TempDir())
	first := start(t, cfg)
	fill(t, first.Addr())
	res, err := http.Get("http://" + first.HTTPAddr() + "/ping")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, _ := io.ReadAll(res.Body); string(body) != "Ok.\n" {
		t.Errorf("HTTP answers %q", body)
	}
	first.Close()
	if err := dial(t.Context(), first.Addr()); err == nil {
		t.Error("it still serves after Close")
	}
	if err := first.Died(); err != nil {
		t.Errorf("Died() of one that was closed = %v", err)
	}

	cfg.Listen, cfg.HTTPListen = first.Addr(), first.HTTPAddr() // the same ports, at once
	second := start(t, cfg)
	if got := count(t, second.Addr()); got != 3 {
		t.Errorf("after a restart the table has %d rows, want 3", got)
	}
}

// Once it has served it may die as often as it likes, also in a row.
func TestItIsStartedAgainOnTheSamePortsWhenItDies(t *testing.T) {
	t.Parallel()
	const kills = 7 // more than starts may fail
	dir := t.TempDir()
	log := testkit.NewLog(t, "log")
	cfg := config(dir)
	cfg.Log = log.Logger()
	s := start(t, cfg)
	fill(t, s.Addr())
	for n := range kills {
		if err := s.Died(); (err != nil) != (n > 0) {
			t.Errorf("after %d kills: Died() = %v", n, err)
		}
		kill(t, pid(t, dir))
		eventually(t, "another child serves", func() bool { return strings.Count(log.String(), "ClickHouse restarted") > n })
	}
	if got := count(t, s.Addr()); got != 3 {
		t.Errorf("after the kills the table has %d rows, want 3", got)
	}
	s.Close()
	if err := s.Died(); err == nil ||
		!strings.HasPrefix(err.Error(), "7 times, first: the embedded ClickHouse died: signal: killed") {
		t.Errorf("Died() = %v", err)
	}
}

// A server that aborts logs at once why, and takes seconds to end: until then it
// looks as if it served.
func TestADeathIsToldWithWhatTheLogSays(t *testing.T) {
	t.Parallel()
	for name, whenDying := range map[string]func(*testing.T, *chserver.Server){
		"which is seen to its end": func(t *testing.T, s *chserver.Server) {
			t.Helper()
			eventually(t, "its death is told", func() bool { return s.Died() != nil })
			if got := s.Died().Error(); !strings.Contains(got, "the embedded ClickHouse died: signal: aborted: ") {
				t.Errorf("Died() = %v", got)
			}
		},
		"which Close finds begun": func(*testing.T, *chserver.Server) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := start(t, config(dir))
			if err := syscall.Kill(pid(t, dir), syscall.SIGABRT); err != nil {
				t.Fatal(err)
			}
			eventually(t, "its log tells of the end", func() bool {
				log, err := os.ReadFile(filepath.Join(dir, "clickhouse.err.log"))
				return err == nil && strings.Contains(string(log), "Received signal")
			})
			whenDying(t, s)
			s.Close()
			if err := s.Died(); err == nil || !strings.Contains(err.Error(), "\nClientBase: ") ||
				!strings.Contains(err.Error(), "Received signal") {
				t.Errorf("Died() = %v", err)
			}
		})
	}
}

func TestItGivesUpWhenItDiesAgainAndAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, config(dir))
	// What it needs to start is taken away.
	if err := os.Remove(filepath.Join(dir, "config.xml")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "config.xml"), 0o700); err != nil {
		t.Fatal(err)
	}
	kill(t, pid(t, dir))
	select {
	case err := <-s.Failed():
		if !strings.Contains(err.Error(), "config.xml") {
			t.Errorf("the reason is %q, want config.xml in it", err)
		}
	case <-time.After(time.Minute):
		t.Error("it has not given up after a minute")
	}
}

func TestAStartWaitsForTheServerOfAKilledProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentDir+"="+dir)
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { parent.Process.Kill() })
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	addr = strings.TrimSpace(addr)
	if strings.Contains(addr, chlibrary.ErrMissing.Error()) && testing.Short() {
		t.Skip(addr)
	}
	fill(t, addr)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	parent.Wait()

	cfg := config(dir)
	cfg.Listen = addr
	if got := count(t, start(t, cfg).Addr()); got != 3 {
		t.Errorf("after the kill the table has %d rows, want 3", got)
	}
}

func TestAStartThatCannotWorkSaysWhy(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	inUse := taken.Addr().String() + " is in use by another program; stop it or set "
	notALibrary := filepath.Join(t.TempDir(), "libchdb.so")
	if err := os.WriteFile(notALibrary, []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		change func(*chserver.Config)
		want   string
	}{
		{
			"native port in use", func(c *chserver.Config) { c.Listen = taken.Addr().String() },
			inUse + "MILLRACE_EMBEDDED_CLICKHOUSE_LISTEN to another address",
		},
		{
			"HTTP port in use", func(c *chserver.Config) { c.HTTPListen = taken.Addr().String() },
			inUse + "MILLRACE_EMBEDDED_CLICKHOUSE_HTTP_LISTEN to another address",
		},
		{
			"reachable by others", func(c *chserver.Config) { c.Listen = "0.0.0.0:0" },
			"MILLRACE_EMBEDDED_CLICKHOUSE_LISTEN: \"0.0.0.0:0\" must be a loopback address",
		},
		{
			"HTTP reachable by others", func(c *chserver.Config) { c.HTTPListen = ":0" },
			"MILLRACE_EMBEDDED_CLICKHOUSE_HTTP_LISTEN: \":0\" must be a loopback address",
		},
		{
			"no such binary", func(c *chserver.Config) { c.Binary = "/no/such/clickhouse" },
			"MILLRACE_EMBEDDED_CLICKHOUSE_BINARY",
		},
		{"no such library", func(c *chserver.Config) {
			c.Library = "/no/such/lib.so"
		}, "MILLRACE_EMBEDDED_CLICKHOUSE_LIBRARY"},
		{
			"not a library", func(c *chserver.Config) { c.Library = notALibrary },
			"the embedded ClickHouse could not start: loading " + notALibrary,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := config(t.TempDir())
			tt.change(&cfg)
			s, err := chserver.Start(t.Context(), cfg)
			if err == nil {
				s.Close()
			}
			if errors.Is(err, chlibrary.ErrMissing) && testing.Short() {
				t.Skip(err)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("the error is %v, want %q in it", err, tt.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has more than one line: %q", err)
			}
		})
	}
}

func TestAStartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start(t, config(dir)) // holds the folder
	ctx, cancel := context.WithCancel(t.Context())
	cfg := config(dir)
	cfg.Notify = func(line string) {
		if strings.HasPrefix(line, "waiting for the previous ClickHouse") {
			cancel()
		}
	}
	if _, err := chserver.Start(ctx, cfg); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, want the context's", err)
	}
}

// fill makes a table of three rows that are on disk when it returns.
func fill(t *testing.T, addr string) {
	t.Helper()
	for _, q := range []string{
		"CREATE TABLE x (n UInt64) ENGINE = MergeTree ORDER BY n SETTINGS fsync_after_insert = 1",
		"INSERT INTO x SELECT number FROM numbers(3)",
	} {
		do(t, addr, ch.Query{Body: q})
	}
}

func count(t *testing.T, addr string) uint64 {
	t.Helper()
	return number(t, addr, "SELECT count() AS n FROM x")
}

// number is the n that a query answers.
func number(t *testing.T, addr, query string) uint64 {
	t.Helper()
	var n proto.ColUInt64
	do(t, addr, ch.Query{Body: query, Result: proto.Results{{Name: "n", Data: &n}}})
	return n[0]
}

func do(t *testing.T, addr string, q ch.Query) {
	t.Helper()
	client, err := ch.Dial(t.Context(), ch.Options{Address: addr})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.Do(t.Context(), q); err != nil {
		t.Fatalf("%s: %v", q.Body, err)
	}
}

func dial(ctx context.Context, addr string) error {
	client, err := ch.Dial(ctx, ch.Options{Address: addr})
	if err != nil {
		return err
	}
	return client.Close()
}

// pid returns the child's process id. A file that is empty is just being written.
func pid(t *testing.T, dir string) int {
	t.Helper()
	var text string
	eventually(t, "the process id is written", func() bool {
		data, err := os.ReadFile(filepath.Join(dir, "pid"))
		if err != nil {
			t.Fatal(err)
		}
		text = strings.TrimSpace(string(data))
		return text != ""
	})
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-deadline:
			t.Fatalf("after a minute it is not true that %s", what)
		case <-tick.C:
		}
	}
}
