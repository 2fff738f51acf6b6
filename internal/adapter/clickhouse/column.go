package clickhouse

import (
	"reflect"
	"slices"
	"time"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
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
	// bytes is how much memory the texts of a column of texts take, else 0.
	bytes() int
	// reserve makes room for so many further rows, whose texts take so many bytes.
	reserve(rows, bytes int)
	// encoded is how many bytes the values are sent as.
	encoded() int
}

// number makes a column of a numeric type, of which one value is given to name it.
func number[T any, S ~[]T, P numbers[S]](_ S, get func(*sink.Row) T) func() native {
	return func() native { return &numberColumn[T, S, P]{get: get} }
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

func (c *numberColumn[T, S, P]) appendRow(row *sink.Row) { c.all = append(c.all, c.get(row)) }

func (c *numberColumn[T, S, P]) copyTo(dst native, from, to int) {
	d := dst.(*numberColumn[T, S, P])
	d.all = append(d.all, c.all[from:to]...)
}

func (c *numberColumn[T, S, P]) pad(rows int) { c.all = append(c.all, make(S, rows)...) }

func (c *numberColumn[T, S, P]) bytes() int { return 0 }

func (c *numberColumn[T, S, P]) reserve(rows, _ int) { c.all = slices.Grow(c.all, rows) }

func (c *numberColumn[T, S, P]) encoded() int { return len(c.all) * int(reflect.TypeFor[T]().Size()) }

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

// The types of numbers, to be given to number.
var (
	colFloat32 proto.ColFloat32
	colFloat64 proto.ColFloat64
	colUInt32  proto.ColUInt32
	colUInt8   proto.ColUInt8
	colUInt16  proto.ColUInt16
	colUInt64  proto.ColUInt64
	colInt64   proto.ColInt64
)

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

func (c *millisColumn) bytes() int { return 0 }

func (c *millisColumn) reserve(rows, _ int) { c.Data = slices.Grow(c.Data, rows) }

func (c *millisColumn) encoded() int { return len(c.Data) * 8 }

// day makes a Date column from Unix milliseconds, which the sink keeps within
// what a Date can hold.
func day(get func(*sink.Row) int64) func() native {
	return func() native { return &dayColumn{get: get} }
}

type dayColumn struct {
	proto.ColDate

	get func(*sink.Row) int64
}

func (c *dayColumn) appendRow(row *sink.Row) {
	c.ColDate = append(c.ColDate, proto.Date(c.get(row)/record.MillisPerDay))
}

func (c *dayColumn) copyTo(dst native, from, to int) {
	d := dst.(*dayColumn)
	d.ColDate = append(d.ColDate, c.ColDate[from:to]...)
}

func (c *dayColumn) pad(rows int) {
	c.ColDate = append(c.ColDate, make([]proto.Date, rows)...)
}

func (c *dayColumn) bytes() int { return 0 }

func (c *dayColumn) reserve(rows, _ int) { c.ColDate = slices.Grow(c.ColDate, rows) }

func (c *dayColumn) encoded() int { return len(c.ColDate) * 2 }
