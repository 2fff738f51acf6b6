package store_test

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/millrace/millrace/internal/adapter/store/storetest"
	"github.com/millrace/millrace/internal/testkit/services"
)

func TestContractOnSQLite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, sqliteURL, storetest.CopySQLite)
}

func TestContractOnPostgreSQL(t *testing.T) {
	t.Parallel()
	storetest.Run(t, services.Postgres, copyPostgres)
}

func sqliteURL(tb testing.TB) string {
	tb.Helper()
	return "sqlite:" + filepath.Join(tb.TempDir(), "millrace.db")
}

var copies atomic.Int64

// copyPostgres makes a copy of a database, by a connection to neither.
func copyPostgres(tb testing.TB, from string) string {
	tb.Helper()
	u, err := url.Parse(from)
	if err != nil {
		tb.Fatal(err)
	}
	template := strings.TrimPrefix(u.Path, "/")
	name := fmt.Sprintf("%s_%d", template, copies.Add(1))
	u.Path = "/postgres"
	beside := u.String()
	run := func(statement string) error {
		ctx := context.WithoutCancel(tb.Context())
		conn, err := pgx.Connect(ctx, beside)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, statement)
		return err
	}
	if err := run("CREATE DATABASE " + name + " TEMPLATE " + template); err != nil {
		tb.Fatalf("copying a database: %v", err)
	}
	tb.Cleanup(func() {
		if err := run("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)"); err != nil {
			tb.Logf("dropping database %s: %v", name, err)
		}
	})
	u.Path = "/" + name
	return u.String()
}
