package clickhouse

import (
	"errors"
	"fmt"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/analytics"
)

// collector copies the blocks of a result into a table.
type collector struct {
	table *analytics.Table
	typ   *analytics.Type
}

// newCollector returns a collector with empty columns, which is what a statement
// without rows leaves.
func newCollector(t *analytics.Type) *collector {
	return &collector{typ: t, table: &analytics.Table{}}
}

var errColumns = errors.New("the result's columns are not those of the catalogue")

// add copies one block. The block's memory is used again for the next one.
func (c *collector) add(block proto.Results) error {
	if len(block) != len(c.typ.Columns) {
		return fmt.Errorf("%w: %d instead of %d", errColumns, len(block), len(c.typ.Columns))
	}
	if c.table.Columns == nil {
		c.table.Columns = make([]analytics.Values, len(block))
	}
	for i, col := range block {
		if col.Name != c.typ.Columns[i].Name {
			return fmt.Errorf("%w: %s instead of %s", errColumns, col.Name, c.typ.Columns[i].Name)
		}
		v := &c.table.Columns[i]
		v.Name = col.Name
		if err := appendColumn(v, col.Data); err != nil {
			return fmt.Errorf("reading column %s: %w", col.Name, err)
		}
	}
	c.table.Rows += block.Rows()
	return nil
}

// appendColumn appends a block's column of one of the types that the catalogue's
// expressions have.
func appendColumn(to *analytics.Values, data proto.ColResult) error {
	switch col := data.(type) {
	case *proto.ColUInt64:
		to.Uints = append(to.Uints, *col...)
	case *proto.ColInt64:
		to.Ints = append(to.Ints, *col...)
	case *proto.ColFloat64:
		to.Floats = append(to.Floats, *col...)
	case *proto.ColUInt8:
		for _, x := range *col {
			to.Uints = append(to.Uints, uint64(x))
		}
	case *proto.ColStr:
		for i := range col.Rows() {
			to.Strings = append(to.Strings, col.Row(i))
		}
	case *proto.ColLowCardinality[string]:
		for i := range col.Rows() {
			to.Strings = append(to.Strings, col.Row(i))
		}
	case *proto.ColDateTime64:
		for i := range col.Rows() {
			to.Millis = append(to.Millis, col.Row(i).UnixMilli())
		}
	default:
		return fmt.Errorf("type %T is not expected in a result", data)
	}
	return nil
}
