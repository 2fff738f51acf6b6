// Package clickhousetest gives a test a database of its own on a real ClickHouse
// server.
//
// A test binary that uses it has
//
//	func TestMain(m *testing.M) { clickhousetest.Main(m) }
//
// Where whoever runs the tests has started a server and says so in the environment, all
// binaries share that one. Else the server starts with the first test that asks for a
// database, serves all tests of the binary, and is gone when they end; should it die
// meanwhile, for which no test has a reason, the binary fails, whatever its tests say.
// Where the server is not installed a test fails with what to run. Under -short it is left
// out. A test that stops a server, or needs one with users, starts its own.
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
	"github.com/ClickHouse/ch-go/proto"
	"github.com/oklog/ulid/v2"

	"github.com/millrace/millrace/internal/adapter/embedded/chlibrary"
	"github.com/millrace/millrace/internal/adapter/embedded/chserver"
	"github.com/millrace/millrace/internal/adapter/embedded/filelock"
	"github.com/millrace/millrace/internal/platform/config"
)

// envLibrary is the setting of the same name; a test run has no other settings.
const envLibrary = "MILLRACE_EMBEDDED_CLICKHOUSE_LIBRARY"

// Environment names a server that the binaries of a run share: its address of the native
// protocol, a space, and that of its HTTP interface. Templates are migrated under a lock in
// the folder of temporary files, which they share too.
const Environment = "MILLRACE_TEST_CLICKHOUSE"

const (
	patience    = 3 * time.Minute
	retryEvery  = 100 * time.Millisecond
	dialTimeout = 30 * time.Second
)

// shared is the server of this test binary, or that of the run, whose server is nil here.
var shared struct {
	once         sync.Once
	native, http string // addresses
	dir          string
	server       *chserver.Server
	err          error
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
	cfg := named(server(tb))
	exec(tb, cfg.Addr[0], "CREATE DATABASE IF NOT EXISTS "+cfg.Database)
	tb.Cleanup(func() { drop(tb, cfg) })
	return cfg
}

// Migrated makes a database on which migrate was run, and returns the settings to reach
// it. The database is dropped when the test ends. Only the first call on a server migrates;
// all others make the tables and views that came of it, in half the time. Whoever tests
// migrations takes a Database.
func Migrated(tb testing.TB, migrate func(context.Context, config.ClickHouse) error) config.ClickHouse {
	tb.Helper()
	addr := server(tb)
	template.once.Do(func() { template.statements, template.err = makeTemplate(tb, migrate) })
	if template.err != nil {
		tb.Fatal(template.err)
	}
	cfg := named(addr)
	tb.Cleanup(func() { drop(tb, cfg) })
	// An attempt that was cut off may have left a part.
	statements := []string{dropping(cfg), "CREATE DATABASE " + cfg.Database}
	for _, s := range template.statements {
		statements = append(statements, strings.ReplaceAll(s, templateName, cfg.Database))
	}
	exec(tb, addr, append(statements, "INSERT INTO "+cfg.Database+applied+" SELECT * FROM "+templateName+applied)...)
	return cfg
}

const (
	templateName = "migrated_template" // in no statement but as the name of the database
	applied      = ".schema_migrations"
)

// template is what migrated databases are made of.
var template struct {
	once       sync.Once
	statements []string // in an order in which they can be run
	err        error
}

// makeTemplate migrates a database, which stays, and returns what makes its tables.
func makeTemplate(tb testing.TB, migrate func(context.Context, config.ClickHouse) error) ([]string, error) {
	// The template outlives the test that happens to be first.
	ctx, cfg := context.WithoutCancel(tb.Context()), named(server(tb))
	cfg.Database = templateName
	if err := alone(ctx, func() error { return migrate(ctx, cfg) }); err != nil {
		return nil, fmt.Errorf("migrating the template: %w", err)
	}
	client, err := dial(ctx, cfg.Addr[0])
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var statement proto.ColStr
	var all []string
	err = client.Do(ctx, ch.Query{
		Body: "SELECT create_table_query AS s FROM system.tables WHERE database = '" + templateName + "'" +
			" ORDER BY engine = 'MaterializedView', name",
		Result: proto.Results{{Name: "s", Data: &statement}},
		OnResult: func(context.Context, proto.Block) error {
			for i := range statement.Rows() {
				all = append(all, statement.Row(i))
			}
			return nil
		},
	})
	return all, err
}

// alone does something while no other binary of the run does, which may have done it.
func alone(ctx context.Context, do func() error) error {
	if shared.server != nil {
		return do()
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		lock, err := filelock.Lock(filepath.Join(os.TempDir(), "clickhousetest-template.lock"))
		if err == nil {
			return errors.Join(do(), lock.Close())
		}
		if !errors.Is(err, filelock.ErrLocked) {
			return err
		}
		select {
		case <-time.After(retryEvery):
		case <-ctx.Done():
			return err
		}
	}
}

// named returns the settings to reach a database that is not there yet.
func named(addr string) config.ClickHouse {
	cfg := config.Default().ClickHouse
	cfg.Addr, cfg.Database = []string{addr}, "test_"+strings.ToLower(ulid.Make().String())
	return cfg
}

func drop(tb testing.TB, cfg config.ClickHouse) {
	tb.Helper()
	exec(tb, cfg.Addr[0], dropping(cfg))
}

func dropping(cfg config.ClickHouse) string {
	return "DROP DATABASE IF EXISTS " + cfg.Database + " SYNC"
}

// HTTPAddr returns the address of the HTTP interface of the server that Database uses.
func HTTPAddr(tb testing.TB) string {
	tb.Helper()
	server(tb)
	return shared.http
}

// server returns the address of the server that the tests of this binary share.
func server(tb testing.TB) string {
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
	return shared.native
}

func start() {
	if run := os.Getenv(Environment); run != "" { //nolint:forbidigo // whoever runs the tests has started it
		shared.native, shared.http, _ = strings.Cut(run, " ")
		return
	}
	if shared.dir, shared.err = os.MkdirTemp("", "clickhousetest-"); shared.err != nil {
		return
	}
	// The server outlives the test that happens to be first.
	shared.server, shared.err = chserver.Start(context.Background(), serverIn(shared.dir))
	if shared.err == nil {
		shared.native, shared.http = shared.server.Addr(), shared.server.HTTPAddr()
	}
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
	server(tb) // leaves out under -short, or fails without the library
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

// exec runs statements outside of any database, from the first one again should one
// fail. It waits for a server that is just starting again: that it died is told by Main,
// not by the test that meets it.
func exec(tb testing.TB, addr string, statements ...string) {
	tb.Helper()
	// A test's own context has ended when its cleanup runs.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), patience)
	defer cancel()
	for {
		err := run(ctx, addr, statements...)
		if err == nil {
			return
		}
		select {
		case <-time.After(retryEvery):
		case <-ctx.Done():
			tb.Fatal(err)
		}
	}
}

func run(ctx context.Context, addr string, statements ...string) error {
	client, err := dial(ctx, addr)
	if err != nil {
		return err
	}
	defer client.Close()
	for _, statement := range statements {
		if err := client.Do(ctx, ch.Query{Body: statement}); err != nil {
			return fmt.Errorf("running %q: %w", statement, err)
		}
	}
	return nil
}

func dial(ctx context.Context, addr string) (*ch.Client, error) {
	return ch.Dial(ctx, ch.Options{Address: addr, ClientName: "clickhousetest", DialTimeout: dialTimeout})
}
