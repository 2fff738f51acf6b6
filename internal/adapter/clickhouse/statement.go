package clickhouse

import (
	"context"
	"errors"
	"fmt"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
)

// Exec runs a statement that has no result.
func Exec(ctx context.Context, c *Client, sql string) error {
	return c.Do(ctx, ch.Query{Body: sql})
}

// Texts returns the only column, of type String, of a statement's rows.
func Texts(ctx context.Context, c *Client, sql string, settings ...ch.Setting) ([]string, error) {
	var col proto.ColStr
	var all []string
	if err := c.Do(ctx, ch.Query{
		Body: sql, Settings: settings, Result: proto.Results{{Data: &col}},
		OnResult: func(context.Context, proto.Block) error {
			for i := range col.Rows() {
				all = append(all, col.Row(i))
			}
			col.Reset()
			return nil
		},
	}); err != nil {
		return nil, fmt.Errorf("querying the server: %w", err)
	}
	return all, nil
}

// ErrOneRow means that a statement whose result is one row had none, or several.
var ErrOneRow = errors.New("the server must return one row")

// Single returns the only value of a column, or ErrOneRow.
func Single(col *proto.ColInt64) (int64, error) {
	if col.Rows() != 1 {
		return 0, ErrOneRow
	}
	return col.Row(0), nil
}
