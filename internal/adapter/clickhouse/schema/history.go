package schema

import (
	"fmt"
	"slices"
	"strings"
)

// object is something that migrations make.
type object interface {
	comment() string
	CreateSQL(cluster string) string
}

// history says what each migration makes. Its file holds the same statements for
// a single server, which a test compares; for a cluster they are made from here.
var history = map[string][]object{
	"0001_events": {&Events},
	"0002_ledger_and_rollups": {
		&Events15m, &Events15mView, &Events1d, &Events1dView,
		&IngestLedger, &IngestEpochs, &IngestMarks, &RollupDirty, &Exclusions,
		filling{
			"Days from before the rollups are not in them.",
			"INSERT INTO rollup_dirty (owner_id, event_date, reason, base)\n" +
				"SELECT owner_id, event_date, 'before_rollups', count() FROM events FINAL GROUP BY owner_id, event_date\n",
		},
	},
	"0003_compact_inserts": {setting{&Events}, setting{&Events15m}, setting{&Events1d}},
	"0004_usage":           {&Usage1d, &Usage1dView, filling{"Usage from before the view.", usageBefore}},
	"0005_tombstones":      {&Tombstones, addition{&IngestLedger, "erased"}},
	"0006_browsers": {
		additions{&Events, pageColumns},
		&Vitals, &Vitals15m, &Vitals15mView, &VitalsUsageView,
		&Errors, &Errors15m, &Errors15mView, &ErrorsUsageView,
		&Identities, &Profiles, &ProfilesView, &ProfileTraits, &ProfileTraitsView, &Aliases, &AliasesView,
		&Ingestion1m,
	},
	"0007_shares": {
		addition{&IngestLedger, "share_owners"},
		addition{&IngestLedger, "share_hours"},
		addition{&IngestLedger, "share_duplicates"},
		addition{&IngestLedger, "share_dead_letters"},
		addition{&IngestLedger, "share_erased"},
		&Unstored1h, &Unstored1hView,
	},
	"0008_rollups_for_questions": {
		&Traffic15m, &Traffic15mView, &Traffic1d, &Traffic1dView, &Sessions15m, &Sessions15mView,
		&Views1d, &Views1dView, &Campaigns1dView, &Referrers1dView, &Custom15m, &Custom15mView,
		filling{
			"Days from before the rollups are not in them.",
			"INSERT INTO rollup_dirty (owner_id, event_date, reason)\n" +
				"SELECT DISTINCT owner_id, event_date, 'before_rollups' FROM events\n" +
				"WHERE (owner_id, event_date) NOT IN (SELECT owner_id, event_date FROM rollup_dirty FINAL WHERE cleared = 0)\n",
		},
	},
	"0009_clicks":         {&Clicks, &Clicks15m, &Clicks15mView, &Clicks1d, &ClickValues1dView, &Clicks1dView},
	"0010_flag_exposures": {&FlagExposures},
	"0011_original_names": {addition{&Events, "original_name"}, addition{&Errors, "original_name"}},
}

// additions are the columns that came after a table, in one go. Adding them twice
// changes nothing.
type additions struct {
	table   *Table
	columns []Column
}

func (a additions) comment() string { return "Columns of " + a.table.Name + " that came after it." }

// CreateSQL alters the table, on every replica of a cluster.
func (a additions) CreateSQL(cluster string) string {
	lines := make([]string, len(a.columns))
	for i := range a.columns {
		lines[i] = "    ADD COLUMN IF NOT EXISTS " + a.columns[i].sql(0, 0)
	}
	return "ALTER TABLE " + a.table.Name + onCluster(cluster) + "\n" + strings.Join(lines, ",\n") + "\n"
}

// setting gives a table its later settings. Doing it twice changes nothing.
type setting struct{ table *Table }

func (s setting) comment() string { return "Settings of " + s.table.Name + " that came after it." }

// CreateSQL alters the table, on every replica of a cluster.
func (s setting) CreateSQL(cluster string) string {
	pairs := make([]string, len(s.table.Later))
	for i, l := range s.table.Later {
		pairs[i] = l.Name + " = " + l.Value
	}
	return "ALTER TABLE " + s.table.Name + onCluster(cluster) + " MODIFY SETTING " + strings.Join(pairs, ", ") + "\n"
}

// addition adds a column to a table. Doing it twice changes nothing.
type addition struct {
	table *Table
	name  string
}

func (c addition) comment() string {
	return "Column " + c.name + " of " + c.table.Name + ", which came after it."
}

// CreateSQL alters the table, on every replica of a cluster. The column is there.
func (c addition) CreateSQL(cluster string) string {
	i := slices.IndexFunc(c.table.Columns, func(col Column) bool { return col.Name == c.name })
	return "ALTER TABLE " + c.table.Name + onCluster(cluster) + " ADD COLUMN IF NOT EXISTS " +
		c.table.Columns[i].sql(0, 0) + "\n"
}

// filling is a statement that puts rows into a table. Running it twice leaves
// what running it once leaves.
type filling struct{ doc, sql string }

func (f filling) comment() string { return f.doc }

// CreateSQL is the same on a cluster: its tables are replicated.
func (f filling) CreateSQL(string) string { return f.sql }

// statementsFor returns the statements of a migration on a cluster, or on a
// single server when none is named.
func (m migration) statementsFor(cluster string) ([]string, error) {
	if cluster == "" {
		return m.statements, nil
	}
	objects, ok := history[m.name]
	if !ok {
		return nil, fmt.Errorf("%w: migration %s has no statements for a cluster", ErrSchema, m.name)
	}
	all := make([]string, len(objects))
	for i, o := range objects {
		all[i] = o.CreateSQL(cluster)
	}
	return all, nil
}
