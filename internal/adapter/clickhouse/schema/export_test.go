package schema

import (
	"testing"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/platform/config"
	schemas "github.com/millrace/millrace/schemas/clickhouse"
)

// MigrateUpTo applies the migrations up to a version, as a build of then did.
func MigrateUpTo(t *testing.T, cfg config.ClickHouse, version uint32) {
	t.Helper()
	c, err := clickhouse.Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := clickhouse.Exec(t.Context(), c, migrationsTable.CreateSQL("")); err != nil {
		t.Fatal(err)
	}
	all, err := migrations(schemas.Files)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m.version > version {
			return
		}
		if err := apply(t.Context(), c, m, ""); err != nil {
			t.Fatal(err)
		}
	}
}

// What the tests beside the package need to know of it.
var (
	History    = history
	Statements = statements
	ClickTexts = clickTexts
)

// WebTextColumn returns the name of the column of a text.
func WebTextColumn(t record.WebText) string { return webTexts[t].name }

// WebNumberColumn returns the name of the column of a number.
func WebNumberColumn(n record.WebNumber) string { return webNumbers[n].name }
