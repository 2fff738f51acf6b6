// Package store keeps the metadata: organizations, users, websites, API keys and
// the salts of visitor ids, in SQLite or in PostgreSQL.
//
// It promises the same behaviour on both, shown by one suite (storetest): times
// are UTC and exact to the millisecond, a missing row is the domain's ErrNotFound
// and a taken name the domain's error for it, every call has a deadline, and no
// error text holds a password. It is the only package that knows SQL. It caches
// nothing (readcache does) and decides nothing about access (auth does).
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"
	"modernc.org/sqlite"

	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/credential"
)

// Options tune a store. A zero field means the default.
type Options struct {
	// Timeout bounds every call, also one whose context has no deadline; 5 s.
	Timeout time.Duration
	// MaxConns is the most connections to PostgreSQL, or the most concurrent
	// readers of SQLite, which has one writer always; 8.
	MaxConns int
	// Now tells the time; nil means time.Now. Only grace periods and the age of
	// salts depend on it.
	Now func() time.Time
}

// Store is an open metadata store. It is safe for concurrent use, and several
// processes may open the same one.
type Store struct {
	read, write bun.IDB // the same for PostgreSQL
	pools       []*sql.DB
	settings    config.Store
	dialect     dialect
	opts        Options
	log         *slog.Logger // of waits
	judged      bool         // in a transaction: whether its caller may change something was asked
}

// dialect is what differs between the two databases beyond what bun covers.
type dialect struct {
	name       string
	bun        func() schema.Dialect
	migrations fs.FS
	// migrate opens a connection pool for migrations and runs them through it.
	migrate func(ctx context.Context, log *slog.Logger) error
	// alone runs a function under a lock of the server; nil where there is none.
	alone func(ctx context.Context, log *slog.Logger, do func(context.Context) error) error
	// holds is a condition: the column of a list, named first, holds a text.
	holds string
	// pruneSalts removes the salts of the days before one, YYYY-MM-DD, from their table
	// and from the database's files.
	pruneSalts func(ctx context.Context, s *Store, first string) error
	// violation says which kind of constraint err reports; noViolation for any
	// other error.
	violation func(err error) violation
}

type violation uint8

const (
	noViolation violation = iota
	uniqueViolation
	foreignKeyViolation
)

// Open opens the store at url: "sqlite:PATH", whose folder exists and whose file
// is made on first use, or "postgres://USER:PASSWORD@HOST:PORT/DATABASE" with
// the parameters of libpq. It connects, and changes no schema; see Migrate.
func Open(ctx context.Context, url string, opts Options) (*Store, error) {
	cfg := config.Default().Store
	cfg.URL = config.Secret(url)
	if opts.MaxConns > 0 {
		cfg.MaxOpen, cfg.MaxIdle = opts.MaxConns, opts.MaxConns
	}
	return open(ctx, cfg, opts)
}

// New returns the store that the settings name, and connects when it is first used.
// Its error is about the settings; see Reach for the server.
func New(cfg config.Store) (*Store, error) { return prepare(cfg, Options{}) }

// Connect is Open for the store that the settings name. What it says of one that
// cannot be opened names the setting to look at.
func Connect(ctx context.Context, cfg config.Store) (*Store, error) {
	return open(ctx, cfg, Options{})
}

func open(ctx context.Context, cfg config.Store, opts Options) (*Store, error) {
	s, err := prepare(cfg, opts)
	if err != nil {
		return nil, err
	}
	if err := s.Reach(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func prepare(cfg config.Store, opts Options) (*Store, error) {
	if opts.Timeout <= 0 {
		opts.Timeout = 5 * time.Second
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	s, err := openAny(cfg, opts)
	if err != nil {
		return nil, fmt.Errorf("opening the metadata store: %w", err)
	}
	s.settings, s.log = cfg, slog.New(slog.DiscardHandler)
	return s, nil
}

// LogTo names who is told what migrations wait for; nobody is otherwise. It is to be
// called before the store is shared.
func (s *Store) LogTo(log *slog.Logger) { s.log = log }

func openAny(cfg config.Store, opts Options) (*Store, error) {
	url, err := credential.Secret("store.url", cfg.URL, cfg.URLFile)
	if err != nil {
		return nil, err
	}
	switch scheme, rest, _ := strings.Cut(url, ":"); {
	case scheme == "postgres" || scheme == "postgresql":
		return openPostgres(cfg, opts)
	case scheme != "sqlite":
		return nil, errors.New("the URL must begin with sqlite: or postgres://")
	case cfg.TLS.Enabled:
		return nil, credential.Reject("store.tls.enabled", nil, "store.url names a file, to which nothing is encrypted")
	default:
		return openSQLite(rest, cfg.MaxOpen, opts)
	}
}

// Reach is Ping for a server that was never asked: what it says of settings that do
// not fit names the setting to look at.
func (s *Store) Reach(ctx context.Context) error { return explain(s.settings, s.reach(ctx)) }

// reach is Ping for a database that is just being made: SQLite does not wait for
// another process that turns the same new file into a database.
func (s *Store) reach(ctx context.Context) error {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	for {
		err := s.Ping(ctx)
		if e, ok := errors.AsType[*sqlite.Error](err); !ok || !busy(e) {
			return err
		}
		select {
		case <-time.After(busyPause):
		case <-ctx.Done():
			return err
		}
	}
}

// busyPause is the time between two tries.
const busyPause = 20 * time.Millisecond

// Close closes the connections.
func (s *Store) Close() error {
	var errs []error
	for _, p := range s.pools {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// Ping reports why the store cannot be asked now; nil when it can.
func (s *Store) Ping(ctx context.Context) error {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var one int
	if err := s.read.NewSelect().ColumnExpr("1").Scan(ctx, &one); err != nil {
		return fmt.Errorf("reaching the metadata store: %w", err)
	}
	return nil
}

// InTx runs fn in one transaction: everything done through tx is kept when fn
// returns nil, and nothing of it otherwise. fn must not use s. Inside a
// transaction InTx just runs fn. The whole of fn stands under one deadline.
func (s *Store) InTx(ctx context.Context, fn func(ctx context.Context, tx *Store) error) error {
	db, ok := s.write.(*bun.DB)
	if !ok {
		return fn(ctx, s)
	}
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	return db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		return fn(ctx, &Store{read: tx, write: tx, dialect: s.dialect, opts: s.opts, log: s.log})
	})
}

func (s *Store) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.opts.Timeout)
}
