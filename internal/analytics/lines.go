package analytics

import (
	"bytes"
	"encoding/csv"
	"strings"
)

// AppendLines appends each row as a JSON object on a line of its own, as AppendRows
// writes it. before stands in front of its members, with the opening brace and a
// comma at its end.
func (t *Table) AppendLines(dst []byte, columns []Column, before []byte) []byte {
	keys := t.keys()
	for row := range t.Rows {
		dst = append(t.appendRow(append(dst, before...), row, keys, columns), "}\n"...)
	}
	return dst
}

// AppendCSV appends the table as RFC 4180 has it: a line of the columns' names, then
// one a row. Values look as in JSON, texts without their quotes, and no value is
// empty.
func (t *Table) AppendCSV(dst []byte, columns []Column) []byte {
	b := bytes.NewBuffer(dst)
	w := csv.NewWriter(b)
	w.UseCRLF = true
	fields := make([]string, len(columns))
	for i := range columns {
		fields[i] = columns[i].Name
	}
	_ = w.Write(fields) // a buffer takes everything, until Flush too
	for row := range t.Rows {
		for i := range t.Columns {
			fields[i] = t.field(i, row, columns)
		}
		_ = w.Write(fields) // see above
	}
	w.Flush()
	return b.Bytes()
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
