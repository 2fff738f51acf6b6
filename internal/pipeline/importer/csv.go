package importer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/contract/event"
)

// propertyPrefix begins the names of columns that are single properties.
const propertyPrefix = "properties."

// kind says how a column's cells are written as JSON.
type kind uint8

const (
	asText   kind = iota
	asSwitch      // true and false as themselves, anything else as text
	asObject      // as it is, a JSON object
	asValue       // numbers, true and false as themselves, anything else as text
)

// column is one column of a CSV file.
type column struct {
	name string
	key  []byte // as it stands in the object, with the colon
	kind kind
}

// table makes JSON events of rows.
type table struct {
	columns    []column // of the event's own fields, then of single properties
	order      []int    // the cell of each column
	properties int      // index in columns of the first single property
	cells      [][]byte
	space      []byte // of unquoted cells
}

// newTable reads a header row.
func newTable(header []byte) (*table, error) {
	t := &table{}
	names, rejected := t.split(header)
	if rejected != nil {
		return nil, fmt.Errorf("reading the header: %s", rejected.Message)
	}
	var own, single []int
	columns := make([]column, len(names))
	for i, raw := range names {
		name := string(bytes.TrimSpace(raw))
		for _, c := range columns[:i] {
			if c.name == name {
				return nil, fmt.Errorf("reading the header: column %q appears twice", name)
			}
		}
		c := column{name: name, key: append(event.AppendQuoted(nil, []byte(name)), ':')}
		if property, ok := strings.CutPrefix(name, propertyPrefix); ok && property != "" {
			c.key, c.kind = append(event.AppendQuoted(nil, []byte(property)), ':'), asValue
			single = append(single, i)
		} else if slices.Contains(event.FieldNames(), name) {
			c.kind = map[string]kind{"properties": asObject, "anonymizeVisitorIds": asSwitch}[name]
			own = append(own, i)
		} else {
			return nil, fmt.Errorf("reading the header: unknown column %q; the columns are %s, and %sNAME for single properties",
				name, strings.Join(event.FieldNames(), ", "), propertyPrefix)
		}
		columns[i] = c
	}
	if len(single) > 0 && slices.ContainsFunc(columns, func(c column) bool { return c.kind == asObject }) {
		return nil, fmt.Errorf("reading the header: use either a column properties or columns %sNAME, not both",
			propertyPrefix)
	}
	t.order, t.properties = slices.Concat(own, single), len(own)
	for _, i := range t.order {
		t.columns = append(t.columns, columns[i])
	}
	return t, nil
}

// appendEvent appends the JSON object of a row.
func (t *table) appendEvent(dst, row []byte) ([]byte, *Rejection) {
	cells, rejected := t.split(row)
	if rejected != nil {
		return dst, rejected
	}
	if len(cells) != len(t.order) {
		return dst, &Rejection{
			Rule: "columns", Message: fmt.Sprintf("the row has %d columns, and the header %d", len(cells), len(t.order)),
		}
	}
	from := len(dst)
	dst = append(dst, '{')
	open := false // the object of single properties
	for i, c := range t.columns {
		cell := cells[t.order[i]]
		if len(cell) == 0 {
			continue // absent
		}
		if last := dst[len(dst)-1]; last != '{' {
			dst = append(dst, ',')
		}
		if i >= t.properties && !open {
			dst, open = append(dst, `"properties":{`...), true
		}
		dst = append(dst, c.key...)
		switch {
		case c.kind == asObject && !isObject(cell):
			return dst[:from],
				&Rejection{Field: c.name, Rule: string(event.RuleWrongType), Message: c.name + " must be a JSON object"}
		case c.kind == asObject, c.kind == asSwitch && isSwitch(cell), c.kind == asValue &&
			(isSwitch(cell) || isNumber(cell)):
			dst = append(dst, cell...)
		default:
			dst = event.AppendQuoted(dst, cell)
		}
	}
	if open {
		dst = append(dst, '}')
	}
	return append(dst, '}'), nil
}

// An object is looked at by itself: what only looks like one inside the event's
// own braces could set other fields.
func isObject(cell []byte) bool {
	trimmed := bytes.TrimLeft(cell, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(cell)
}

func isSwitch(cell []byte) bool { return string(cell) == "true" || string(cell) == "false" }

func isNumber(cell []byte) bool {
	return (cell[0] == '-' || cell[0] >= '0' && cell[0] <= '9') && cell[len(cell)-1] >= '0' &&
		cell[len(cell)-1] <= '9' && json.Valid(cell)
}

var errQuotes = &Rejection{
	Rule: "malformed", Message: `a field that contains quotes must be enclosed in quotes, with each inner quote doubled`,
}

// split returns the cells of a row, which are valid until the next call.
func (t *table) split(row []byte) ([][]byte, *Rejection) {
	t.cells, t.space = t.cells[:0], t.space[:0]
	for {
		if len(row) > 0 && row[0] == '"' {
			cell, rest, ok := t.unquote(row[1:])
			if !ok {
				return nil, errQuotes
			}
			t.cells = append(t.cells, cell)
			if len(rest) == 0 {
				return t.cells, nil
			}
			row = rest[1:]
			continue
		}
		cell, rest, more := bytes.Cut(row, comma)
		if bytes.IndexByte(cell, '"') >= 0 {
			return nil, errQuotes
		}
		t.cells = append(t.cells, cell)
		if !more {
			return t.cells, nil
		}
		row = rest
	}
}

var comma = []byte{','}

// unquote reads a cell behind its opening quote; rest begins with a comma or is
// empty.
func (t *table) unquote(row []byte) (cell, rest []byte, ok bool) {
	from := len(t.space)
	for {
		i := bytes.IndexByte(row, '"')
		if i < 0 {
			return nil, nil, false
		}
		t.space = append(t.space, row[:i]...)
		row = row[i+1:]
		if len(row) > 0 && row[0] == '"' {
			t.space, row = append(t.space, '"'), row[1:]
			continue
		}
		return t.space[from:len(t.space):len(t.space)], row, len(row) == 0 || row[0] == ','
	}
}
