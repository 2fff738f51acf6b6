package clickhouse

import (
	"bytes"
	"math"
	"time"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/sink"
)

// native is a column of a block: how it is sent, and what it takes from a row.
type native interface {
	proto.ColInput
	proto.Resettable
	appendRow(row *sink.Row)
	// copyTo appends the values from to to-1 to dst, which has the same type.
	copyTo(dst native, from, to int)
	// pad appends so many values of rows that have none.
	pad(rows int)
}

// text makes a String column.
func text(get func(*sink.Row) []byte) func() native {
	return func() native { return &textColumn{get: get} }
}

type textColumn struct {
	proto.ColStr

	get func(*sink.Row) []byte
}

func (c *textColumn) appendRow(row *sink.Row) { c.AppendBytes(c.get(row)) }

func (c *textColumn) copyTo(dst native, from, to int) {
	d := dst.(*textColumn)
	for i := from; i < to; i++ {
		d.AppendBytes(c.RowBytes(i))
	}
}

func (c *textColumn) pad(rows int) {
	for range rows {
		c.AppendBytes(nil)
	}
}

// number makes a column of a numeric type; col returns an empty one.
func number[T any](col func() proto.ColumnOf[T], get func(*sink.Row) T) func() native {
	return func() native { return &numberColumn[T]{ColumnOf: col(), get: get} }
}

type numberColumn[T any] struct {
	proto.ColumnOf[T]

	get func(*sink.Row) T
}

func (c *numberColumn[T]) appendRow(row *sink.Row) { c.Append(c.get(row)) }

func (c *numberColumn[T]) copyTo(dst native, from, to int) {
	d := dst.(*numberColumn[T])
	for i := from; i < to; i++ {
		d.Append(c.Row(i))
	}
}

func (c *numberColumn[T]) pad(rows int) {
	var none T
	for range rows {
		c.Append(none)
	}
}

func colFloat32() proto.ColumnOf[float32] { return &proto.ColFloat32{} }
func colFloat64() proto.ColumnOf[float64] { return &proto.ColFloat64{} }
func colUInt32() proto.ColumnOf[uint32]   { return &proto.ColUInt32{} }
func colUInt8() proto.ColumnOf[uint8]     { return &proto.ColUInt8{} }
func colUInt16() proto.ColumnOf[uint16]   { return &proto.ColUInt16{} }
func colUInt64() proto.ColumnOf[uint64]   { return &proto.ColUInt64{} }
func colInt64() proto.ColumnOf[int64]     { return &proto.ColInt64{} }

// The first and last times of a DateTime64(3), in Unix milliseconds.
var (
	firstMillis = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	lastMillis  = time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() - 1
)

// millis makes a DateTime64(3, 'UTC') column from Unix milliseconds. A time
// beyond its range becomes the nearest one within: the server would take it and
// show something else.
func millis(get func(*sink.Row) int64) func() native {
	return func() native {
		c := &millisColumn{get: get}
		c.WithPrecision(proto.PrecisionMilli).WithLocation(time.UTC)
		return c
	}
}

type millisColumn struct {
	proto.ColDateTime64

	get func(*sink.Row) int64
}

func (c *millisColumn) appendRow(row *sink.Row) {
	c.AppendRaw(proto.DateTime64(min(max(c.get(row), firstMillis), lastMillis)))
}

func (c *millisColumn) copyTo(dst native, from, to int) {
	d := dst.(*millisColumn)
	d.Data = append(d.Data, c.Data[from:to]...)
}

func (c *millisColumn) pad(rows int) {
	c.Data = append(c.Data, make([]proto.DateTime64, rows)...)
}

// day makes a Date column from Unix milliseconds, which the sink keeps within
// what a Date can hold.
func day(get func(*sink.Row) int64) func() native {
	return func() native { return &dayColumn{get: get} }
}

type dayColumn struct {
	proto.ColDate

	get func(*sink.Row) int64
}

const millisPerDay = 24 * 60 * 60 * 1000

func (c *dayColumn) appendRow(row *sink.Row) {
	c.ColDate = append(c.ColDate, proto.Date(c.get(row)/millisPerDay))
}

func (c *dayColumn) copyTo(dst native, from, to int) {
	d := dst.(*dayColumn)
	d.ColDate = append(d.ColDate, c.ColDate[from:to]...)
}

func (c *dayColumn) pad(rows int) {
	c.ColDate = append(c.ColDate, make([]proto.Date, rows)...)
}

// lowCardinality makes a LowCardinality(String) column.
func lowCardinality(get func(*sink.Row) []byte) func() native {
	return func() native { return &dictColumn{get: get, ids: map[string]uint32{}} }
}

// dictColumn builds its dictionary while rows are appended: a value that was
// seen costs a lookup, and nothing when it is the previous row's.
type dictColumn struct {
	get  func(*sink.Row) []byte
	ids  map[string]uint32
	dict proto.ColStr
	rows []uint32 // index into dict
	last []byte   // in dict, of the previous row
	raw  proto.ColLowCardinalityRaw
}

func (c *dictColumn) appendRow(row *sink.Row) { c.append(c.get(row)) }

func (c *dictColumn) copyTo(dst native, from, to int) {
	d := dst.(*dictColumn)
	for _, id := range c.rows[from:to] {
		d.append(c.dict.RowBytes(int(id)))
	}
}

func (c *dictColumn) pad(rows int) {
	for range rows {
		c.append(nil)
	}
}

func (c *dictColumn) append(v []byte) {
	if n := len(c.rows); n > 0 && bytes.Equal(v, c.last) {
		c.rows = append(c.rows, c.rows[n-1])
		return
	}
	id, ok := c.ids[string(v)]
	if !ok {
		id = uint32(c.dict.Rows())
		c.ids[string(v)] = id
		c.dict.AppendBytes(v)
	}
	c.rows = append(c.rows, id)
	c.last = c.dict.RowBytes(int(id))
}

// Type implements proto.ColInput.
func (c *dictColumn) Type() proto.ColumnType {
	return proto.ColumnTypeLowCardinality.Sub(proto.ColumnTypeString)
}

// Rows implements proto.ColInput.
func (c *dictColumn) Rows() int { return len(c.rows) }

// Reset empties the column and keeps its memory.
func (c *dictColumn) Reset() {
	clear(c.ids)
	c.dict.Reset()
	c.rows, c.last = c.rows[:0], nil
}

// Prepare implements proto.Preparable: it chooses the smallest index type.
func (c *dictColumn) Prepare() error {
	r := &c.raw
	r.Index = &c.dict
	switch n := c.dict.Rows(); {
	case n <= math.MaxUint8+1:
		r.Key, r.Keys8 = proto.KeyUInt8, indexes(r.Keys8, c.rows)
	case n <= math.MaxUint16+1:
		r.Key, r.Keys16 = proto.KeyUInt16, indexes(r.Keys16, c.rows)
	default:
		r.Key, r.Keys32 = proto.KeyUInt32, indexes(r.Keys32, c.rows)
	}
	return nil
}

func indexes[S ~[]T, T uint8 | uint16 | uint32](dst S, rows []uint32) S {
	dst = dst[:0]
	for _, id := range rows {
		dst = append(dst, T(id))
	}
	return dst
}

// EncodeState implements proto.StateEncoder.
func (c *dictColumn) EncodeState(b *proto.Buffer) { c.raw.EncodeState(b) }

// EncodeColumn implements proto.ColInput; Prepare comes before it.
func (c *dictColumn) EncodeColumn(b *proto.Buffer) { c.raw.EncodeColumn(b) }

// WriteColumn implements proto.ColInput; Prepare comes before it.
func (c *dictColumn) WriteColumn(w *proto.Writer) { c.raw.WriteColumn(w) }
