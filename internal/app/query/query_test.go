package query

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/testkit"
)

func TestMain(m *testing.M) { clickhousetest.Main(m) }

func settings(t *testing.T) config.Settings {
	t.Helper()
	s := config.Default()
	_, s.Kafka = kafkatest.Cluster(t)
	if _, err := kafka.EnsureTopics(t.Context(), s.Kafka); err != nil {
		t.Fatal(err)
	}
	s.ClickHouse = clickhousetest.Database(t)
	s.Store.URL = config.Secret("sqlite:" + filepath.Join(t.TempDir(), "store.db"))
	s.Query.Listen = "127.0.0.1:0"
	return s
}

func migrateStore(t *testing.T, s config.Settings) {
	t.Helper()
	db, err := store.Open(t.Context(), s.Store.URL.Reveal(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// run starts the components, stops them once they are ready, and returns what the
// checks of readiness and the whole run had to say.
func run(t *testing.T, s config.Settings) (ready, err error) {
	t.Helper()
	tel, r := telemetry.Discard(), &lifecycle.Readiness{}
	components, err := Components(t.Context(), s, tel, r)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err = lifecycle.Run(ctx,
		lifecycle.Options{Log: tel.Log, Readiness: r, Grace: config.Default().Shutdown.Grace, OnReady: func() {
			ready = testkit.WaitFor(time.Minute, func() error { return r.Err(t.Context()) })
			cancel()
		}}, components...)
	return ready, err
}

func TestPartsStartAndAreReadyOnAMigratedSystem(t *testing.T) {
	t.Parallel()
	s := settings(t)
	migrateStore(t, s)
	if err := schema.Migrate(t.Context(), s.ClickHouse); err != nil {
		t.Fatal(err)
	}
	if ready, err := run(t, s); ready != nil || err != nil {
		t.Errorf("readiness %v, run %v", ready, err)
	}
}

func TestPartsWaitForASchemaThatIsTheirs(t *testing.T) {
	t.Parallel()
	s := settings(t)
	tel, r := telemetry.Discard(), &lifecycle.Readiness{}
	components, err := Components(t.Context(), s, tel, r)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- lifecycle.Run(ctx,
			lifecycle.Options{Log: tel.Log, Readiness: r, Grace: s.Shutdown.Grace, OnReady: cancel}, components...)
	}()
	says := func(want ...string) {
		t.Helper()
		testkit.Eventually(t, time.Minute, func() error {
			err := r.Err(ctx)
			for _, w := range want {
				if err == nil || !strings.Contains(err.Error(), w) {
					return fmt.Errorf("it says %w, want %q", err, w)
				}
			}
			return nil
		})
	}
	const tables = "waiting for ClickHouse: the ClickHouse schema does not match this build: database "
	says("waiting for the metadata store: the metadata store's schema is too old; run `millrace migrate`", tables)
	migrateStore(t, s)
	testkit.Eventually(t, time.Minute, func() error {
		if err := r.Err(ctx); strings.Contains(err.Error(), "metadata store") {
			return err
		}
		return nil
	})
	says(tables, `run "millrace migrate"`)
	if err := schema.Migrate(t.Context(), s.ClickHouse); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil { // it stops when it is ready
		t.Errorf("lifecycle.Run() = %v", err)
	}
}
