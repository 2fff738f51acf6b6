package schema

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/platform/config"
	schemas "github.com/millrace/millrace/schemas/clickhouse"
)

// ErrSchema is wrapped by what Check returns when the database is
// reachable and its schema is not the one this build was made for.
var ErrSchema = errors.New("the ClickHouse schema does not match this build")

// ErrUnmigrated is an ErrSchema that "millrace migrate" repairs. ErrChanged is one of a database to
// which another file was applied under the number of a migration: its tables are unknown.
var (
	ErrUnmigrated = fmt.Errorf("%w", ErrSchema)
	ErrChanged    = fmt.Errorf("%w", ErrSchema)
)

// migrationsTable records what was applied. Two migrators may both write a row
// for one version; the table keeps one of them, and the statements themselves
// are safe to run twice.
var migrationsTable = Table{
	Name:    "schema_migrations",
	Engine:  "ReplacingMergeTree",
	OrderBy: []string{"version"},
	Settings: []Setting{
		{Name: "fsync_after_insert", Value: "1"},
	},
	Columns: []Column{
		{Name: "version", Type: "UInt32"},
		{Name: "name", Type: "String"},
		{Name: "checksum", Type: "String"},
		{Name: "applied_at", Type: "DateTime('UTC')", Default: "now('UTC')"},
	},
}

type migration struct {
	version    uint32
	name       string
	checksum   string // SHA-256 of the file, hexadecimal
	statements []string
}

// Migrate brings the database of cfg to this build's schema, creating the
// database when it is missing. It may run in several processes at once, and does
// nothing when there is nothing to do. On a cluster each migration has the same
// number and checksum as on a single server, and other statements, which reach
// every replica.
func Migrate(ctx context.Context, cfg config.ClickHouse) error {
	if cfg.Cluster == "" { // otherwise each statement reaches every replica
		if err := CheckServers(ctx, cfg); err != nil {
			return err
		}
	}
	return migrate(ctx, cfg, schemas.Files)
}

func migrate(ctx context.Context, cfg config.ClickHouse, files fs.FS) error {
	if err := createDatabase(ctx, cfg); err != nil {
		return err
	}
	want, err := migrations(files)
	if err != nil {
		return err
	}
	c, err := clickhouse.Dial(ctx, cfg)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := clickhouse.Exec(ctx, c, migrationsTable.CreateSQL(cfg.Cluster)); err != nil {
		return fmt.Errorf("creating schema_migrations: %w", err)
	}
	have, err := applied(ctx, c)
	if err != nil {
		return err
	}
	for _, m := range want {
		sum, ok := have[m.version]
		switch {
		case !ok:
			if err := apply(ctx, c, m, cfg.Cluster); err != nil {
				return err
			}
		case sum != m.checksum:
			return changed(cfg, m)
		}
	}
	return nil
}

func changed(cfg config.ClickHouse, m migration) error {
	return fmt.Errorf("%w: migration %s differs from the one applied to database %s; use the build that created the "+
		"database, or an empty database", ErrChanged, m.name, cfg.Database)
}

// Check reports whether the database of cfg has every migration of this
// build, and every column of every table. It returns an error that wraps
// ErrSchema and says what to run when it has not.
func Check(ctx context.Context, cfg config.ClickHouse) error {
	want, err := migrations(schemas.Files)
	if err != nil {
		return err
	}
	if err := checkDatabase(ctx, cfg); err != nil {
		return err
	}
	c, err := clickhouse.Dial(ctx, cfg)
	if err != nil {
		return err
	}
	defer c.Close()
	have, err := applied(ctx, c)
	if ch.IsErr(err, proto.ErrUnknownTable) {
		return fmt.Errorf("%w: database %s has no schema yet; run \"millrace migrate\"", ErrUnmigrated, cfg.Database)
	}
	if err != nil {
		return err
	}
	for _, m := range want {
		switch sum, ok := have[m.version]; {
		case !ok:
			return fmt.Errorf("%w: database %s lacks migration %s; run \"millrace migrate\"",
				ErrUnmigrated, cfg.Database, m.name)
		case sum != m.checksum:
			return changed(cfg, m)
		}
	}
	for i := range Tables {
		if err := checkTable(ctx, c, &Tables[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkDatabase asks for the database before anything connects to it, so that one
// which does not exist is told as what is to be done, not as a refused connection.
func checkDatabase(ctx context.Context, cfg config.ClickHouse) error {
	c, err := clickhouse.DialDefault(ctx, cfg)
	if err != nil {
		return err
	}
	defer c.Close()
	var n proto.ColUInt64
	if err := c.Do(ctx, ch.Query{
		Body:       "SELECT count() AS n FROM system.databases WHERE name = {name:String}",
		Parameters: ch.Parameters(map[string]any{"name": cfg.Database}),
		Result:     proto.Results{{Name: "n", Data: &n}},
	}); err != nil {
		return fmt.Errorf("finding database %s: %w", cfg.Database, err)
	}
	if n.Rows() == 0 || n.Row(0) == 0 {
		return fmt.Errorf("%w: database %s is missing; run \"millrace migrate\"", ErrUnmigrated, cfg.Database)
	}
	return nil
}

func createDatabase(ctx context.Context, cfg config.ClickHouse) error {
	if cfg.Database == "" {
		return fmt.Errorf("%w: clickhouse.database is empty", ErrSchema)
	}
	c, err := clickhouse.DialDefault(ctx, cfg)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := clickhouse.Exec(ctx, c,
		"CREATE DATABASE IF NOT EXISTS "+clickhouse.QuoteName(cfg.Database)+onCluster(cfg.Cluster)); err != nil {
		return fmt.Errorf("creating database %s: %w", cfg.Database, err)
	}
	return nil
}

func apply(ctx context.Context, c *clickhouse.Client, m migration, cluster string) error {
	for i, s := range m.statements {
		if cluster != "" {
			var err error
			if s, err = onEveryReplica(s, cluster); err != nil {
				return fmt.Errorf("migration %s: %w", m.name, err)
			}
		}
		if err := clickhouse.Exec(ctx, c, s); err != nil {
			return fmt.Errorf("applying migration %s, statement %d: %w", m.name, i+1, err)
		}
	}
	var version proto.ColUInt32
	var name, sum proto.ColStr
	version.Append(m.version)
	name.Append(m.name)
	sum.Append(m.checksum)
	in := proto.Input{{Name: "version", Data: &version}, {Name: "name", Data: &name}, {Name: "checksum", Data: &sum}}
	if err := c.Do(ctx, ch.Query{Body: in.Into("schema_migrations"), Input: in}); err != nil {
		return fmt.Errorf("recording migration %s: %w", m.name, err)
	}
	return nil
}

// applied returns the checksum of every recorded migration.
func applied(ctx context.Context, c *clickhouse.Client) (map[uint32]string, error) {
	var version proto.ColUInt32
	var sum proto.ColStr
	have := map[uint32]string{}
	err := c.Do(ctx, ch.Query{
		Body:   "SELECT version, checksum FROM schema_migrations FINAL ORDER BY version",
		Result: proto.Results{{Name: "version", Data: &version}, {Name: "checksum", Data: &sum}},
		OnResult: func(context.Context, proto.Block) error {
			for i := range version.Rows() {
				have[version.Row(i)] = sum.Row(i)
			}
			version.Reset()
			sum.Reset()
			return nil
		},
	})
	if err != nil {
		return nil, fmt.Errorf("reading schema_migrations: %w", err)
	}
	return have, nil
}

// checkTable compares names and types of the columns; columns that this build
// does not know are left alone, for a newer one may have added them.
func checkTable(ctx context.Context, c *clickhouse.Client, t *Table) error {
	var name, typ proto.ColStr
	have := map[string]string{}
	err := c.Do(ctx, ch.Query{
		Body:       "SELECT name, type FROM system.columns WHERE database = currentDatabase() AND table = {table:String}",
		Parameters: ch.Parameters(map[string]any{"table": t.Name}),
		Result:     proto.Results{{Name: "name", Data: &name}, {Name: "type", Data: &typ}},
		OnResult: func(context.Context, proto.Block) error {
			for i := range name.Rows() {
				have[name.Row(i)] = typ.Row(i)
			}
			name.Reset()
			typ.Reset()
			return nil
		},
	})
	if err != nil {
		return fmt.Errorf("reading the columns of %s: %w", t.Name, err)
	}
	for _, col := range t.Columns {
		switch got, ok := have[col.Name]; {
		case !ok:
			return fmt.Errorf("%w: column %s.%s is missing", ErrSchema, t.Name, col.Name)
		case got != col.Type:
			return fmt.Errorf("%w: column %s.%s is %s, not %s", ErrSchema, t.Name, col.Name, got, col.Type)
		}
	}
	return nil
}

// migrations reads the numbered files, in order.
func migrations(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("listing migrations: %w", err)
	}
	slices.Sort(names)
	all := make([]migration, 0, len(names))
	for i, file := range names {
		text, err := fs.ReadFile(files, file)
		if err != nil {
			return nil, fmt.Errorf("reading migration %s: %w", file, err)
		}
		name := strings.TrimSuffix(file, ".sql")
		number, _, _ := strings.Cut(name, "_")
		version, err := strconv.ParseUint(number, 10, 32)
		if err != nil || version != uint64(i+1) {
			return nil, fmt.Errorf("migration %s must have the number %04d", file, i+1)
		}
		sum := sha256.Sum256(text)
		all = append(all, migration{
			version: uint32(version), name: name, checksum: hex.EncodeToString(sum[:]), statements: statements(string(text)),
		})
	}
	return all, nil
}

// statements splits a file at lines that end in a semicolon, without comments.
func statements(text string) []string {
	var all []string
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		if line == "" || strings.HasPrefix(line, "--") {
			continue
		}
		end := strings.HasSuffix(line, ";")
		b.WriteString(strings.TrimSuffix(line, ";"))
		if end {
			all = append(all, b.String())
			b.Reset()
			continue
		}
		b.WriteByte('\n')
	}
	if b.Len() > 0 {
		all = append(all, b.String())
	}
	return all
}
