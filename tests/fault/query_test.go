package fault

import (
	"context"
	"fmt"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/platform/config"
)

// queryRows returns the rows of a SELECT, each value as text.
func queryRows(ctx context.Context, cfg config.ClickHouse, sql string) (rows [][]string, err error) {
	c, err := clickhouse.Dial(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	column := new(proto.ColStr).Array()
	err = c.Do(ctx, ch.Query{
		Body:   "SELECT array(COLUMNS('.*') APPLY toString) AS r FROM (" + sql + ")",
		Result: proto.Results{{Name: "r", Data: column}},
		OnResult: func(context.Context, proto.Block) error {
			for i := range column.Rows() {
				rows = append(rows, column.Row(i))
			}
			return nil
		},
	})
	if err != nil {
		return nil, fmt.Errorf("asking %q: %w", sql, err)
	}
	return rows, nil
}

// execute runs a statement that has no rows for a result.
func execute(ctx context.Context, cfg config.ClickHouse, sql string) error {
	c, err := clickhouse.Dial(ctx, cfg)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Do(ctx, ch.Query{Body: sql}); err != nil {
		return fmt.Errorf("running %q: %w", sql, err)
	}
	return nil
}
