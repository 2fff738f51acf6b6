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

const (
	// postgresDial bounds one attempt to connect whose URL does not.
	postgresDial = 5 * time.Second
	// saltsWait is how long the rewriting of the table of salts waits for those that read
	// it. Whoever wants to read it meanwhile waits too, and an edge wants to before it can
	// take events.
	saltsWait = time.Second
)

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
		pruneSalts: prunePostgres,
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

// prunePostgres writes the rows that stay into a new file: a deletion alone leaves a row
// where it was until somebody needs its place. VACUUM (FULL) would do so too, but not in
// one transaction with the deletion, so that nobody would know what is still to do when it
// fails; and it keeps a row that an older transaction may read. With TRUNCATE either all is
// done or the old rows are there for the next try. A dump that began before and had not come
// to the table yet finds it empty: it lacks salts, which are made again.
func prunePostgres(ctx context.Context, s *Store, first string) error {
	over, err := s.read.NewSelect().Model((*saltRow)(nil)).Where("v.day < ?", first).Exists(ctx)
	if err != nil || !over {
		return err // nobody else is kept waiting each time that somebody looks
	}
	return s.InTx(ctx, func(ctx context.Context, tx *Store) error {
		for _, statement := range []string{
			"SET LOCAL lock_timeout = " + milliseconds(saltsWait), "LOCK TABLE visitor_salts IN ACCESS EXCLUSIVE MODE",
		} {
			if _, err := tx.write.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		var kept []saltRow
		if err := tx.read.NewSelect().Model(&kept).Where("v.day >= ?", first).Scan(ctx); err != nil {
			return err
		}
		if _, err := tx.write.ExecContext(ctx, "TRUNCATE visitor_salts"); err != nil || len(kept) == 0 {
			return err
		}
		_, err := tx.write.NewInsert().Model(&kept).Exec(ctx)
		return err
	})
}
