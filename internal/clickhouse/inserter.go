package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ClickHouse/ch-go"

	"github.com/millrace/millrace/internal/config"
	"github.com/millrace/millrace/internal/sink"
)

// maxIdle is how long a connection is kept unused; the server drops idle ones
// later than that.
const maxIdle = time.Minute

// Inserter stores blocks of one table. It implements sink.Inserter: each insert
// is one block on one connection, synchronous, under its token. Connections are
// made when they are needed, as many as there are inserts at once.
type Inserter struct {
	options ch.Options
	table   *Table
	into    string

	mu     sync.Mutex
	idle   []idleConn
	closed bool
}

type idleConn struct {
	client *ch.Client
	since  time.Time
}

var errClosed = errors.New("inserter is closed")

// NewInserter returns an Inserter for a table; it opens no connection. The rows
// go to the table named into, which has the same columns; empty means the table
// itself.
func NewInserter(cfg config.ClickHouse, t *Table, into string) *Inserter {
	if into == "" {
		into = t.Name
	}
	return &Inserter{options: Options(cfg), table: t, into: newBlock(t).input.Into(into)}
}

// NewBlock implements sink.Inserter.
func (i *Inserter) NewBlock() sink.Block { return newBlock(i.table) }

// Insert implements sink.Inserter. The block comes from NewBlock.
func (i *Inserter) Insert(ctx context.Context, b sink.Block, token string) error {
	native, ok := b.(*block)
	if !ok {
		return fmt.Errorf("a block of type %T is not one of ours", b)
	}
	if native.rows == 0 {
		return nil
	}
	c, err := i.take(ctx)
	if err != nil {
		return classify(err)
	}
	if err := c.Do(ctx, ch.Query{Body: i.into, Input: native.input, Settings: insertSettings(ctx, native.rows, token)}); err != nil {
		c.Close() // whatever it was: what else would arrive on it is unknown
		return classify(err)
	}
	i.give(c)
	return nil
}

// insertSettings are what an exact insert needs, whatever the server's defaults:
// what is sent is one block, written as it is before it is acknowledged, and
// ignored if its token is known, here and in every view.
func insertSettings(ctx context.Context, rows int, token string) []ch.Setting {
	settings := []ch.Setting{
		{Key: "insert_deduplication_token", Value: token, Important: true},
		ch.SettingInt("async_insert", 0),
		ch.SettingInt("insert_deduplicate", 1),
		ch.SettingInt("deduplicate_blocks_in_dependent_materialized_views", 1),
		ch.SettingInt("max_insert_block_size", rows+1),
		ch.SettingInt("min_insert_block_size_rows", 0),
		ch.SettingInt("min_insert_block_size_bytes", 0),
		ch.SettingInt("max_partitions_per_insert_block", 1),
	}
	if deadline, ok := ctx.Deadline(); ok {
		left := max(1, int(time.Until(deadline).Seconds()))
		settings = append(settings, ch.Setting{Key: "max_execution_time", Value: strconv.Itoa(left), Important: true})
	}
	return settings
}

// Ping reports whether the server takes inserts from this process: connected,
// and answering.
func (i *Inserter) Ping(ctx context.Context) error {
	c, err := i.take(ctx)
	if err != nil {
		return err
	}
	if err := c.Ping(ctx); err != nil {
		c.Close()
		return fmt.Errorf("pinging ClickHouse: %w", err)
	}
	i.give(c)
	return nil
}

// Close closes the connections that are not in use, and the others when they are
// given back.
func (i *Inserter) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	for _, c := range i.idle {
		c.client.Close()
	}
	i.idle = nil
	return nil
}

// take returns a connection that was used a moment ago, or a new one.
func (i *Inserter) take(ctx context.Context) (*ch.Client, error) {
	i.mu.Lock()
	if i.closed {
		i.mu.Unlock()
		return nil, errClosed
	}
	for len(i.idle) > 0 {
		last := i.idle[len(i.idle)-1]
		i.idle = i.idle[:len(i.idle)-1]
		if time.Since(last.since) < maxIdle {
			i.mu.Unlock()
			return last.client, nil
		}
		last.client.Close()
	}
	i.mu.Unlock()
	return dial(ctx, i.options)
}

func (i *Inserter) give(c *ch.Client) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed || c.IsClosed() {
		c.Close()
		return
	}
	i.idle = append(i.idle, idleConn{c, time.Now()})
}

func contains(message, part string) bool {
	return strings.Contains(strings.ToLower(message), strings.ToLower(part))
}

// isBroken reports whether a connection ended without an answer.
func isBroken(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, ch.ErrClosed)
}
