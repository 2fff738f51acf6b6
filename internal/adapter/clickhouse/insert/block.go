package insert

import (
	"context"
	"slices"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/native"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/pipeline/sink"
)

// The columns that tell of a row which record it was made from, and whose day it is of.
const (
	offsetColumn    = "_offset"
	partitionColumn = "_partition"
	topicColumn     = "_topic"
	dayColumn       = "event_date"
)

// block is one native block of a table. It keeps its memory between uses.
type block struct {
	table   *schema.Table
	columns []native.Column // of every row; and the same by kind, so that most are called directly
	texts   []*native.TextColumn
	dicts   []*native.DictColumn
	others  []native.Column
	// web are the columns of rows whose event has a Web, which few tables' rows
	// have: they hold the first webRows rows, and the rows behind them have none.
	web     []native.Column
	webRows int
	input   proto.Input // columns, and then web; guarded
	guard   guard       // of the insert under way
	origin  origin
	rows    int
	sizes   *sizes
	roomAt  int // rows with which it gets room for those of a large block; 0: never
}

// newBlock returns an empty block; sizes are those of the table's other ones.
func newBlock(t *schema.Table, sizes *sizes) *block {
	b := &block{table: t, sizes: sizes}
	var web proto.Input
	for _, c := range t.Columns {
		if c.Alias != "" {
			continue
		}
		n := c.Native()
		in := proto.InputColumn{Name: c.Name, Data: &guarded{Column: n, name: c.Name, guard: &b.guard}}
		if c.Web {
			b.web, web = append(b.web, n), append(web, in)
			continue
		}
		b.addColumn(n, in)
		b.origin.add(t, c.Name, n)
	}
	b.input = append(b.input, web...)
	sizes.Reserve(b)
	return b
}

// addColumn adds a column of every row.
func (b *block) addColumn(n native.Column, in proto.InputColumn) {
	switch n := n.(type) {
	case *native.TextColumn:
		b.texts = append(b.texts, n)
	case *native.DictColumn:
		b.dicts = append(b.dicts, n)
		if len(b.columns) == 0 {
			in.Data = &guarded{Column: leading{n, b}, name: in.Name, guard: &b.guard}
		}
	default:
		b.others = append(b.others, n)
	}
	b.columns, b.input = append(b.columns, n), append(b.input, in)
}

// Append implements sink.Block.
func (b *block) Append(row *sink.Row) {
	for _, c := range b.texts {
		c.AppendRow(row)
	}
	for _, c := range b.dicts {
		c.AppendRow(row)
	}
	for _, c := range b.others {
		c.AppendRow(row)
	}
	if row.Event.Web != nil {
		b.padWeb()
		for _, c := range b.web {
			c.AppendRow(row)
		}
		b.webRows++
	}
	if b.rows++; b.rows == b.roomAt {
		b.sizes.Reserve(b)
	}
}

// padWeb makes the web's columns as long as the others.
func (b *block) padWeb() {
	if b.webRows == b.rows {
		return
	}
	for _, c := range b.web {
		c.Pad(b.rows - b.webRows)
	}
	b.webRows = b.rows
}

// Rows implements sink.Block.
func (b *block) Rows() int { return b.rows }

// Offset returns the offset of the record that a row was made from.
func (b *block) Offset(row int) int64 { return b.origin.offsets.Row(row) }

// CopyTo appends the rows from to to-1 to dst, a block of the same table. It
// leaves b as it is.
func (b *block) CopyTo(dst sink.Block, from, to int) {
	d := dst.(*block)
	for i, c := range b.columns {
		c.CopyTo(d.columns[i], from, to)
	}
	if webTo := min(to, b.webRows); from < webTo {
		d.padWeb()
		for i, c := range b.web {
			c.CopyTo(d.web[i], from, webTo)
		}
		d.webRows += webTo - from
	}
	d.rows += to - from
}

// Reset implements sink.Block.
func (b *block) Reset() {
	for _, c := range b.columns {
		c.Reset()
	}
	for _, c := range b.web {
		c.Reset()
	}
	b.rows, b.webRows = 0, 0
	b.sizes.Reserve(b)
}

// insert sends the block into a table; known says that the server had its token
// already. The web's columns are left out where no row has any: the table has
// their defaults then.
func (b *block) insert(
	ctx context.Context, c *clickhouse.Client, into, insertToken string, quorum int,
) (known bool, err error) {
	b.sizes.note(b)
	input := b.input[:len(b.columns)]
	if b.webRows > 0 {
		b.padWeb()
		input = b.input
	}
	b.guard = guard{abort: c.Close}
	known, err = Do(ctx, c, ch.Query{
		Body: input.Into(into), Input: input, Settings: Settings(ctx, b.rows, insertToken, quorum),
	})
	if b.guard.err != nil { // of which the client has seen a connection that ended
		return false, b.guard.err
	}
	return known, err
}

// duplicatedBlocks is what the server counts when it knows a token.
const duplicatedBlocks = "DuplicatedInsertedBlocks"

// Do runs an insert; known says that the server had its token already, in the table or in
// one that a view fills. Whether it has the rows too is another question: see Lost.
func Do(ctx context.Context, c *clickhouse.Client, q ch.Query) (known bool, err error) {
	q.OnProfileEvents = func(_ context.Context, events []ch.ProfileEvent) error {
		known = known ||
			slices.ContainsFunc(events, func(e ch.ProfileEvent) bool { return e.Name == duplicatedBlocks && e.Value > 0 })
		return nil
	}
	err = c.Do(ctx, q)
	return known, err
}
