package inspect

import (
	"context"
	"fmt"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/platform/config"
)

// systemTables are those that a user has to be allowed to read of, where reading
// them needs a grant: they tell how tables are kept, how full partitions and disks
// are, and what the server is at.
var systemTables = []string{"disks", "events", "merge_tree_settings", "merges", "parts", "processes", "replicas"}

// grants returns what the daemons do, in the words of GRANT.
func grants(cfg config.ClickHouse) []string {
	tables := " ON " + clickhouse.QuoteName(cfg.Database) + ".*"
	all := []string{
		"SELECT" + tables, "INSERT" + tables, "ALTER DELETE" + tables,
		// A sink tries on a temporary table what a table rejects.
		"CREATE ARBITRARY TEMPORARY TABLE ON *.*", "TABLE ENGINE ON `Null`",
	}
	for _, name := range systemTables {
		all = append(all, "SELECT ON system."+name)
	}
	if cfg.Cluster != "" {
		all = append(all, "SYSTEM SYNC REPLICA"+tables, "SELECT ON system.clusters")
	}
	return all
}

// LackingGrants returns what the daemons do and the user of cfg may not, in the words of
// GRANT, such as "INSERT ON `millrace`.*".
func LackingGrants(ctx context.Context, cfg config.ClickHouse) (lacking []string, err error) {
	c, err := clickhouse.DialDefault(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for _, what := range grants(cfg) {
		var granted proto.ColUInt8
		if err := c.Do(ctx, ch.Query{
			Body:   "CHECK GRANT " + what,
			Result: proto.Results{{Name: "result", Data: &granted}},
		}); err != nil {
			return nil, fmt.Errorf("checking the grant %s: %w", what, err)
		}
		if granted.Rows() == 1 && granted.Row(0) == 0 {
			lacking = append(lacking, what)
		}
	}
	return lacking, nil
}
