package storetest

import (
	"database/sql"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // database/sql driver "pgx"
	_ "modernc.org/sqlite"             // database/sql driver "sqlite"
)

// open opens a database past the store, to do what no store does.
func open(tb testing.TB, url string) *sql.DB {
	tb.Helper()
	driver, dsn := "pgx", url
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		driver, dsn = "sqlite", path+"?_pragma=busy_timeout(4000)"
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		tb.Fatal(err)
	}
	return db
}

// Corrupt makes a website's row unreadable, in a way that the tables' checks let
// through: a list of origins whose element is no text. The id is one of our own.
func Corrupt(tb testing.TB, url, websiteID string) {
	tb.Helper()
	db := open(tb, url)
	defer db.Close()
	// The two dialects disagree about placeholders, and our ids have no quotes.
	res, err := db.ExecContext(tb.Context(), "UPDATE websites SET allowed_origins = '[{}]' WHERE id = '"+websiteID+"'")
	if err != nil {
		tb.Fatal(err)
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		tb.Fatalf("%d rows are corrupt, want 1: %v", n, err)
	}
}
