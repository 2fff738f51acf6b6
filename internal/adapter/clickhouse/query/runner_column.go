package query

import (
	"errors"
	"fmt"
	"math"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/analytics"
)

// collector copies the blocks of a result into a table.
type collector struct {
	table   *analytics.Table
	columns []analytics.Column
}

// newCollector returns a collector with empty columns, which is what a statement
// without rows leaves.
func newCollector(columns []analytics.Column) *collector {
	return &collector{columns: columns, table: &analytics.Table{}}
}

var errColumns = errors.New("the columns of the result differ from the catalogue")

// add copies one block. The block's memory is used again for the next one.
func (c *collector) add(block proto.Results) error {
	if len(block) != len(c.columns) {
		return fmt.Errorf("%w: %d instead of %d", errColumns, len(block), len(c.columns))
	}
	if c.table.Columns == nil {
		c.table.Columns = make([]analytics.Values, len(block))
	}
	for i, col := range block {
		if col.Name != c.columns[i].Name {
			return fmt.Errorf("%w: %s instead of %s", errColumns, col.Name, c.columns[i].Name)
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
	case *proto.ColNullable[float64]:
		for i := range col.Rows() {
			to.Floats = append(to.Floats, orNaN(col.Row(i)))
		}
	case *proto.ColBool:
		to.Bools = append(to.Bools, *col...)
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
		return fmt.Errorf("%w: type %T is not expected in a result", errColumns, data)
	}
	return nil
}

// orNaN is how a table holds a number that may be none.
func orNaN(n proto.Nullable[float64]) float64 {
	if !n.Set {
		return math.NaN()
	}
	return n.Value
}
