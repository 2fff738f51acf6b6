package clickhouse

import "github.com/ClickHouse/ch-go/proto"

// Dates is a Date column that gives days, not times.
type Dates struct{ *proto.ColDate }

// Append implements proto.ColumnOf.
func (d Dates) Append(v proto.Date) { *d.ColDate = append(*d.ColDate, v) }

// AppendArr implements proto.ColumnOf.
func (d Dates) AppendArr(v []proto.Date) { *d.ColDate = append(*d.ColDate, v...) }

// Row implements proto.ColumnOf.
func (d Dates) Row(i int) proto.Date { return (*d.ColDate)[i] }
