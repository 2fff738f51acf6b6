package store

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/schema"

	"github.com/millrace/millrace/internal/platform/config"
	migrations "github.com/millrace/millrace/schemas/sql"
)

// postgresDial bounds one attempt to connect whose URL does not.
const postgresDial = 5 * time.Second

func openPostgres(settings config.Store, opts Options) (*Store, error) {
	cfg, err := postgresConfig(settings)
	if err != nil {
		return nil, err
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = postgresDial
	}
	// bun writes the arguments into the statement, so each text is new and
	// preparing it would only cost a round trip and the server's memory.
	cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	setDefault(cfg.RuntimeParams, "application_name", "millrace")
	setDefault(cfg.RuntimeParams, "timezone", "UTC")

	migrateCfg := cfg.Copy()
	setDefault(migrateCfg.RuntimeParams, "lock_timeout", milliseconds(tableWait))
	// The server gives up too, in case the cancellation is lost on the way.
	limit := milliseconds(opts.Timeout)
	setDefault(cfg.RuntimeParams, "statement_timeout", limit)
	setDefault(cfg.RuntimeParams, "idle_in_transaction_session_timeout", limit)

	d := dialect{
		name:       "postgres",
		bun:        func() schema.Dialect { return pgdialect.New() },
		migrations: migrations.Postgres,
		holds:      "? @> to_jsonb(?::text)",
		shred:      shredPostgres,
		violation:  postgresViolation,
	}
	d.migrate = func(ctx context.Context, log *slog.Logger) error {
		pool := stdlib.OpenDB(*migrateCfg, renewed(settings))
		err := migratePostgres(ctx, d, pool, log)
		return errors.Join(err, pool.Close())
	}
	d.alone = func(ctx context.Context, log *slog.Logger, do func(context.Context) error) error {
		pool := stdlib.OpenDB(*migrateCfg, renewed(settings))
		err := alonePostgres(ctx, pool, log, do)
		return errors.Join(err, pool.Close())
	}
	pool := stdlib.OpenDB(*cfg, renewed(settings))
	pool.SetMaxOpenConns(settings.MaxOpen)
	pool.SetMaxIdleConns(min(settings.MaxIdle, settings.MaxOpen))
	pool.SetConnMaxLifetime(settings.Lifetime)
	pool.SetConnMaxIdleTime(settings.IdleTime)
	db := bun.NewDB(pool, d.bun())
	return &Store{read: db, write: db, pools: []*sql.DB{pool}, dialect: d, opts: opts}, nil
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

func setDefault(params map[string]string, name, value string) {
	if _, ok := params[name]; !ok {
		params[name] = value
	}
}

// postgresViolation reads the SQLSTATE.
func postgresViolation(err error) violation {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return noViolation
	}
	switch e.Code {
	case "23505":
		return uniqueViolation
	case "23503":
		return foreignKeyViolation
	default:
		return noViolation
	}
}

// shredPostgres rewrites the table, which is a few rows: a deletion alone
// leaves the row where it was until somebody needs its place.
func shredPostgres(ctx context.Context, write *sql.DB, deleted bool) error {
	if !deleted {
		return nil
	}
	_, err := write.ExecContext(ctx, "VACUUM (FULL) visitor_salts")
	return err
}
