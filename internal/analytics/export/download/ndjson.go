package download

import (
	"io"

	"github.com/millrace/millrace/internal/analytics/export"
	"github.com/millrace/millrace/internal/contract/wire"
)

// ndjson writes rows as lines of JSON.
type ndjson struct {
	w    io.Writer
	q    *export.Query
	keys [][]byte // `"name":`
	line []byte
	raw  []byte
}

func newNDJSON(w io.Writer, q *export.Query) (encoder, error) {
	e := &ndjson{w: w, q: q, keys: make([][]byte, len(q.Columns))}
	for i := range q.Columns {
		e.keys[i] = append(appendString(nil, []byte(q.Columns[i].Name)), ':')
	}
	return e, nil
}

func (e *ndjson) block(b *export.Block) error {
	for row := range b.Rows {
		e.line = append(e.line[:0], '{')
		for i := range e.q.Columns {
			e.member(b, i, row)
		}
		e.line = append(e.line, '}', '\n')
		if _, err := e.w.Write(e.line); err != nil {
			return err
		}
	}
	return nil
}

// member appends the value of a column, if it is there.
func (e *ndjson) member(b *export.Block, column, row int) {
	c, v := &e.q.Columns[column], &b.Values[column]
	var text []byte
	switch c.Type {
	case export.Text, export.Object:
		if text = v.Text(row); len(text) == 0 {
			return
		}
	case export.Cursor:
	default:
		if !b.Has(c, v, row) {
			return
		}
	}
	if len(e.line) > 1 {
		e.line = append(e.line, ',')
	}
	e.line = append(e.line, e.keys[column]...)
	switch {
	case c.Type == export.Object && isObject(text):
		e.line = append(e.line, text...)
	case c.Type == export.Text, c.Type == export.Object:
		e.line = appendString(e.line, text)
	case c.Type == export.Time:
		e.line = append(wire.AppendMillis(append(e.line, '"'), v.Millis[row]), '"')
	case c.Type == export.Cursor:
		e.line = append(e.line, '"')
		e.line, e.raw = e.q.AppendCursor(e.line, e.raw, b, row)
		e.line = append(e.line, '"')
	default:
		e.line = appendValue(e.line, c.Type, v, row)
	}
}

// appendValue appends a number of whatever kind.
func appendValue(dst []byte, t export.Type, v *export.Values, row int) []byte {
	switch t {
	case export.Float64:
		return appendNumber(dst, v.Floats[row], 64)
	case export.Float32:
		return appendNumber(dst, float64(v.Floats4[row]), 32)
	default:
		return appendNumber(dst, float64(v.Counts[row]), 64)
	}
}

func (*ndjson) end(string) error { return nil }
