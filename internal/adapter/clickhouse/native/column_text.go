package native

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/pipeline/sink"
)

// Text makes a String column.
func Text(get func(*sink.Row) []byte) func() Column {
	return func() Column { return &TextColumn{get: get} }
}

// TextColumn holds its values as they are sent, each behind its length: to send them is to
// copy all of them at once.
type TextColumn struct {
	get  func(*sink.Row) []byte
	sent []byte
	rows int
}

// AppendRow implements Column.
func (c *TextColumn) AppendRow(row *sink.Row) {
	v := c.get(row)
	c.sent = append(binary.AppendUvarint(c.sent, uint64(len(v))), v...)
	c.rows++
}

// CopyTo passes over the values before the first one: rows are copied only where one of a
// block is rejected.
func (c *TextColumn) CopyTo(dst Column, from, to int) {
	d, begin := dst.(*TextColumn), c.skip(0, from)
	d.sent = append(d.sent, c.sent[begin:c.skip(begin, to-from)]...)
	d.rows += to - from
}

// skip returns the place behind so many values from a place on.
func (c *TextColumn) skip(at, values int) int {
	for range values {
		n, size := binary.Uvarint(c.sent[at:])
		at += size + int(n)
	}
	return at
}

// Pad implements Column.
func (c *TextColumn) Pad(rows int) {
	c.sent = append(c.sent, make([]byte, rows)...) // lengths of 0
	c.rows += rows
}

// Bytes implements Column.
func (c *TextColumn) Bytes() int { return len(c.sent) }

// Reserve implements Column.
func (c *TextColumn) Reserve(_, bytes int) { c.sent = slices.Grow(c.sent, bytes) }

// Encoded implements Column.
func (c *TextColumn) Encoded() int { return len(c.sent) }

// Type implements proto.ColInput.
func (*TextColumn) Type() proto.ColumnType { return proto.ColumnTypeString }

// Rows implements proto.ColInput.
func (c *TextColumn) Rows() int { return c.rows }

// Reset empties the column and keeps its memory.
func (c *TextColumn) Reset() { c.sent, c.rows = c.sent[:0], 0 }

// EncodeColumn implements proto.ColInput.
func (c *TextColumn) EncodeColumn(b *proto.Buffer) { b.Buf = append(b.Buf, c.sent...) }

// WriteColumn implements proto.ColInput.
func (c *TextColumn) WriteColumn(w *proto.Writer) { w.ChainBuffer(c.EncodeColumn) }

// LowCardinality makes a LowCardinality(String) column.
func LowCardinality(get func(*sink.Row) []byte) func() Column {
	return func() Column { return &DictColumn{get: get, ids: map[string]uint32{}} }
}

// DictColumn builds its dictionary while rows are appended: a value that was
// seen costs a lookup, and nothing when it is the previous row's.
type DictColumn struct {
	get   func(*sink.Row) []byte
	ids   map[string]uint32
	dict  proto.ColStr
	words int      // bytes that dict is sent as
	rows  []uint32 // index into dict
	last  []byte   // in dict, of the previous row
	raw   proto.ColLowCardinalityRaw
}

// AppendRow implements Column.
func (c *DictColumn) AppendRow(row *sink.Row) { c.append(c.get(row)) }

// CopyTo implements Column.
func (c *DictColumn) CopyTo(dst Column, from, to int) {
	d := dst.(*DictColumn)
	for _, id := range c.rows[from:to] {
		d.append(c.dict.RowBytes(int(id)))
	}
}

// Pad implements Column.
func (c *DictColumn) Pad(rows int) {
	for range rows {
		c.append(nil)
	}
}

func (c *DictColumn) append(v []byte) {
	if n := len(c.rows); n > 0 && bytes.Equal(v, c.last) {
		c.rows = append(c.rows, c.rows[n-1])
		return
	}
	id, ok := c.ids[string(v)]
	if !ok {
		id = uint32(c.dict.Rows())
		c.ids[string(v)] = id
		c.dict.AppendBytes(v)
		c.words += len(binary.AppendUvarint(nil, uint64(len(v)))) + len(v)
	}
	c.rows = append(c.rows, id)
	c.last = c.dict.RowBytes(int(id))
}

// Bytes implements Column.
func (c *DictColumn) Bytes() int { return 0 }

// Reserve implements Column.
func (c *DictColumn) Reserve(rows, _ int) { c.rows = slices.Grow(c.rows, rows) }

// Encoded implements Column.
func (c *DictColumn) Encoded() int { return c.words + len(c.rows)<<c.key() }

// Type implements proto.ColInput.
func (c *DictColumn) Type() proto.ColumnType {
	return proto.ColumnTypeLowCardinality.Sub(proto.ColumnTypeString)
}

// Rows implements proto.ColInput.
func (c *DictColumn) Rows() int { return len(c.rows) }

// Reset empties the column and keeps its memory.
func (c *DictColumn) Reset() {
	clear(c.ids)
	c.dict.Reset()
	c.rows, c.last, c.words = c.rows[:0], nil, 0
}

// Prepare implements proto.Preparable: it chooses the smallest index type.
func (c *DictColumn) Prepare() error {
	r := &c.raw
	r.Index = &c.dict
	switch r.Key = c.key(); r.Key {
	case proto.KeyUInt8:
		r.Keys8 = indexes(r.Keys8, c.rows)
	case proto.KeyUInt16:
		r.Keys16 = indexes(r.Keys16, c.rows)
	default:
		r.Keys32 = indexes(r.Keys32, c.rows)
	}
	return nil
}

// key is the smallest index type; its values are of 1 << key bytes.
func (c *DictColumn) key() proto.CardinalityKey {
	switch n := c.dict.Rows(); {
	case n <= math.MaxUint8+1:
		return proto.KeyUInt8
	case n <= math.MaxUint16+1:
		return proto.KeyUInt16
	}
	return proto.KeyUInt32
}

func indexes[S ~[]T, T uint8 | uint16 | uint32](dst S, rows []uint32) S {
	dst = dst[:0]
	for _, id := range rows {
		dst = append(dst, T(id))
	}
	return dst
}

// EncodeState implements proto.StateEncoder.
func (c *DictColumn) EncodeState(b *proto.Buffer) { c.raw.EncodeState(b) }

// EncodeColumn implements proto.ColInput; Prepare comes before it.
func (c *DictColumn) EncodeColumn(b *proto.Buffer) { c.raw.EncodeColumn(b) }

// WriteColumn implements proto.ColInput; Prepare comes before it.
func (c *DictColumn) WriteColumn(w *proto.Writer) { c.raw.WriteColumn(w) }

// Each gives the value of each row to do, in their order; it is valid during the call.
func (c *TextColumn) Each(do func(row int, value []byte)) {
	for row, rest := 0, c.sent; row < c.rows; row++ {
		n, head := binary.Uvarint(rest)
		do(row, rest[head:head+int(n)])
		rest = rest[head+int(n):]
	}
}

// Each gives the value of each row to do, in their order; it is valid during the call.
func (c *DictColumn) Each(do func(row int, value []byte)) {
	for row, id := range c.rows {
		do(row, c.dict.RowBytes(int(id)))
	}
}

// Room is how many bytes the values can take before they are moved. Tests ask for it.
func (c *TextColumn) Room() int { return cap(c.sent) }

// Room is how many rows there can be before they are moved. Tests ask for it.
func (c *DictColumn) Room() int { return cap(c.rows) }
