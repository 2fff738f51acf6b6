package schema

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/platform/config"
)

func TestWhatExactlyOnceNeedsIsCheckedAtTheStart(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		spoil string // run on a migrated database, a statement a line
		want  string // in the error; empty when nothing is wrong
	}{
		{"as migrated", "", ""},
		{
			"the base remembers nothing", "ALTER TABLE events MODIFY SETTING non_replicated_deduplication_window = 0",
			"non_replicated_deduplication_window of table events is 0",
		},
		{
			"the base falls back to the server's default",
			"ALTER TABLE events RESET SETTING non_replicated_deduplication_window", "table events is 0",
		},
		{"the least window", "ALTER TABLE events MODIFY SETTING non_replicated_deduplication_window = 10000", ""},
		{
			"one less", "ALTER TABLE events MODIFY SETTING non_replicated_deduplication_window = 9999",
			"is 9999; it must be at least 10000",
		},
		{
			"a rollup remembers nothing", "ALTER TABLE events_1d RESET SETTING non_replicated_deduplication_window",
			"table events_1d, which view events_1d_mv fills, is 0",
		},
		{
			"the ledger remembers nothing", "ALTER TABLE ingest_ledger RESET SETTING non_replicated_deduplication_window",
			"table ingest_ledger is 0",
		},
		{
			"no fsync of the base", "ALTER TABLE events MODIFY SETTING fsync_after_insert = 0",
			`run "ALTER TABLE events MODIFY SETTING fsync_after_insert = 1"`,
		},
		{
			"no fsync of a rollup's folder", "ALTER TABLE events_15m RESET SETTING fsync_part_directory",
			"a power cut loses acknowledged rows",
		},
		{
			"a view gone", "DROP VIEW events_1d_mv SYNC",
			`view events_1d_mv is missing, so events_1d would lack rows; run "millrace migrate"`,
		},
		{
			"a view with another target",
			"CREATE TABLE other AS events_1d;\nDROP VIEW events_1d_mv SYNC;\n" +
				strings.Replace(Events1dView.CreateSQL(""), "TO events_1d", "TO other", 1),
			"view events_1d_mv writes to other, not to events_1d",
		},
		{
			"a view from another table",
			"CREATE TABLE other AS events;\nDROP VIEW events_1d_mv SYNC;\n" +
				strings.Replace(Events1dView.CreateSQL(""), "FROM events", "FROM other", 1),
			"view events_1d_mv does not read from events",
		},
		{
			"one view more, whose table remembers nothing",
			"CREATE MATERIALIZED VIEW mine ENGINE = MergeTree ORDER BY name AS SELECT name FROM events",
			"which view mine fills, is 0",
		},
		{
			"one view more, into a table that cannot remember",
			"CREATE MATERIALIZED VIEW mine ENGINE = Memory AS SELECT name FROM events",
			"which view mine fills, has engine Memory, which cannot ignore a retry",
		},
		{
			"one view more, whose table remembers",
			"CREATE MATERIALIZED VIEW mine ENGINE = MergeTree ORDER BY name SETTINGS non_replicated_deduplication_window = " +
				"300000, fsync_after_insert = 1, fsync_part_directory = 1 AS SELECT name FROM events",
			"",
		},
		{"one view more, into nothing", "CREATE MATERIALIZED VIEW mine ENGINE = Null AS SELECT name FROM events", ""},
		{
			"a view on a rollup, whose table remembers nothing",
			"CREATE TABLE deep (name String) ENGINE = MergeTree ORDER BY name;\nCREATE MATERIALIZED VIEW mine TO deep AS " +
				"SELECT name FROM events_15m",
			"table deep, which view mine fills, is 0",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cfg := clickhousetest.Migrated(t, Migrate)
			for _, s := range statements(tc.spoil) {
				clickhousetest.Run(t, cfg, s)
			}
			checkInexact(t, CheckExactness(t.Context(), cfg), tc.want)
		})
	}
}

func checkInexact(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("CheckExactness() = %v, want nil", err)
	case want != "" && (!errors.Is(err, ErrInexact) || !strings.Contains(err.Error(), want)):
		t.Errorf("CheckExactness() = %v, want ErrInexact with %q", err, want)
	}
}

// A profile may hold settings where they are, whatever an insert asks for. The
// embedded server has one user, so the session plays the profile.
func TestSettingsThatAUserMayNotChangeAreNamed(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Migrated(t, Migrate) // only the sessions differ
	for _, tc := range []struct{ name, session, want string }{
		{
			"other values that may be changed",
			"SET async_insert = 1, insert_deduplicate = 0, deduplicate_insert = 'disable'", "",
		},
		{"readonly, but for settings", "SET readonly = 2", ""},
		{"readonly", "SET readonly = 1", "user default may not set insert_deduplication_token"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, err := clickhouse.Dial(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := clickhouse.Exec(t.Context(), c, tc.session); err != nil {
				t.Fatal(err)
			}
			checkInexact(t, checkSettings(t.Context(), c, cfg.User), tc.want)
		})
	}
}

// What the server answers decides, not that it took the setting.
func TestASettingThatStaysAsItIsIsNamed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ got, want string }{
		{"true", ""}, {"1", ""}, {"false", "insert_deduplicate stays 0 for user u after a query set it to 1"},
	} {
		checkInexact(t, settingIs(ch.SettingInt("insert_deduplicate", 1), tc.got, "u"), tc.want)
	}
}

func TestAClusterNeedsReplicatedTables(t *testing.T) {
	t.Parallel()
	cluster := clickhousetest.Migrated(t, Migrate)
	cluster.Cluster = "main"
	checkInexact(t, CheckExactness(t.Context(), cluster),
		"clickhouse.cluster is set and table events has engine ReplacingMergeTree")
}

// No Keeper runs here, so the tables are played.
func TestReplicatedTablesNeedAQuorum(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		engine string
		cfg    config.ClickHouse
		want   string
	}{
		{"ReplacingMergeTree", config.ClickHouse{}, ""},
		{"ReplicatedReplacingMergeTree", config.ClickHouse{}, "clickhouse.insert_quorum is 0"},
		{"ReplicatedReplacingMergeTree", config.ClickHouse{InsertQuorum: 1}, "clickhouse.insert_quorum is 1"},
		{"ReplicatedReplacingMergeTree", config.ClickHouse{InsertQuorum: 2}, ""},
		{"ReplicatedReplacingMergeTree", config.ClickHouse{AllowQuorumOfOne: true}, ""},
		{"SharedReplacingMergeTree", config.ClickHouse{}, ""},
	} {
		checkInexact(t, checkQuorum(tc.cfg, stored{engine: tc.engine}), tc.want)
	}
}

func TestAReplicatedTableForgetsByTimeToo(t *testing.T) {
	t.Parallel()
	table := func(insertTokens, seconds string) ledger.InsertTokenMemory {
		return stored{
			engine:   "ReplicatedMergeTree",
			settings: map[string]string{replicatedWindow: insertTokens, replicatedWindow + "_seconds": seconds},
		}.insertTokenMemory()
	}
	least := lessOf(table("300000", "86400"), table("20000", "604800"))
	if want := (ledger.InsertTokenMemory{Inserts: 20_000, For: 24 * time.Hour}); least != want {
		t.Errorf("two tables remember %+v, want the smaller of each, %+v", least, want)
	}
	for _, both := range [][2]ledger.InsertTokenMemory{{least, {Inserts: 10_000}}, {{Inserts: 10_000}, least}} {
		if got, want := lessOf(both[0], both[1]),
			(ledger.InsertTokenMemory{Inserts: 10_000, For: 24 * time.Hour}); got != want {
			t.Errorf("with one that forgets by count alone, %+v, want %+v", got, want)
		}
	}
}
