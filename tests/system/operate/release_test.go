package operate

import (
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/testkit"
	clickhouseschema "github.com/millrace/millrace/schemas/clickhouse"
	sqlschema "github.com/millrace/millrace/schemas/sql"
	"github.com/millrace/millrace/tests/harness"
)

// What the version after this one adds, in each way that a migration may: columns of
// tables that daemons of this one read and write all the time, an index of one, a
// table, and a view that is filled by their inserts.
const (
	addedToClickHouse = `ALTER TABLE events
    ADD COLUMN IF NOT EXISTS made_up String
;

CREATE TABLE IF NOT EXISTS made_up_1d (
    owner_id   LowCardinality(String),
    event_date Date,
    made_up    String,
    events     SimpleAggregateFunction(sum, UInt64)
)
ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(event_date)
ORDER BY (owner_id, event_date, made_up)
SETTINGS non_replicated_deduplication_window = 300000,
         fsync_after_insert = 1,
         fsync_part_directory = 1
;

CREATE MATERIALIZED VIEW IF NOT EXISTS made_up_1d_mv TO made_up_1d AS
SELECT e.owner_id AS owner_id, e.event_date AS event_date, e.made_up AS made_up, count() AS events
FROM events AS e
GROUP BY owner_id, event_date, made_up
;
`
	addedToStore = `-- +goose Up
ALTER TABLE api_keys ADD COLUMN made_up BIGINT;
ALTER TABLE websites ADD COLUMN made_up TEXT NOT NULL DEFAULT '';
CREATE INDEX websites_made_up ON websites (made_up);
CREATE TABLE made_up (id TEXT PRIMARY KEY);
`
)

// versionAfter makes the programs of the version after this one.
func versionAfter(t *testing.T) *harness.Release {
	t.Helper()
	next := func(files fs.FS, pattern string) int {
		names, err := fs.Glob(files, pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("no migrations in %s: %v", pattern, err)
		}
		return len(names) + 1
	}
	return harness.Built(t, map[string]string{
		fmt.Sprintf("schemas/clickhouse/%04d_made_up.sql", next(clickhouseschema.Files, "*.sql")):        addedToClickHouse,
		fmt.Sprintf("schemas/sql/postgres/%05d_made_up.sql", next(sqlschema.Postgres, "postgres/*.sql")): addedToStore,
	})
}

// TestAnUpgradeGoesOnBesideTheVersionBefore migrates to the version after this one
// while this one works, lets both work, ends this one, and goes back. Clients send all
// the time, and see nothing of it.
func TestAnUpgradeGoesOnBesideTheVersionBefore(t *testing.T) {
	t.Parallel()
	leaveOutWhenShort(t)
	this, after := harness.Current(t), versionAfter(t)
	old := harness.New(t, harness.Split, harness.Options{})
	c := newClient(t)
	c.send(old)
	c.gets(2)
	var early []*harness.Process // which wait on the schema before
	for _, daemon := range []harness.Role{harness.Edge, harness.Sink, harness.Query} {
		p := after.Process(t, old, string(daemon))
		p.Launch(t)
		early = append(early, p)
	}
	for _, p := range early {
		says(t, p, "millrace migrate")
	}
	harness.StopAll(t, early...)

	backup := read(t, old.StoreURL, "websites")
	migrated := migrateAtOnce(t, old, after, this, after)
	testkit.Eventually(t, time.Minute, func() error { return expectWaiting(t, old.StoreURL, "websites") })
	c.gets(2)
	usesANewWebsite(t, old)
	backup()
	migrated()
	c.gets(2)
	c.pause(old)
	if err := expectWaiting(t, old.StoreURL, "websites"); err == nil {
		t.Error("somebody still waits for a table")
	}

	next := after.Beside(t, old)
	c.send(old, next)
	c.gets(4)
	usesANewWebsite(t, old)
	usesANewWebsite(t, next)
	c.pause(old, next)
	c.send(next)
	harness.StopAll(t, old.Processes()...)
	c.gets(2)
	c.pause(next)

	harness.StartAll(t, old.Processes()...)
	c.send(old)
	harness.StopAll(t, next.Processes()...)
	c.gets(2)
	usesANewWebsite(t, old)
	c.pause(old)
	committed(t, old)
	for _, release := range []*harness.Release{this, after} {
		if said, err := release.Run(t, old, "millrace", "migrate"); err != nil {
			t.Errorf("millrace migrate, when there is nothing to do: %v\n%s", err, said)
		}
		if said, err := release.Run(t, old, "millrace", "verify"); err != nil {
			t.Errorf("millrace verify: %v\n%s", err, said)
		}
	}
	said, err := this.Run(t, old, "millrace", "doctor")
	for _, want := range []string{"migrations that this build does not contain", "but this build knows only"} {
		if err != nil || !strings.Contains(said, want) {
			t.Errorf("the doctor of the version before says nothing of %q: %v\n%s", want, err, said)
		}
	}
	rows := query(t, old.ClickHouse, "SELECT toString(count()) FROM schema_migrations GROUP BY version HAVING count() > 1")
	if len(rows) > 0 {
		t.Errorf("%d of ClickHouse's migrations were applied more than once", len(rows))
	}
}

// committed ends a system's edge, which publishes what it has counted until then, and waits
// until the sink has committed all that there is: what was not, nobody can verify.
func committed(t *testing.T, s *harness.System) {
	t.Helper()
	harness.StopAll(t, s.Process(harness.Edge))
	offsets, err := kafka.NewOffsets(s.Kafka, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer offsets.Close()
	group := s.Kafka.TopicPrefix + "sink"
	groups := map[string]string{record.TopicEvents: group}
	for _, topic := range kafka.WebTopics {
		groups[topic] = kafka.WebGroup(group)
	}
	for topic, group := range groups {
		testkit.Eventually(t, patience, func() error {
			_, bounds, err := offsets.Describe(t.Context(), topic)
			if err != nil {
				return err
			}
			at, err := offsets.Committed(t.Context(), group, topic)
			for p, b := range bounds {
				if err == nil && b.End > b.Start && at[p].Offset < b.End {
					err = fmt.Errorf("%s/%d: committed up to %d of %d", topic, p, at[p].Offset, b.End)
				}
			}
			return err
		})
	}
}

// migrateAtOnce runs migrate of all releases at the same time. What it returns waits
// until they have ended.
func migrateAtOnce(t *testing.T, s *harness.System, releases ...*harness.Release) (wait func()) {
	t.Helper()
	var all sync.WaitGroup
	for _, r := range releases {
		all.Go(func() {
			if said, err := r.Run(t, s, "millrace", "migrate"); err != nil {
				t.Errorf("millrace migrate: %v\n%s", err, said)
			}
		})
	}
	return all.Wait
}

// read reads a table of the store as a backup does, in a transaction that lasts until
// it is ended.
func read(t *testing.T, storeURL, table string) (end func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), storeURL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "BEGIN; SELECT count(*) FROM "+table); err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() { conn.Close(t.Context()) })
	t.Cleanup(end)
	return end
}

// expectWaiting returns an error unless somebody waits for a table.
func expectWaiting(t *testing.T, storeURL, table string) error {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), storeURL)
	if err != nil {
		return err
	}
	defer conn.Close(t.Context())
	var n int
	err = conn.QueryRow(t.Context(),
		"SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = $1::regclass", table).Scan(&n)
	if err == nil && n == 0 {
		err = fmt.Errorf("nobody waits for %s", table)
	}
	return err
}
