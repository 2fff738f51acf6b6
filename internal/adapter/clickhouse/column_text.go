package clickhouse

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/pipeline/sink"
)

// text makes a String column.
func text(get func(*sink.Row) []byte) func() native {
	return func() native { return &textColumn{get: get} }
}

// textColumn holds its values as they are sent, each behind its length: to send them is to
// copy all of them at once.
type textColumn struct {
	get  func(*sink.Row) []byte
	sent []byte
	rows int
}

func (c *textColumn) appendRow(row *sink.Row) {
	v := c.get(row)
	c.sent = append(binary.AppendUvarint(c.sent, uint64(len(v))), v...)
	c.rows++
}

// copyTo passes over the values before the first one: rows are copied only where one of a
// block is rejected.
func (c *textColumn) copyTo(dst native, from, to int) {
	d, begin := dst.(*textColumn), c.skip(0, from)
	d.sent = append(d.sent, c.sent[begin:c.skip(begin, to-from)]...)
	d.rows += to - from
}

// skip returns the place behind so many values from a place on.
func (c *textColumn) skip(at, values int) int {
	for range values {
		n, size := binary.Uvarint(c.sent[at:])
		at += size + int(n)
	}
	return at
}

func (c *textColumn) pad(rows int) {
	c.sent = append(c.sent, make([]byte, rows)...) // lengths of 0
	c.rows += rows
}

func (c *textColumn) bytes() int { return len(c.sent) }

func (c *textColumn) reserve(_, bytes int) { c.sent = slices.Grow(c.sent, bytes) }

func (c *textColumn) encoded() int { return len(c.sent) }

// Type implements proto.ColInput.
func (*textColumn) Type() proto.ColumnType { return proto.ColumnTypeString }

// Rows implements proto.ColInput.
func (c *textColumn) Rows() int { return c.rows }

// Reset empties the column and keeps its memory.
func (c *textColumn) Reset() { c.sent, c.rows = c.sent[:0], 0 }

// EncodeColumn implements proto.ColInput.
func (c *textColumn) EncodeColumn(b *proto.Buffer) { b.Buf = append(b.Buf, c.sent...) }

// WriteColumn implements proto.ColInput.
func (c *textColumn) WriteColumn(w *proto.Writer) { w.ChainBuffer(c.EncodeColumn) }

// lowCardinality makes a LowCardinality(String) column.
func lowCardinality(get func(*sink.Row) []byte) func() native {
	return func() native { return &dictColumn{get: get, ids: map[string]uint32{}} }
}

// dictColumn builds its dictionary while rows are appended: a value that was
// seen costs a lookup, and nothing when it is the previous row's.
type dictColumn struct {
	get   func(*sink.Row) []byte
	ids   map[string]uint32
	dict  proto.ColStr
	words int      // bytes that dict is sent as
	rows  []uint32 // index into dict
	last  []byte   // in dict, of the previous row
	raw   proto.ColLowCardinalityRaw
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
		c.words += len(binary.AppendUvarint(nil, uint64(len(v)))) + len(v)
	}
	c.rows = append(c.rows, id)
	c.last = c.dict.RowBytes(int(id))
}

func (c *dictColumn) bytes() int { return 0 }

func (c *dictColumn) reserve(rows, _ int) { c.rows = slices.Grow(c.rows, rows) }

func (c *dictColumn) encoded() int { return c.words + len(c.rows)<<c.key() }

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
	c.rows, c.last, c.words = c.rows[:0], nil, 0
}

// Prepare implements proto.Preparable: it chooses the smallest index type.
func (c *dictColumn) Prepare() error {
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
func (c *dictColumn) key() proto.CardinalityKey {
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
func (c *dictColumn) EncodeState(b *proto.Buffer) { c.raw.EncodeState(b) }

// EncodeColumn implements proto.ColInput; Prepare comes before it.
func (c *dictColumn) EncodeColumn(b *proto.Buffer) { c.raw.EncodeColumn(b) }

// WriteColumn implements proto.ColInput; Prepare comes before it.
func (c *dictColumn) WriteColumn(w *proto.Writer) { c.raw.WriteColumn(w) }
