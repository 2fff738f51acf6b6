package store_test

import (
	"path/filepath"
	"testing"

	"github.com/millrace/millrace/internal/store/storetest"
	"github.com/millrace/millrace/internal/testkit/services"
)

func TestContractOnSQLite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, sqliteURL)
}

func TestContractOnPostgreSQL(t *testing.T) {
	t.Parallel()
	storetest.Run(t, services.Postgres)
}

func sqliteURL(tb testing.TB) string {
	tb.Helper()
	return "sqlite:" + filepath.Join(tb.TempDir(), "millrace.db")
}
