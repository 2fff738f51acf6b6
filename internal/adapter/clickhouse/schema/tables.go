package schema

import (
	"slices"

	"github.com/millrace/millrace/internal/adapter/clickhouse/native"
)

// Column is one column of a table.
type Column struct {
	Name    string
	Type    string // ClickHouse type, as system.columns shows it
	Default string // expression of its value when an insert leaves it out; empty for the type's
	Alias   string // expression that it is another name for, and is not stored; empty for a stored column
	Codec   string // compression, such as "ZSTD(3)"; empty for the server's default
	Doc     string // one sentence for docs/reference/tables.md

	Native func() native.Column // makes the column of a block; nil in a table without blocks, and of an alias
	// web says that only rows whose event has a Web have a value.
	Web bool
}

// Table is one table of the analytics database.
type Table struct {
	Name        string
	Doc         string
	Engine      string
	PartitionBy string // empty for none
	OrderBy     []string
	TTL         string // empty for none
	Settings    []Setting
	Columns     []Column
}

// View is one materialized view: what it makes of each block that is inserted
// into a table is inserted into another one, under the same token.
type View struct {
	Name   string
	Doc    string
	From   string // table
	To     string // table
	Select string // total functions only: one that throws would hold the base up
}

// Setting is one setting of a table and why it has its value.
type Setting struct {
	Name  string
	Value string
	Doc   string
}

// Tables lists every table that migrations make and daemons use. Events is the
// first.
var Tables = []Table{
	Events, Vitals, Errors, Identities, Ingestion1m,
	Events15m, Events1d, Vitals15m, Errors15m, Usage1d,
	Traffic15m, Traffic1d, Sessions15m, Views1d, Custom15m,
	Clicks, Clicks15m, Clicks1d, FlagExposures,
	Profiles, ProfileTraits, Aliases,
	IngestLedger, IngestEpochs, IngestMarks, RollupDirty, Exclusions, Tombstones, Unstored1h,
}

// Views lists every materialized view.
var Views = []View{
	Events15mView, Events1dView, Usage1dView,
	Traffic15mView, Traffic1dView, Sessions15mView, Views1dView, Campaigns1dView, Referrers1dView, Custom15mView,
	Vitals15mView, VitalsUsageView, Errors15mView, ErrorsUsageView, Clicks15mView, ClickValues1dView, Clicks1dView,
	ProfilesView, ProfileTraitsView, AliasesView,
	Unstored1hView,
}

// window is the setting that says how many tokens a table remembers. It counts
// inserts, not time. A cluster has a setting of its own, see cluster.go.
const window = "non_replicated_deduplication_window"

var (
	// remembered stands on every table that is inserted into under a token, and on
	// every target of a view on one: a retry would double what a target without it
	// holds.
	remembered = []Setting{
		{window, "300000", "Insert tokens the table remembers: at 64 inserts a second, 78 minutes."},
	}
	// compact keeps what one insert brings in one file, and with it one fsync,
	// instead of two for each column; merges make the usual parts of it.
	compact = []Setting{
		{
			"min_bytes_for_wide_part", "268435456",
			"An insert is one file, not two for each column; merges of 256 MiB and more have a file for each.",
		},
	}
	// durable stands on every table.
	durable = []Setting{
		{"fsync_after_insert", "1", "An acknowledged insert survives a power cut; its offsets are committed right after."},
		{"fsync_part_directory", "1", "The same for the part's directory entry."},
	}
)

// Has reports whether the table has a column.
func (t *Table) Has(column string) bool {
	return slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Name == column })
}
