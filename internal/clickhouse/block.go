package clickhouse

import (
	"context"
	"slices"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/sink"
)

// offsetColumn is the column that Offset reads.
const offsetColumn = "_offset"

// block is one native block of a table. It keeps its memory between uses.
type block struct {
	columns []native
	input   proto.Input
	offsets interface{ Row(row int) int64 }
	rows    int
}

func newBlock(t *Table) *block {
	b := &block{columns: make([]native, len(t.Columns)), input: make(proto.Input, len(t.Columns))}
	for i, c := range t.Columns {
		b.columns[i] = c.native()
		b.input[i] = proto.InputColumn{Name: c.Name, Data: b.columns[i]}
		if offsets, ok := b.columns[i].(proto.ColumnOf[int64]); ok && c.Name == offsetColumn {
			b.offsets = offsets
		}
	}
	return b
}

// Append implements sink.Block.
func (b *block) Append(row *sink.Row) {
	for _, c := range b.columns {
		c.appendRow(row)
	}
	b.rows++
}

// Rows implements sink.Block.
func (b *block) Rows() int { return b.rows }

// Offset returns the offset of the record that a row was made from.
func (b *block) Offset(row int) int64 { return b.offsets.Row(row) }

// CopyTo appends the rows from to to-1 to dst, a block of the same table. It
// leaves b as it is.
func (b *block) CopyTo(dst sink.Block, from, to int) {
	d := dst.(*block)
	for i, c := range b.columns {
		c.copyTo(d.columns[i], from, to)
	}
	d.rows += to - from
}

// Reset implements sink.Block.
func (b *block) Reset() {
	for _, c := range b.columns {
		c.Reset()
	}
	b.rows = 0
}

// insert sends the block into a table; known says that the server had its token
// already. It only reads the block's columns, but for what Prepare makes of them.
func (b *block) insert(ctx context.Context, c *ch.Client, into, token string, quorum int) (known bool, err error) {
	err = c.Do(ctx, ch.Query{
		Body: b.input.Into(into), Input: b.input, Settings: insertSettings(ctx, b.rows, token, quorum),
		OnProfileEvents: func(_ context.Context, events []ch.ProfileEvent) error {
			known = known || slices.ContainsFunc(events, func(e ch.ProfileEvent) bool { return e.Name == duplicatedBlocks && e.Value > 0 })
			return nil
		},
	})
	return known, err
}

// duplicatedBlocks is what the server counts when it knows a token.
const duplicatedBlocks = "DuplicatedInsertedBlocks"
