package insert

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/ch-go"
	"golang.org/x/sync/semaphore"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/platform/config"
)

// Inserter stores blocks, each in the table of its topic's records. It implements
// sink.Inserter: each insert is one block on one connection, synchronous, under
// its token. Connections are made when they are needed, as many as there are
// inserts at once.
type Inserter struct {
	*clickhouse.Pool

	into    string // the table that all rows go to; empty for their own
	quorum  int
	sizes   map[string]*sizes // of blocks, by topic
	known   atomic.Int64
	lost    atomic.Int64
	most    int64               // bytes of the blocks that are sent at the same time
	sending *semaphore.Weighted // of most
}

// sendAtOnce is what an Inserter sends at the same time unless it is told otherwise, in bytes:
// two blocks of ordinary events or more, of the largest ones only one.
const sendAtOnce = 48 << 20

// Bound has blocks of so many bytes be reserved at the same time at most, or one that is larger,
// and connections keep memory for as many. A connection has each block twice more, encoded and
// compressed. It is called before the first block.
func (i *Inserter) Bound(bytes int64) {
	i.most, i.sending = bytes, semaphore.NewWeighted(bytes)
	i.KeepFor(bytes)
}

// Known returns how many inserts the server knew the token of, in the table or in
// a rollup, and did not store again there.
func (i *Inserter) Known() int64 { return i.known.Load() }

// Lost returns how many inserts the server knew the token of without having the rows, which
// were then sent under another one.
func (i *Inserter) Lost() int64 { return i.lost.Load() }

// NewInserter returns an Inserter; it opens no connection. The rows go to the
// table named into, which has the same columns; empty means their own.
func NewInserter(cfg config.ClickHouse, into string) *Inserter {
	i := &Inserter{Pool: clickhouse.NewPool(cfg), into: into, quorum: cfg.InsertQuorum, sizes: map[string]*sizes{}}
	i.Bound(sendAtOnce)
	for topic := range schema.BaseOf {
		i.sizes[topic] = &sizes{}
	}
	return i
}

// NewBlock implements sink.Inserter. The topic is one that TableOf knows.
func (i *Inserter) NewBlock(topic string) sink.Block {
	return newBlock(schema.BaseOf[topic], i.sizes[topic])
}

// target names the table that a block goes to.
func (i *Inserter) target(b *block) string {
	if i.into != "" {
		return i.into
	}
	return b.table.Name
}

// Insert implements sink.Inserter. The block comes from NewBlock. An empty token
// switches deduplication off, in the table and in every view: tests show with it
// what the token is there for.
//
// Rows of which the server knows the token and has none are sent under another one: see Lost.
func (i *Inserter) Insert(ctx context.Context, b sink.Block, insertToken string) error {
	own, err := ours(b)
	if err != nil || own.rows == 0 {
		return err
	}
	for ; ; insertToken += Again {
		known, there := false, false
		if err := i.send(ctx, own, func(c *clickhouse.Client) (err error) {
			if known, err = own.insert(ctx, c, i.target(own), insertToken, i.quorum); err != nil || !known {
				return err
			}
			if there, err = i.stored(ctx, c, own); err != nil || there {
				return err
			}
			return listDays(ctx, c, own)
		}); err != nil {
			return Classify(err)
		}
		if known {
			i.known.Add(1)
		}
		if !known || there {
			return nil
		}
		i.lost.Add(1)
	}
}

// probeTable is the name of the clone in the connection that made it. It is a
// temporary table, so that no other connection sees it and none outlives a
// process that was killed.
const probeTable = "millrace_probe"

// Probe inserts the block into a clone of the table that keeps nothing, and
// returns what Insert would return if the rows are at fault: the clone has the
// columns, defaults and constraints that the table has at this moment, and no
// view. A nil says that the table takes every row. The clone is made for the
// call and is gone after it, so a change of the table counts at once; probes may
// run at the same time.
func (i *Inserter) Probe(ctx context.Context, b sink.Block) error {
	own, err := ours(b)
	if err != nil || own.rows == 0 {
		return err
	}
	if err := i.send(ctx, own, func(c *clickhouse.Client) error {
		if err := clickhouse.Exec(ctx, c,
			"CREATE TEMPORARY TABLE "+probeTable+" AS "+clickhouse.QuoteName(i.target(own))+" ENGINE = Null"); err != nil {
			return fmt.Errorf("cloning %s: %w", i.target(own), err)
		}
		if _, err := own.insert(ctx, c, probeTable, "", 0); err != nil {
			return err // Use closes the connection, and the clone goes with it
		}
		return clickhouse.Exec(ctx, c, "DROP TEMPORARY TABLE "+probeTable)
	}); err != nil {
		return Classify(err)
	}
	return nil
}

// Reserve implements sink.Inserter: what is encoded at the same time is bounded.
func (i *Inserter) Reserve(ctx context.Context, b sink.Block) (release func(), err error) {
	own, err := ours(b)
	if err != nil {
		return nil, err
	}
	n := min(int64(own.sent()), i.most)
	if err := i.sending.Acquire(ctx, n); err != nil {
		return nil, err //nolint:wrapcheck // that of the context
	}
	return func() { i.sending.Release(n) }, nil
}

// send runs f, which sends a block, on a connection. The connection keeps the memory for all
// of it, also where that is more than was reserved.
func (i *Inserter) send(ctx context.Context, b *block, f func(*clickhouse.Client) error) error {
	return i.UseFor(ctx, int64(b.sent()), f)
}

func ours(b sink.Block) (*block, error) {
	own, ok := b.(*block)
	if !ok {
		return nil, fmt.Errorf("unknown block type %T", b)
	}
	return own, nil
}

// Settings are what an exact insert needs, whatever the server's defaults:
// what is sent is one block, written as it is before it is acknowledged, and
// ignored if its token is known, here and in every view. Without a token nothing
// is ignored: otherwise the content would decide. With a quorum of two or more so
// many replicas hold the rows before it is acknowledged.
func Settings(ctx context.Context, rows int, insertToken string, quorum int) []ch.Setting {
	most := (rows + 1) * schema.ViewFanOut // rows that a view makes, and one more
	settings := append(clickhouse.InsertTokenSettings(insertToken),
		ch.SettingInt("max_insert_block_size", rows+1),
		// A view with grouping sets makes a block of each, which are put together too.
		ch.SettingInt("min_insert_block_size_rows", most),
		ch.SettingInt("min_insert_block_size_bytes", 0),
		ch.SettingInt("max_partitions_per_insert_block", 1),
		// Rows of one key are left to merges: the sink has removed nearly all of them,
		// and to look for them takes the server nearly half of the insert, row by row
		// and column by column.
		ch.SettingInt("optimize_on_insert", 0),
		// A view makes one block of one block too. By default it groups more than
		// 100 000 keys in 256 buckets and stores each as a part of its own, which
		// takes ten times as long and as many places in the target's window.
		ch.SettingInt("group_by_two_level_threshold", 0),
		ch.SettingInt("group_by_two_level_threshold_bytes", 0),
		ch.SettingInt("max_bytes_before_external_group_by", 0),
		ch.Setting{Key: "max_bytes_ratio_before_external_group_by", Value: "0"},
		ch.SettingInt("max_block_size", most),
		// The views rely on these.
		ch.SettingInt("enable_analyzer", 1),
		ch.SettingInt("group_by_use_nulls", 0),
		ch.SettingInt("force_grouping_standard_compatibility", 1),
	)
	if deadline, ok := ctx.Deadline(); ok {
		left := max(1, int(time.Until(deadline).Seconds()))
		settings = append(settings, ch.SettingInt("max_execution_time", left),
			ch.SettingInt("insert_quorum_timeout", left*1000))
	}
	if quorum > 1 {
		settings = append(settings, ch.SettingInt("insert_quorum", quorum))
	}
	return settings
}
