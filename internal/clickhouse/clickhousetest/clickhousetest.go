// Package clickhousetest gives a test a database of its own on a real ClickHouse
// server.
//
// A test binary that uses it has
//
//	func TestMain(m *testing.M) { clickhousetest.Main(m) }
//
// The server starts with the first test that asks for a database, serves all
// tests of the binary, and is gone when they end. Should it die meanwhile, for which
// no test has a reason, the binary fails, whatever its tests say. Where the server is
// not installed a test fails with what to run. Under -short it is left out.
package clickhousetest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/oklog/ulid/v2"

	"github.com/millrace/millrace/internal/config"
	"github.com/millrace/millrace/internal/embedded/chlibrary"
	"github.com/millrace/millrace/internal/embedded/chserver"
)

// envLibrary is the setting of the same name; a test run has no other settings.
const envLibrary = "MILLRACE_EMBEDDED_CLICKHOUSE_LIBRARY"

const (
	dropTimeout = 3 * time.Minute
	retryEvery  = 100 * time.Millisecond
)

// shared is the server of this test binary.
var shared struct {
	once   sync.Once
	dir    string
	server *chserver.Server
	err    error
}

// Main runs the tests of a binary and stops the server that they started. It panics
// when the server died under them, because whoever runs failed tests again leaves a panic
// as it is. Otherwise it never returns.
func Main(m interface{ Run() int }) {
	chserver.RunIfChild()
	code := m.Run()
	if err := stop(); err != nil {
		panic(fmt.Sprintf("the server of %s: %v", filepath.Base(os.Args[0]), err)) //nolint:forbidigo // see above
	}
	os.Exit(code)
}

// Database makes an empty database and returns the settings to reach it. The
// database is dropped when the test ends.
func Database(tb testing.TB) config.ClickHouse {
	tb.Helper()
	addr := Server(tb).Addr()
	name := "test_" + strings.ToLower(ulid.Make().String())
	exec(tb, addr, "CREATE DATABASE IF NOT EXISTS "+name)
	tb.Cleanup(func() { exec(tb, addr, "DROP DATABASE IF EXISTS "+name+" SYNC") })

	cfg := config.Default().ClickHouse
	cfg.Addr, cfg.Database = []string{addr}, name
	return cfg
}

// Server returns the server that the tests of this binary share.
func Server(tb testing.TB) *chserver.Server {
	tb.Helper()
	if testing.Short() {
		tb.Skip("needs ClickHouse, which -short leaves out")
	}
	shared.once.Do(start)
	switch {
	case errors.Is(shared.err, chlibrary.ErrMissing):
		tb.Fatal("the ClickHouse library is not installed; run make clickhouse")
	case shared.err != nil:
		tb.Fatal(shared.err)
	}
	return shared.server
}

func start() {
	if shared.dir, shared.err = os.MkdirTemp("", "clickhousetest-"); shared.err != nil {
		return
	}
	// The server outlives the test that happens to be first.
	shared.server, shared.err = chserver.Start(context.Background(), serverIn(shared.dir))
}

func serverIn(dir string) chserver.Config {
	return chserver.Config{
		Listen: "127.0.0.1:0", HTTPListen: "127.0.0.1:0", Dir: dir,
		Library: os.Getenv(envLibrary), //nolint:forbidigo // tests have no settings but this one
		Log:     slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
}

// Users starts a server for this test alone, which besides the user that may do
// everything has users with grants, such as "SELECT ON *.*", by name. It returns the
// settings of the former. Nobody has a password.
func Users(tb testing.TB, grants map[string][]string) config.ClickHouse {
	tb.Helper()
	Server(tb) // leaves out under -short, or fails without the library
	cfg := serverIn(tb.TempDir())
	cfg.Users = grants
	server, err := chserver.Start(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := errors.Join(server.Close(), server.Died()); err != nil {
			tb.Error(err)
		}
	})
	settings := config.Default().ClickHouse
	settings.Addr = []string{server.Addr()}
	return settings
}

func stop() error {
	if shared.dir == "" {
		return nil
	}
	var err error
	if shared.server != nil {
		err = errors.Join(shared.server.Close(), shared.server.Died())
	}
	return errors.Join(err, os.RemoveAll(shared.dir))
}

// exec runs one statement outside of any database. It waits for a server that is
// just starting again: that it died is told by Main, not by the test that meets it.
func exec(tb testing.TB, addr, statement string) {
	tb.Helper()
	// A test's own context has ended when its cleanup runs.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), dropTimeout)
	defer cancel()
	for {
		err := run(ctx, addr, statement)
		if err == nil {
			return
		}
		select {
		case <-time.After(retryEvery):
		case <-ctx.Done():
			tb.Fatalf("running %q: %v", statement, err)
		}
	}
}

func run(ctx context.Context, addr, statement string) error {
	client, err := ch.Dial(ctx, ch.Options{Address: addr, ClientName: "clickhousetest"})
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Do(ctx, ch.Query{Body: statement})
}
