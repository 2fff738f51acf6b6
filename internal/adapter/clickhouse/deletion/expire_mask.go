package deletion

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
)

// ownersAtOnce bounds one statement, which the server keeps until every replica
// has done it.
const ownersAtOnce = 1000

// mask deletes rows of one partition.
func (e *Expirer) mask(ctx context.Context, x *expired) error {
	for some := range slices.Chunk(x.limits, ownersAtOnce) {
		byDay := map[time.Time][]string{}
		for _, l := range some {
			byDay[l.Before] = append(byDay[l.Before], "'"+clickhouse.Quote.Replace(l.Website)+"'")
		}
		var parts []string
		for before, owners := range byDay {
			parts = append(parts, "(owner_id IN ("+strings.Join(owners, ", ")+") AND "+x.day+" < "+dateSQL(before)+")")
		}
		slices.Sort(parts)
		if err := e.alter(ctx, "DELETE FROM "+x.table.Name+" IN PARTITION ID '"+clickhouse.Quote.Replace(x.partition)+
			"' WHERE "+strings.Join(parts, " OR ")); err != nil {
			return fmt.Errorf("deleting from partition %s of %s: %w", x.partition, x.table.Name, err)
		}
	}
	return nil
}

// alter runs a statement and returns when every replica has done what it says.
func (e *Expirer) alter(ctx context.Context, sql string) error {
	return e.Use(ctx, func(c *clickhouse.Client) error {
		return c.Do(ctx, ch.Query{Body: sql, Settings: []ch.Setting{
			{Key: "lightweight_deletes_sync", Value: "2", Important: true},
			{Key: "mutations_sync", Value: "2", Important: true},
		}})
	})
}

// compactEvery is in how many days each partition is written once without what was
// deleted from it.
const compactEvery = 7

// Compact implements retention.Tables. Whose turn it is, is told by the names of the
// table and the partition, so that the work is spread over the week and nothing has
// to be remembered.
func (e *Expirer) Compact(ctx context.Context, day time.Time) error {
	masked, err := e.masked(ctx, day)
	if err != nil {
		return fmt.Errorf("finding partitions with deleted rows: %w", err)
	}
	for _, at := range masked {
		if err := e.alter(ctx, "ALTER TABLE "+at.table+" APPLY DELETED MASK IN PARTITION ID '"+
			clickhouse.Quote.Replace(at.partition)+"'"); err != nil {
			return fmt.Errorf("removing deleted rows from partition %s of %s: %w", at.partition, at.table, err)
		}
	}
	return nil
}

// place is a partition of a table.
type place struct{ table, partition string }

// masked returns the partitions with masked rows whose turn it is on a day.
func (e *Expirer) masked(ctx context.Context, day time.Time) (all []place, err error) {
	var tables, partitions proto.ColStr
	err = e.Use(ctx, func(c *clickhouse.Client) error {
		return c.Do(ctx, ch.Query{
			Body: "SELECT DISTINCT table, partition_id FROM system.parts\n" +
				"WHERE active AND database = currentDatabase() AND has_lightweight_delete\n" +
				"AND (cityHash64(table, partition_id) + " + strconv.FormatInt(day.Unix()/(24*60*60), 10) + ") % " +
				strconv.Itoa(compactEvery) + " = 0\n" +
				"ORDER BY table, partition_id",
			Result: proto.Results{{Name: "table", Data: &tables}, {Name: "partition_id", Data: &partitions}},
			OnResult: func(context.Context, proto.Block) error {
				for i := range tables.Rows() {
					all = append(all, place{tables.Row(i), partitions.Row(i)})
				}
				return nil
			},
		})
	})
	return all, err
}
