package clickhouse

import (
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/sink"
)

// block is one native block of a table. It keeps its memory between uses.
type block struct {
	columns []native
	input   proto.Input
	rows    int
}

func newBlock(t *Table) *block {
	b := &block{columns: make([]native, len(t.Columns)), input: make(proto.Input, len(t.Columns))}
	for i, c := range t.Columns {
		b.columns[i] = c.native()
		b.input[i] = proto.InputColumn{Name: c.Name, Data: b.columns[i]}
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

// Reset implements sink.Block.
func (b *block) Reset() {
	for _, c := range b.columns {
		c.Reset()
	}
	b.rows = 0
}
