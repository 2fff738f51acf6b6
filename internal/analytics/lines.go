package analytics

import (
	"strings"

	"github.com/millrace/millrace/internal/contract/wire"
)

// AppendLines appends a piece of the table, as AppendRows does, with each row as a JSON object on a line
// of its own. before precedes the members of each, with the opening brace and a comma at its end.
func (t *Table) AppendLines(dst []byte, columns []Column, before []byte, from int) (_ []byte, next int) {
	keys, begun := t.keys(), len(dst)
	for next = from; next < t.Rows && len(dst)-begun < pieceBytes; next++ {
		dst = append(t.appendRow(append(dst, before...), next, keys, columns), "}\n"...)
	}
	return dst, next
}

// AppendCSV appends a piece of the table, as AppendRows does, in the form of RFC 4180: a line of the
// columns' names, then one a row. Values look as in JSON, texts without their quotes, and no value is
// empty.
func (t *Table) AppendCSV(dst []byte, columns []Column, from int) (_ []byte, next int) {
	begun := len(dst)
	if from == 0 {
		for i := range columns {
			dst = appendField(dst, i, columns[i].Name)
		}
		dst = append(dst, wire.CSVLineEnd...)
	}
	for next = from; next < t.Rows && len(dst)-begun < pieceBytes; next++ {
		for i := range t.Columns {
			dst = appendField(dst, i, t.field(i, next, columns))
		}
		dst = append(dst, wire.CSVLineEnd...)
	}
	return dst, next
}

func appendField(dst []byte, column int, text string) []byte {
	if column > 0 {
		dst = append(dst, ',')
	}
	return wire.AppendCSV(dst, []byte(text))
}

// field is one value as text.
func (t *Table) field(column, row int, columns []Column) string {
	v := &t.Columns[column]
	switch {
	case columns[column].Show != nil:
		return strings.ToValidUTF8(columns[column].Show(v.Strings[row]), "\uFFFD")
	case v.Strings != nil && columns[column].Type != JSON:
		return strings.ToValidUTF8(v.Strings[row], "\uFFFD")
	}
	text := string(v.appendValue(nil, row, columns[column].Type == JSON))
	switch {
	case columns[column].Type == JSON:
		return text
	case text == "null":
		return ""
	}
	return strings.Trim(text, `"`)
}
