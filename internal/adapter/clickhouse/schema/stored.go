package schema

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
)

// stored is a table or view as the server has it.
type stored struct {
	engine   string
	settings map[string]string // those that its statement sets, else the server's
	views    []string          // materialized views that read from it
	target   string            // of a materialized view
}

func (t stored) replicated() bool {
	return strings.HasPrefix(t.engine, "Replicated") || strings.HasPrefix(t.engine, "Shared")
}

// number returns a setting, and 0 for one that is no number.
func (t stored) number(name string) int {
	n, _ := strconv.Atoi(asNumber(t.settings[name]))
	return n
}

// readStored returns the tables of the current database, and those of others
// that views fill, by name; the names of the latter stand behind their
// database's.
func readStored(ctx context.Context, c *clickhouse.Client) (map[string]stored, error) {
	defaults, err := clickhouse.Texts(ctx, c, "SELECT concat(name, '=', value) FROM system.merge_tree_settings WHERE "+
		"name LIKE '%deduplication_window%' OR name LIKE 'fsync_%'")
	if err != nil {
		return nil, err
	}
	rows, err := clickhouse.Texts(ctx, c, storedSQL)
	if err != nil {
		return nil, err
	}
	tables := make(map[string]stored, len(rows))
	for _, row := range rows {
		f := strings.Split(row, "\x00")
		t := stored{engine: f[1], settings: map[string]string{}}
		for _, d := range defaults {
			name, value, _ := strings.Cut(d, "=")
			t.settings[name] = value
		}
		for _, m := range settingOf.FindAllStringSubmatch(f[2], -1) {
			t.settings[m[1]] = m[2]
		}
		if f[3] != "" {
			t.views = strings.Split(f[3], "\x01")
		}
		t.target = targetOf(f[4], f[5], f[6])
		tables[f[0]] = t
	}
	return tables, nil
}

// storedSQL reads one text per table: name, engine, settings, views on it,
// statement of a view, id of a view, and the current database. Zero bytes stand
// between them.
const storedSQL = `WITH currentDatabase() AS here
SELECT concat(
    if(database = here, name, concat(database, '.', name)), '\0',
    engine, '\0',
    if(engine LIKE '%MergeTree', engine_full, ''), '\0',
    arrayStringConcat(arrayMap((d, t) -> if(d = here, t, concat(d, '.', t)), dependencies_database, dependencies_table), '\x01'), '\0',
    if(engine = 'MaterializedView', create_table_query, ''), '\0',
    toString(uuid), '\0',
    here)
FROM system.tables
WHERE database NOT IN ('system', 'INFORMATION_SCHEMA', 'information_schema')`

var (
	settingOf = regexp.MustCompile(`\b([a-z_]+) = ([0-9a-z]+)`)
	toTable   = regexp.MustCompile(`^CREATE MATERIALIZED VIEW \S+ (?:REFRESH .* )?TO (\S+)`)
)

// targetOf returns the table that a materialized view writes to: the one that it
// names, or one that the server made for it.
func targetOf(statement, id, here string) string {
	if statement == "" {
		return ""
	}
	m := toTable.FindStringSubmatch(statement)
	if m == nil {
		return ".inner_id." + id
	}
	return strings.TrimPrefix(strings.ReplaceAll(m[1], "`", ""), here+".")
}
