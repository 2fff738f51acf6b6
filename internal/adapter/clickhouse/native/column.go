package native

import (
	"reflect"
	"slices"
	"time"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
)

// Column is a column of a block: how it is sent, and what it takes from a row.
type Column interface {
	proto.ColInput
	proto.Resettable
	// AppendRow appends the value of a row.
	AppendRow(row *sink.Row)
	// CopyTo appends the values from to to-1 to dst, which has the same type.
	CopyTo(dst Column, from, to int)
	// Pad appends so many values of rows that have none.
	Pad(rows int)
	// Bytes is how much memory the texts of a column of texts take, else 0.
	Bytes() int
	// Reserve makes room for so many further rows, whose texts take so many bytes.
	Reserve(rows, bytes int)
	// Encoded is how many bytes the values are sent as.
	Encoded() int
}

// Number makes a column of a numeric type, of which one value is given to name it.
func Number[T any, S ~[]T, P numbers[S]](_ S, get func(*sink.Row) T) func() Column {
	return func() Column { return &numberColumn[T, S, P]{get: get} }
}

// numbers is a column of the library that is a slice.
type numbers[S any] interface {
	*S
	proto.ColInput
	proto.Resettable
}

// numberColumn appends to the slice itself: the library's own Append is a call through an
// interface for each value.
type numberColumn[T any, S ~[]T, P numbers[S]] struct {
	all S
	get func(*sink.Row) T
}

// AppendRow implements Column.
func (c *numberColumn[T, S, P]) AppendRow(row *sink.Row) { c.all = append(c.all, c.get(row)) }

// CopyTo implements Column.
func (c *numberColumn[T, S, P]) CopyTo(dst Column, from, to int) {
	d := dst.(*numberColumn[T, S, P])
	d.all = append(d.all, c.all[from:to]...)
}

// Pad implements Column.
func (c *numberColumn[T, S, P]) Pad(rows int) { c.all = append(c.all, make(S, rows)...) }

// Bytes implements Column.
func (c *numberColumn[T, S, P]) Bytes() int { return 0 }

// Reserve implements Column.
func (c *numberColumn[T, S, P]) Reserve(rows, _ int) { c.all = slices.Grow(c.all, rows) }

// Encoded implements Column.
func (c *numberColumn[T, S, P]) Encoded() int { return len(c.all) * int(reflect.TypeFor[T]().Size()) }

// Row returns the value of a row.
func (c *numberColumn[T, S, P]) Row(row int) T { return c.all[row] }

// Type implements proto.ColInput.
func (c *numberColumn[T, S, P]) Type() proto.ColumnType { return P(&c.all).Type() }

// Rows implements proto.ColInput.
func (c *numberColumn[T, S, P]) Rows() int { return len(c.all) }

// Reset empties the column and keeps its memory.
func (c *numberColumn[T, S, P]) Reset() { c.all = c.all[:0] }

// EncodeColumn implements proto.ColInput.
func (c *numberColumn[T, S, P]) EncodeColumn(b *proto.Buffer) { P(&c.all).EncodeColumn(b) }

// WriteColumn implements proto.ColInput.
func (c *numberColumn[T, S, P]) WriteColumn(w *proto.Writer) { P(&c.all).WriteColumn(w) }

// The types of numbers, to be given to Number.
var (
	Float32 proto.ColFloat32
	Float64 proto.ColFloat64
	UInt32  proto.ColUInt32
	UInt8   proto.ColUInt8
	UInt16  proto.ColUInt16
	UInt64  proto.ColUInt64
	Int64   proto.ColInt64
)

// The first and last times of a DateTime64(3), in Unix milliseconds.
var (
	FirstMillis = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	LastMillis  = time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() - 1
)

// Millis makes a DateTime64(3, 'UTC') column from Unix milliseconds. A time
// beyond its range becomes the nearest one within: the server would take it and
// show something else.
func Millis(get func(*sink.Row) int64) func() Column {
	return func() Column {
		c := &millisColumn{get: get}
		c.WithPrecision(proto.PrecisionMilli).WithLocation(time.UTC)
		return c
	}
}

type millisColumn struct {
	proto.ColDateTime64

	get func(*sink.Row) int64
}

// AppendRow implements Column.
func (c *millisColumn) AppendRow(row *sink.Row) {
	c.AppendRaw(proto.DateTime64(min(max(c.get(row), FirstMillis), LastMillis)))
}

// CopyTo implements Column.
func (c *millisColumn) CopyTo(dst Column, from, to int) {
	d := dst.(*millisColumn)
	d.Data = append(d.Data, c.Data[from:to]...)
}

// Pad implements Column.
func (c *millisColumn) Pad(rows int) {
	c.Data = append(c.Data, make([]proto.DateTime64, rows)...)
}

// Bytes implements Column.
func (c *millisColumn) Bytes() int { return 0 }

// Reserve implements Column.
func (c *millisColumn) Reserve(rows, _ int) { c.Data = slices.Grow(c.Data, rows) }

// Encoded implements Column.
func (c *millisColumn) Encoded() int { return len(c.Data) * 8 }

// Day makes a Date column from Unix milliseconds, which the sink keeps within
// what a Date can hold.
func Day(get func(*sink.Row) int64) func() Column {
	return func() Column { return &dayColumn{get: get} }
}

type dayColumn struct {
	proto.ColDate

	get func(*sink.Row) int64
}

// AppendRow implements Column.
func (c *dayColumn) AppendRow(row *sink.Row) {
	c.ColDate = append(c.ColDate, proto.Date(c.get(row)/record.MillisPerDay))
}

// CopyTo implements Column.
func (c *dayColumn) CopyTo(dst Column, from, to int) {
	d := dst.(*dayColumn)
	d.ColDate = append(d.ColDate, c.ColDate[from:to]...)
}

// Pad implements Column.
func (c *dayColumn) Pad(rows int) {
	c.ColDate = append(c.ColDate, make([]proto.Date, rows)...)
}

// Bytes implements Column.
func (c *dayColumn) Bytes() int { return 0 }

// Reserve implements Column.
func (c *dayColumn) Reserve(rows, _ int) { c.ColDate = slices.Grow(c.ColDate, rows) }

// Encoded implements Column.
func (c *dayColumn) Encoded() int { return len(c.ColDate) * 2 }
