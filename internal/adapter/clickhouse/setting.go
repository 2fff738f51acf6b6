package clickhouse

import (
	"strconv"

	"github.com/ClickHouse/ch-go"
)

// Modest are the settings that keep a check from taking the server away from everybody else.
var Modest = []ch.Setting{
	{Key: "max_threads", Value: "2", Important: true},
	{Key: "max_bytes_before_external_group_by", Value: strconv.Itoa(1 << 30), Important: true},
	// A row that a newer version replaces must not pass a filter by itself.
	{Key: "optimize_move_to_prewhere_if_final", Value: "0", Important: true},
	{Key: "use_skip_indexes_if_final", Value: "0", Important: true},
}

// InsertTokenSettings are those of an insert that make the token decide whether it is stored.
// Without one it is stored in any case, in the table and in every view.
func InsertTokenSettings(insertToken string) []ch.Setting {
	exact, insert := 1, "enable"
	if insertToken == "" {
		exact, insert = 0, "disable"
	}
	return []ch.Setting{
		{Key: "insert_deduplication_token", Value: insertToken, Important: true},
		ch.SettingInt("async_insert", 0),
		ch.SettingInt("insert_deduplicate", exact),
		ch.SettingInt("deduplicate_blocks_in_dependent_materialized_views", exact),
		// From 26.2 on it overrides insert_deduplicate. Servers before that do not
		// know it, and skip what is not important.
		{Key: "deduplicate_insert", Value: insert},
	}
}
