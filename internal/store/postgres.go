package store

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/schema"

	migrations "github.com/millrace/millrace/schemas/sql"
)

// Bounds of a connection to PostgreSQL.
const (
	postgresDial     = 5 * time.Second
	postgresLifetime = 30 * time.Minute // so that a failover or a new replica is found
	postgresIdle     = 5 * time.Minute
)

func openPostgres(url string, opts Options) (*Store, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		// The parser's text may quote a part of the password.
		return nil, errors.New("the PostgreSQL URL cannot be read; percent-encode special characters in user name and password")
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
	// The server gives up too, in case the cancellation is lost on the way.
	limit := strconv.FormatInt(opts.Timeout.Milliseconds(), 10)
	setDefault(cfg.RuntimeParams, "statement_timeout", limit)
	setDefault(cfg.RuntimeParams, "idle_in_transaction_session_timeout", limit)

	d := dialect{
		name:       "postgres",
		bun:        func() schema.Dialect { return pgdialect.New() },
		migrations: migrations.Postgres,
		holds:      "? @> to_jsonb(?::text)",
		violation:  postgresViolation,
	}
	d.migrate = func(ctx context.Context) error {
		pool := stdlib.OpenDB(*migrateCfg)
		err := migratePostgres(ctx, d, pool)
		return errors.Join(err, pool.Close())
	}
	pool := stdlib.OpenDB(*cfg)
	pool.SetMaxOpenConns(opts.MaxConns)
	pool.SetMaxIdleConns(opts.MaxConns)
	pool.SetConnMaxLifetime(postgresLifetime)
	pool.SetConnMaxIdleTime(postgresIdle)
	db := bun.NewDB(pool, d.bun())
	return &Store{read: db, write: db, pools: []*sql.DB{pool}, dialect: d, opts: opts}, nil
}

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
