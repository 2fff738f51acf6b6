package inspect

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

var healthUp = prometheus.NewDesc("millrace_clickhouse_up",
	"1 while the server answers the health query. The other metrics of the server are absent otherwise.", nil, nil)

// byServer is the label that every figure has: the next time another server may be asked, whose counts and disks do
// not go on from those of this one.
var byServer = []string{"server"}

// figure is something that a server tells of itself, and the parts of the
// statement that asks for it.
type figure struct {
	name  string
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	label string // an expression of the label beside the server's; empty where there is none
	value string // likewise
	from  string
}

// figures lists them. A table of the analytics database counts, whoever made it;
// of replicas there is something to tell only where tables are replicated.
var figures = []figure{
	{
		"parts", prometheus.NewDesc("millrace_clickhouse_max_parts",
			"Active parts in the fullest partition of a table. By default the server delays inserts at 1000 parts and rejects "+
				"them at 3000.", []string{"server", "table"}, nil),
		prometheus.GaugeValue, "table", "max(n)",
		"(SELECT table, count() AS n FROM system.parts WHERE active AND database = currentDatabase() GROUP BY table, " +
			"partition_id) GROUP BY table",
	},
	{
		"delayed", prometheus.NewDesc("millrace_clickhouse_inserts_delayed_total",
			"Inserts of all users that the server delayed because merges fell behind, since the server started.", byServer, nil),
		prometheus.CounterValue, "", "sum(value)", "system.events WHERE event = 'DelayedInserts'",
	},
	{
		"rejected", prometheus.NewDesc("millrace_clickhouse_inserts_rejected_total",
			"Inserts of all users that the server rejected because merges fell behind, since "+
				"the server started.", byServer, nil),
		prometheus.CounterValue, "", "sum(value)", "system.events WHERE event = 'RejectedInserts'",
	},
	{
		"duplicated", prometheus.NewDesc("millrace_clickhouse_duplicated_inserted_blocks_total",
			"Blocks that the server skipped because it knew their insert token, since the server started.", byServer, nil),
		prometheus.CounterValue, "", "sum(value)", "system.events WHERE event = 'DuplicatedInsertedBlocks'",
	},
	{
		"merges",
		prometheus.NewDesc("millrace_clickhouse_merges",
			"Running merges and mutations of parts, in all databases.", byServer, nil),
		prometheus.GaugeValue, "", "count()", "system.merges",
	},
	{
		"free",
		prometheus.NewDesc("millrace_clickhouse_disk_free_bytes", "Free and unreserved space on a disk.",
			[]string{"server", "disk"}, nil),
		prometheus.GaugeValue, "name", "unreserved_space", "system.disks WHERE total_space > 0",
	},
	{
		"total",
		prometheus.NewDesc("millrace_clickhouse_disk_total_bytes", "Size of a disk.", []string{"server", "disk"}, nil),
		prometheus.GaugeValue, "name", "total_space", "system.disks WHERE total_space > 0",
	},
	{
		"queue",
		prometheus.NewDesc("millrace_clickhouse_replication_queue",
			"Entries in the longest replication queue of a table; 0 without replication.", byServer, nil),
		prometheus.GaugeValue, "", "max(queue_size)", replicas,
	},
	{
		"delay",
		prometheus.NewDesc("millrace_clickhouse_replication_delay_seconds",
			"Replication delay of the table that is furthest behind its other replicas.", byServer, nil),
		prometheus.GaugeValue, "", "max(absolute_delay)", replicas,
	},
	{
		"readonly",
		prometheus.NewDesc("millrace_clickhouse_readonly_replicas",
			"Tables that reject inserts because the replica lost its connection to Keeper.", byServer, nil),
		prometheus.GaugeValue, "", "countIf(is_readonly)", replicas,
	},
}

const replicas = "system.replicas WHERE database = currentDatabase()"

// healthStatement asks for all of them at once.
var healthStatement = unionOf(figures)

func unionOf(all []figure) string {
	parts := make([]string, len(all))
	for i := range all {
		f := &all[i]
		parts[i] = fmt.Sprintf("SELECT '%s' AS what, toString(%s) AS which, toFloat64(%s) AS reads FROM %s",
			f.name, cmp.Or(f.label, "''"), f.value, f.from)
	}
	return "SELECT hostName() AS server, what, which, reads FROM (\n" + strings.Join(parts, "\nUNION ALL\n") + "\n)"
}

// figureNamed returns nil where there is none.
func figureNamed(name string) *figure {
	for i := range figures {
		if figures[i].name == name {
			return &figures[i]
		}
	}
	return nil
}
