package analytics

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/valyala/fastjson"

	"github.com/millrace/millrace/internal/contract/wire"
)

// Table is the result of a statement, column by column, in the statement's
// order.
type Table struct {
	Columns []Values
	Rows    int
}

// Values are one column of a Table: the slice that its kind needs is set and has
// one entry a row.
type Values struct {
	Name    string
	Strings []string
	Uints   []uint64
	Ints    []int64
	Bools   []bool
	// Floats have NaN where there is no value.
	Floats []float64
	// Millis are instants in Unix milliseconds, and 0 where there is none.
	Millis []int64
}

// Bytes is about how much memory the table holds.
func (t *Table) Bytes() int {
	n := 0
	for i := range t.Columns {
		c := &t.Columns[i]
		n += len(c.Bools) + 8*(len(c.Uints)+len(c.Ints)+len(c.Floats)+len(c.Millis))
		for _, s := range c.Strings {
			n += stringHeaderBytes + len(s)
		}
	}
	return n
}

const stringHeaderBytes = 16

// pieceBytes is the size of a piece of a table from which the next row begins another piece.
const pieceBytes = 32 << 10

// AppendRows appends a piece of the table as a JSON array of objects, keys in the order of the type's
// columns. It begins with the row from, 0 at first, and returns the row of the next piece: Rows after
// the last one. Integers keep every digit; null is what has no value, and an infinite number is 0.
func (t *Table) AppendRows(dst []byte, columns []Column, from int) (_ []byte, next int) {
	keys, begun := t.keys(), len(dst)
	if from == 0 {
		dst = append(dst, '[')
	}
	for next = from; next < t.Rows && len(dst)-begun < pieceBytes; next++ {
		if next > 0 {
			dst = append(dst, ',')
		}
		dst = append(t.appendRow(append(dst, '{'), next, keys, columns), '}')
	}
	if next == t.Rows {
		dst = append(dst, ']')
	}
	return dst, next
}

// keys are the columns' names as members of an object, each but the first one after
// a comma.
func (t *Table) keys() [][]byte {
	keys := make([][]byte, len(t.Columns))
	for i := range keys {
		var key []byte
		if i > 0 {
			key = []byte{','}
		}
		keys[i] = append(wire.AppendHTMLSafe(key, t.Columns[i].Name), ':')
	}
	return keys
}

// appendRow appends the members of one row's object.
func (t *Table) appendRow(dst []byte, row int, keys [][]byte, columns []Column) []byte {
	for i := range t.Columns {
		dst = append(dst, keys[i]...)
		if i < len(columns) && columns[i].Show != nil {
			dst = wire.AppendHTMLSafe(dst, columns[i].Show(t.Columns[i].Strings[row]))
			continue
		}
		dst = t.Columns[i].appendValue(dst, row, i < len(columns) && columns[i].Type == JSON)
	}
	return dst
}

func (v *Values) appendValue(dst []byte, row int, inline bool) []byte {
	switch {
	case v.Uints != nil:
		return strconv.AppendUint(dst, v.Uints[row], 10)
	case v.Ints != nil:
		return strconv.AppendInt(dst, v.Ints[row], 10)
	case v.Bools != nil:
		return strconv.AppendBool(dst, v.Bools[row])
	case v.Floats != nil:
		return appendFloat(dst, v.Floats[row])
	case v.Millis != nil:
		return appendInstant(dst, v.Millis[row])
	case inline:
		return appendObject(dst, v.Strings[row])
	}
	return wire.AppendHTMLSafe(dst, v.Strings[row])
}

func appendInstant(dst []byte, millis int64) []byte {
	if millis == 0 {
		return append(dst, "null"...)
	}
	return append(wire.AppendMillis(append(dst, '"'), millis), '"')
}

func appendFloat(dst []byte, f float64) []byte {
	if math.IsNaN(f) {
		return append(dst, "null"...)
	}
	if math.IsInf(f, 0) || f == 0 { // there is a 0 below 0
		f = 0
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 64)
}

// appendObject appends stored JSON as it is. What is no JSON, which we never
// store, becomes an empty object rather than a broken response.
func appendObject(dst []byte, s string) []byte {
	if s == "" || !utf8.ValidString(s) || fastjson.Validate(s) != nil {
		return append(dst, "{}"...)
	}
	return append(dst, s...)
}
