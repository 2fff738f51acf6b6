package clickhouse

import (
	"context"
	"fmt"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
)

// PartPressure returns how many parts the fullest partition of any table of the
// database has: the more of them, the further the server is behind with its
// merges. It reads a system table in memory, a millisecond or so.
func (l *Ledger) PartPressure(ctx context.Context) (parts int, err error) {
	var most proto.ColUInt64
	err = l.use(ctx, func(c *ch.Client) error {
		return c.Do(ctx, ch.Query{
			Body: "SELECT max(parts) AS most FROM (SELECT count() AS parts FROM system.parts\n" +
				"WHERE active AND database = currentDatabase() GROUP BY table, partition_id)",
			Result: proto.Results{{Name: "most", Data: &most}},
		})
	})
	if err != nil {
		return 0, fmt.Errorf("counting parts: %w", err)
	}
	if most.Rows() != 1 {
		return 0, errOneRow
	}
	return int(most.Row(0)), nil
}
