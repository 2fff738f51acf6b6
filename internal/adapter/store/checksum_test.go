package store

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/testkit/services"
)

// migratedStore opens a store and migrates it.
func migratedStore(t *testing.T, url string) *Store {
	t.Helper()
	s, err := Open(t.Context(), url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *Store) exec(t *testing.T, statement string) {
	t.Helper()
	if _, err := s.pools[0].ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// sums counts the versions with a checksum and those without, of migrations.
func (s *Store) sums(t *testing.T) (with, without int) {
	t.Helper()
	err := s.pools[0].QueryRowContext(t.Context(),
		"SELECT count(checksum), count(*) - count(checksum) FROM millrace_schema WHERE version_id > 0").Scan(&with, &without)
	if err != nil {
		t.Fatal(err)
	}
	return with, without
}

func onBoth(t *testing.T, test func(t *testing.T, s *Store)) {
	t.Helper()
	for name, url := range map[string]func(testing.TB) string{
		"sqlite":   func(tb testing.TB) string { tb.Helper(); return "sqlite:" + filepath.Join(tb.TempDir(), "m.db") },
		"postgres": services.Postgres,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, migratedStore(t, url(t)))
		})
	}
}

func TestAMigrationThatWasChangedIsNamed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *Store) {
		t.Helper()
		if err := s.CheckSchema(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.exec(t, "UPDATE millrace_schema SET checksum = 'of another file' WHERE version_id = 1")
		for what, err := range map[string]error{
			"Migrate": s.Migrate(t.Context()), "CheckSchema": s.CheckSchema(t.Context()),
		} {
			if !errors.Is(err, ErrChanged) ||
				!strings.Contains(err.Error(), s.dialect.name+"/00001_initial.sql") || !hopeless(err) {
				t.Errorf("%s() = %v, want that the file was changed, and that no wait helps", what, err)
			}
		}
	})
}

// A process may die between a migration and its checksum.
func TestMigrationsWithoutAChecksumGetOne(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *Store) {
		t.Helper()
		all, without := s.sums(t)
		if all == 0 || without > 0 {
			t.Fatalf("%d of %d migrations have no checksum", without, all)
		}
		for _, forget := range []string{
			"ALTER TABLE millrace_schema DROP COLUMN checksum",
			"UPDATE millrace_schema SET checksum = NULL WHERE version_id > 0",
		} {
			s.exec(t, forget)
			if err := s.CheckSchema(t.Context()); err != nil {
				t.Errorf("CheckSchema() after %q = %v", forget, err)
			}
			if err := s.Migrate(t.Context()); err != nil {
				t.Errorf("Migrate() after %q = %v", forget, err)
			}
			if with, without := s.sums(t); with != all || without != 0 {
				t.Errorf("after %q and a migration, %d have a checksum and %d none", forget, with, without)
			}
		}
	})
}

// A newer program has migrated, or is about to record the checksum of its migration.
func TestVersionsThatThisProgramDoesNotKnowAreLeftAlone(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *Store) {
		t.Helper()
		applied := "TRUE"
		if s.dialect.name == "sqlite" {
			applied = "1"
		}
		s.exec(t, "INSERT INTO millrace_schema (version_id, is_applied) VALUES (900, "+applied+")")
		s.exec(t,
			"INSERT INTO millrace_schema (version_id, is_applied, checksum) VALUES (901, "+applied+", 'of a newer program')")
		if err := errors.Join(s.Migrate(t.Context()), s.CheckSchema(t.Context())); err != nil {
			t.Error(err)
		}
		if _, without := s.sums(t); without != 1 {
			t.Errorf("%d versions have no checksum, want the one that this program does not know", without)
		}
	})
}
