package insert

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/native"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/pipeline/ledger"
)

// Again is behind the token of rows that are sent once more, because the server knows their
// token and does not have them.
//
// A table without replicas notes an insert's token before it gives the part its name
// (MergeTreeSink::finishDelayedChunk of ClickHouse). A server that is killed between the two
// starts again with a token and without its rows, and from then on ignores them whenever they
// are sent. So where a token is known the rows are looked for. Where there are none, what the
// views made of them is of no use either: some have them from the time at which the table
// ignored them, others lost theirs in the same way. Their days are listed, so that the table
// answers for them until the rollups are rebuilt, and then the rows are sent under a token
// that nobody has noted. Whoever settles the same range chooses the same one.
//
// A replicated table notes a token and commits the part in one transaction of its keeper.
const Again = ":again"

// plainEngine is of a table that notes tokens by itself.
const plainEngine = "(SELECT count() FROM system.tables\n" +
	"WHERE database = currentDatabase() AND name = {table:String} AND endsWith(engine, 'MergeTree')\n" +
	"  AND NOT startsWith(engine, 'Replicated') AND NOT startsWith(engine, 'Shared'))"

// Lost reports whether a table is one that notes tokens by itself and has none of the rows
// for which a condition holds.
func Lost(
	ctx context.Context, c *clickhouse.Client, table, condition string, parameters ...proto.Parameter,
) (bool, error) {
	var lost proto.ColUInt8
	err := c.Do(ctx, ch.Query{
		Body: "SELECT ifNull(" + plainEngine + " > 0 AND (SELECT count() FROM (SELECT 1 FROM " +
			clickhouse.QuoteName(table) + " WHERE " + condition + " LIMIT 1)) = 0, 0) AS lost",
		Parameters: append(parameters, clickhouse.StringParameter("table", table)),
		Result:     proto.Results{{Name: "lost", Data: &lost}},
	})
	if err != nil {
		return false, fmt.Errorf("looking for the rows of an insert with a known token: %w", err)
	}
	if lost.Rows() != 1 {
		return false, clickhouse.ErrOneRow
	}
	return lost[0] != 0, nil
}

// origin are the columns that tell of a block's rows which records they were made from, and
// whose days they are of.
type origin struct {
	offsets    interface{ Row(row int) int64 }
	partitions interface{ Row(row int) uint16 }
	days       interface{ Row(row int) time.Time }
	topics     texts
	owners     texts
}

// texts are the values of a column of texts.
type texts interface {
	Each(do func(row int, value []byte))
}

// add notes a column of a table that is one of them. The owner is what a table's rows are
// ordered by first, whatever its name there; owner_id is at least another name of it.
func (o *origin) add(t *schema.Table, name string, c native.Column) {
	switch name {
	case offsetColumn:
		o.offsets, _ = c.(interface{ Row(row int) int64 })
	case partitionColumn:
		o.partitions, _ = c.(interface{ Row(row int) uint16 })
	case dayColumn:
		o.days, _ = c.(interface{ Row(row int) time.Time })
	case topicColumn:
		o.topics, _ = c.(texts)
	case t.OrderBy[0]:
		o.owners, _ = c.(texts)
	}
}

// first is a column's value of the first row.
func first(c texts) (value string) {
	c.Each(func(row int, v []byte) {
		if row == 0 {
			value = string(v)
		}
	})
	return value
}

// stored reports whether the table has rows of a block whose token the server knows. It has
// all of them then, since a block is one part. It asks for those of the first row's owner and
// day, which the primary key finds; of several versions of an event a merge keeps one, which
// is of this block too unless a later one was stored since.
func (i *Inserter) stored(ctx context.Context, c *clickhouse.Client, b *block) (bool, error) {
	o := &b.origin
	from, to := o.offsets.Row(0), o.offsets.Row(0)
	for row := range b.rows {
		from, to = min(from, o.offsets.Row(row)), max(to, o.offsets.Row(row))
	}
	lost, err := Lost(ctx, c, i.target(b), "owner_id = {owner:String} AND event_date = {day:Date} AND "+
		"_topic = {topic:String} AND _partition = {partition:UInt16} AND _offset BETWEEN {from:Int64} AND {to:Int64}",
		clickhouse.TextParameter("owner", first(o.owners)),
		clickhouse.StringParameter("day", o.days.Row(0).Format(time.DateOnly)),
		clickhouse.TextParameter("topic", first(o.topics)),
		clickhouse.IntParameter("partition", int64(o.partitions.Row(0))),
		clickhouse.IntParameter("from", from), clickhouse.IntParameter("to", to))
	return !lost, err
}

// listDays lists the days of a block's owners, as those whose rollups count more than the
// table: they are answered from the table until they are rebuilt.
func listDays(ctx context.Context, c *clickhouse.Client, b *block) error {
	owners, reasons := new(proto.ColStr).LowCardinality(), new(proto.ColStr).LowCardinality()
	var days proto.ColDate
	type ownersDay struct {
		owner string
		day   time.Time
	}
	listed := map[ownersDay]bool{}
	b.origin.owners.Each(func(row int, owner []byte) {
		d := ownersDay{string(owner), b.origin.days.Row(row)}
		if listed[d] {
			return
		}
		listed[d] = true
		owners.Append(d.owner)
		days.Append(d.day)
		reasons.Append(string(ledger.ReasonOver))
	})
	in := proto.Input{
		{Name: "owner_id", Data: owners}, {Name: "event_date", Data: days}, {Name: "reason", Data: reasons},
	}
	if err := c.Do(ctx, ch.Query{
		Body: in.Into(schema.RollupDirty.Name), Input: in, Settings: Settings(ctx, len(listed), "", 0),
	}); err != nil {
		return fmt.Errorf("listing the days of rows that are sent again: %w", err)
	}
	return nil
}
