package download

import (
	"io"

	"github.com/millrace/millrace/internal/analytics/export"
	"github.com/millrace/millrace/internal/contract/wire"
)

// csv writes rows as RFC 4180 has them.
type csv struct {
	w    io.Writer
	q    *export.Query
	line []byte
	raw  []byte
}

// newCSV writes the header line with the first rows, so that what fails before
// them is an error of its own.
func newCSV(w io.Writer, q *export.Query) (encoder, error) {
	e := &csv{w: w, q: q}
	for i := range q.Columns {
		e.field(i, []byte(q.Columns[i].Name))
	}
	e.line = append(e.line, wire.CSVLineEnd...)
	return e, nil
}

func (e *csv) block(b *export.Block) error {
	for row := range b.Rows {
		for i := range e.q.Columns {
			e.value(b, i, row)
		}
		e.line = append(e.line, wire.CSVLineEnd...)
		if err := e.flush(); err != nil {
			return err
		}
	}
	return nil
}

func (e *csv) flush() error {
	_, err := e.w.Write(e.line)
	e.line = e.line[:0]
	return err
}

func (e *csv) value(b *export.Block, column, row int) {
	c, v := &e.q.Columns[column], &b.Values[column]
	if c.Type == export.Text || c.Type == export.Object {
		e.field(column, v.Text(row))
		return
	}
	if column > 0 {
		e.line = append(e.line, ',')
	}
	switch {
	case c.Type == export.Cursor:
		e.line, e.raw = e.q.AppendCursor(e.line, e.raw, b, row)
	case !b.Has(c, v, row):
		e.lone()
	case c.Type == export.Time:
		e.line = wire.AppendMillis(e.line, v.Millis[row])
	default:
		e.line = appendValue(e.line, c.Type, v, row)
	}
}

// field appends a text, in quotes where it needs them.
func (e *csv) field(column int, text []byte) {
	if column > 0 {
		e.line = append(e.line, ',')
	}
	if len(text) == 0 {
		e.lone()
		return
	}
	e.line = wire.AppendCSV(e.line, text)
}

// lone appends an empty value: in quotes where it is the whole line, which
// readers would leave out.
func (e *csv) lone() {
	if len(e.q.Columns) == 1 {
		e.line = append(e.line, `""`...)
	}
}

// end writes the header of an export without rows.
func (e *csv) end(string) error { return e.flush() }
