package insert

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/pipeline/ledger"
)

// PartPressure returns the largest number of active parts in one partition of the
// tables of records and of what views fill from them: the server slows inserts
// down at 1000, by default, and rejects them at 3000.
func (i *Inserter) PartPressure(ctx context.Context) (int, error) {
	var names []string
	for _, t := range schema.Bases {
		names = append(names, t.Name)
	}
	for j := range schema.Views {
		names = append(names, schema.Views[j].To)
	}
	var parts []string
	err := i.Use(ctx, func(c *clickhouse.Client) (err error) {
		parts, err = clickhouse.Texts(ctx, c, "SELECT toString(max(n)) FROM (SELECT count() AS n FROM system.parts\n"+
			"WHERE database = currentDatabase() AND active AND table IN ('"+strings.Join(names, "', '")+"')\n"+
			"GROUP BY table, partition_id)")
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("counting parts: %w", err)
	}
	return strconv.Atoi(parts[0])
}

// InsertTokenMemory returns what the servers remember of inserts; see that of the schema.
func (i *Inserter) InsertTokenMemory(ctx context.Context) (least ledger.InsertTokenMemory, err error) {
	if err := i.Use(ctx, func(c *clickhouse.Client) error {
		least, err = schema.InsertTokenMemory(ctx, c)
		return err
	}); err != nil {
		return ledger.InsertTokenMemory{}, fmt.Errorf("reading the number of remembered tokens: %w", err)
	}
	return least, nil
}
