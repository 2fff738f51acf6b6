package insert

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
)

func TestAProbeRejectsWhatTheTableRejectsAndKeepsNothing(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name         string
		alter        string
		probe, store sink.Class // of a block with the name "bad" in it; empty means taken
	}{
		{"an unchanged table", "", "", ""},
		{"a constraint", "ALTER TABLE events ADD CONSTRAINT c CHECK name != 'bad'", sink.ClassRejected, sink.ClassRejected},
		{
			"a default that cannot be computed",
			"ALTER TABLE events ADD COLUMN n UInt8 DEFAULT toUInt8(if(name = 'bad', 'x', '1'))",
			sink.ClassRejected, sink.ClassRejected,
		},
		{
			"a materialized column that cannot be computed",
			"ALTER TABLE events ADD COLUMN n UInt8 MATERIALIZED toUInt8(if(name = 'bad', 'x', '1'))",
			sink.ClassRejected, sink.ClassRejected,
		},
		{
			"a view that fails",
			"CREATE MATERIALIZED VIEW v ENGINE = Memory AS SELECT toUInt8(if(name = 'bad', 'x', '1')) AS n FROM events",
			"", sink.ClassRejected,
		},
		{"a skip index", "ALTER TABLE events ADD INDEX i session_id TYPE bloom_filter", "", ""},
		{
			"a projection", "ALTER TABLE events MODIFY SETTING deduplicate_merge_projection_mode = 'drop';\n" +
				"ALTER TABLE events ADD PROJECTION p (SELECT name, count() GROUP BY name)", "", "",
		},
		{"a column TTL", "ALTER TABLE events MODIFY COLUMN path String TTL event_date + INTERVAL 90 DAY", "", ""},
		{"a table TTL", "ALTER TABLE events MODIFY TTL event_date + INTERVAL 900 DAY", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cfg := clickhousetest.Migrated(t, schema.Migrate)
			i := newInserter(t, cfg, "")
			good := clickhousetest.BlockOf(i, clickhousetest.AnEvent("a"), clickhousetest.AnEvent("b"))
			bad := clickhousetest.BlockOf(i, clickhousetest.AnEvent("a"),
				clickhousetest.AnEvent("b", func(e *record.Event) { e.Name = []byte("bad") }))
			if err := i.Probe(t.Context(), bad); err != nil {
				t.Fatalf("Probe() before the change = %v", err)
			}
			for _, s := range strings.FieldsFunc(tc.alter, func(r rune) bool { return r == ';' }) {
				clickhousetest.Run(t, cfg, s)
			}
			if err := i.Probe(t.Context(), good); err != nil {
				t.Errorf("Probe() of a good block = %v", err)
			}
			if err := i.Probe(t.Context(), bad); !clickhousetest.ClassIs(err, tc.probe) {
				t.Errorf("Probe() = %v, want class %q", err, tc.probe)
			}
			if got := clickhousetest.Column(t, cfg, "event_id", "events"); len(got) != 0 {
				t.Errorf("probing stored %d rows", len(got))
			}
			if err := i.Insert(t.Context(), bad, "1"); !clickhousetest.ClassIs(err, tc.store) {
				t.Errorf("Insert() = %v, want class %q", err, tc.store)
			}
		})
	}
}

func TestProbesRunAtTheSameTimeAndLeaveNothing(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Migrated(t, schema.Migrate)
	i := newInserter(t, cfg, "")
	before := clickhousetest.Column(t, cfg, "name", "system.tables WHERE database = currentDatabase()")
	var g errgroup.Group
	for range 8 {
		g.Go(func() error {
			b := clickhousetest.BlockOf(i, clickhousetest.AnEvent("a"))
			return errors.Join(i.Probe(t.Context(), b), i.Probe(t.Context(), b))
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if after := clickhousetest.Column(t, cfg, "name",
		"system.tables WHERE database = currentDatabase() OR is_temporary"); len(after) != len(before) {
		t.Errorf("tables %v became %v", before, after)
	}
}

func TestAProbeOfATableThatIsGoneIsNotTheRowsFault(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Migrated(t, schema.Migrate)
	i := newInserter(t, cfg, "")
	clickhousetest.Run(t, cfg, "RENAME TABLE events TO away")
	if err := i.Probe(t.Context(),
		clickhousetest.BlockOf(i, clickhousetest.AnEvent("a"))); !clickhousetest.ClassIs(err, sink.ClassSchema) {
		t.Errorf("Probe() = %v, want class %s", err, sink.ClassSchema)
	}
}
