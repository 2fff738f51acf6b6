package store

import (
	"database/sql/driver"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/testkit/services"
)

func TestInstantKeepsMillisecondsInUTC(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("", 3600)
	for _, tc := range []struct {
		in    time.Time
		value driver.Value
		out   time.Time
	}{
		{time.Time{}, nil, time.Time{}},
		{time.Date(2026, 3, 1, 1, 0, 0, 999_999, east), int64(1772323200000), time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)},
		{time.UnixMilli(1), int64(1), time.UnixMilli(1).UTC()},
		{time.UnixMilli(-1), int64(-1), time.UnixMilli(-1).UTC()},
	} {
		value, err := at(tc.in).Value()
		if value != tc.value || err != nil {
			t.Errorf("Value() of %s = %v, %v, want %v", tc.in, value, err, tc.value)
		}
		var got instant
		if err := got.Scan(value); err != nil || !got.Equal(tc.out) || got.Location() != time.UTC {
			t.Errorf("Scan(%v) = %s, %v, want %s", value, got, err, tc.out)
		}
	}
	if err := new(instant).Scan("2026-03-01"); err == nil {
		t.Error("Scan() of a text succeeded")
	}
}

func TestListIsAJSONArray(t *testing.T) {
	t.Parallel()
	for text, in := range map[string]list{`[]`: nil, `["a","\"b\"","日本"]`: {"a", `"b"`, "日本"}} {
		value, err := in.Value()
		if value != text || err != nil {
			t.Errorf("Value() of %v = %v, %v, want %s", in, value, err, text)
		}
		for _, src := range []any{text, []byte(text)} {
			var got list
			if err := got.Scan(src); err != nil || cmp.Diff(in, got) != "" {
				t.Errorf("Scan(%v) = %v, %v, want %v", src, got, err, in)
			}
		}
	}
	for _, src := range []any{nil, `{}`, `[1]`, ``} {
		if err := new(list).Scan(src); err == nil {
			t.Errorf("Scan(%v) succeeded", src)
		}
	}
}

// The two schemas are written apart; here they are compared as the databases
// understood them.
func TestBothDialectsHaveTheSameColumns(t *testing.T) {
	t.Parallel()
	sqlite := columns(t, "sqlite:"+t.TempDir()+"/m.db", `
		SELECT m.name, c.name, c."notnull" OR c.pk > 0
		FROM sqlite_master AS m, pragma_table_info(m.name) AS c
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite\_%' ESCAPE '\'`)
	postgres := columns(t, services.Postgres(t), `
		SELECT table_name, column_name, is_nullable = 'NO'
		FROM information_schema.columns WHERE table_schema = 'public'`)
	if diff := cmp.Diff(sqlite, postgres); diff != "" {
		t.Errorf("columns and whether they are required (-sqlite +postgres):\n%s", diff)
	}
}

func columns(t *testing.T, url, query string) map[string]bool {
	t.Helper()
	s, err := Open(t.Context(), url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows, err := s.pools[0].QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	required := map[string]bool{}
	for rows.Next() {
		var table, column string
		var not bool
		if err := rows.Scan(&table, &column, &not); err != nil {
			t.Fatal(err)
		}
		if table != versionTable { // goose's own
			required[table+"."+column] = not
		}
	}
	if err := rows.Err(); err != nil || len(required) == 0 {
		t.Fatalf("%d columns, %v", len(required), err)
	}
	return required
}
