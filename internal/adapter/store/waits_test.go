package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/services"
)

// hold runs statements in a session that stays open until it is let go.
func hold(t *testing.T, url string, statements ...string) (release func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range statements {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	release = sync.OnceFunc(func() { conn.Close(context.WithoutCancel(t.Context())) })
	t.Cleanup(release)
	return release
}

func TestWhatAMigrationWaitsForIsLoggedOnce(t *testing.T) {
	t.Parallel()
	migrate := func(ctx context.Context, s *Store) error { return s.Migrate(ctx) }
	for _, tc := range []struct {
		name, says string
		migrated   bool
		hold       []string
		do         func(context.Context, *Store) error
	}{
		{
			"another migration", "another migration of the metadata store", false,
			[]string{fmt.Sprintf("SELECT pg_advisory_lock(%d)", schemaLock)},
			migrate,
		},
		{
			"a table in use", "a table of the metadata store that is in use", true,
			[]string{"BEGIN", "SELECT count(*) FROM millrace_schema"},
			migrate,
		},
		{
			"another who is alone", "another process that migrates ClickHouse", true,
			[]string{fmt.Sprintf("SELECT pg_advisory_lock(%d)", aloneLock)},
			func(ctx context.Context, s *Store) error {
				return s.Alone(ctx, func(context.Context) error { return nil })
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			url := services.Postgres(t)
			if tc.migrated {
				migratedStore(t, url).exec(t, "ALTER TABLE millrace_schema DROP COLUMN checksum") // which is then to be added
			}
			s, err := Open(t.Context(), url, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			var log testkit.Log
			s.LogTo(slog.New(slog.NewTextHandler(&log, nil)))
			release := hold(t, url, tc.hold...)
			ended := make(chan error, 1)
			go func() { ended <- tc.do(t.Context(), s) }()
			testkit.Eventually(t, time.Minute, func() error {
				if !strings.Contains(log.String(), `msg="migration is waiting" waiting_for="`+tc.says+`"`) {
					return errors.New(log.String())
				}
				return nil
			})
			release()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if n := strings.Count(log.String(), "migration is waiting"); n != 1 {
				t.Errorf("%d lines tell of one wait:\n%s", n, &log)
			}
		})
	}
}
