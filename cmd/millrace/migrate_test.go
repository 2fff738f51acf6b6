package main

import (
	"context"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/testkit/services"
)

// Whoever started it may end it at a deadline, and then nothing tells what it waited for.
func TestAMigrationThatWaitsGivesUpInTime(t *testing.T) {
	t.Parallel()
	url := services.Postgres(t)
	db, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Alone(t.Context(), func(context.Context) error { // as another one that migrates ClickHouse
		_, _, err := millrace(t, "migrate", "--store.url="+url, "--clickhouse.addr=127.0.0.1:1", "--timeout=2s")
		if err == nil || !strings.Contains(err.Error(), "the --timeout of 2s has passed") {
			t.Errorf("it ends with %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
