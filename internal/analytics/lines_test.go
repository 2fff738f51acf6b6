package analytics

import (
	"math"
	"strings"
	"testing"
)

var linesTable = &Table{Rows: 2, Columns: []Values{
	{Name: "name", Strings: []string{"a,\"b\"\r\nc", "\xff"}},
	{Name: "n", Uints: []uint64{1, 18446744073709551615}},
	{Name: "p50", Floats: []float64{0.5, math.NaN()}},
	{Name: "at", Millis: []int64{0, 1774778400123}},
	{Name: "properties", Strings: []string{`{"a":"b"}`, `"null"`}},
	{Name: "shown", Strings: []string{"x", "y"}},
}}

var linesColumns = []Column{
	{Name: "name", Type: String},
	{Name: "n", Type: Number},
	{Name: "p50", Type: Number},
	{Name: "at", Type: Datetime},
	{Name: "properties", Type: JSON},
	{Name: "shown", Type: String, Show: func(s string) string { return "<" + s + ">" }},
}

func TestCSVHoldsWhatRowsHold(t *testing.T) {
	t.Parallel()
	const want = "name,n,p50,at,properties,shown\r\n" +
		"\"a,\"\"b\"\"\r\nc\",1,0.5,,\"{\"\"a\"\":\"\"b\"\"}\",<x>\r\n" +
		"\uFFFD,18446744073709551615,,2026-03-29T10:00:00.123Z,\"\"\"null\"\"\",<y>\r\n"
	if got, _ := linesTable.AppendCSV(nil, linesColumns, 0); string(got) != want {
		t.Errorf("CSV %q\nwant %q", got, want)
	}
	stack := &Table{Rows: 2, Columns: []Values{{Name: "stack", Strings: []string{"at f\nat g", "at f\rat g"}}}}
	if got, _ := stack.AppendCSV(nil, linesColumns[:1], 0); string(got) != "name\r\n\"at f\nat g\"\r\n\"at f\rat g\"\r\n" {
		t.Errorf("line breaks within values are changed: %q", got)
	}
	if got, _ := (&Table{}).AppendCSV(nil, linesColumns[:2], 0); string(got) != "name,n\r\n" {
		t.Errorf("no rows: %q", got)
	}
}

func TestLinesHoldWhatRowsHold(t *testing.T) {
	t.Parallel()
	const want = `{"parameter":"x","name":"a,\"b\"\r\nc","n":1,"p50":0.5,"at":null,"properties":{"a":"b"},"shown":"\u003cx\u003e"}` +
		"\n" +
		`{"parameter":"x","name":"\ufffd","n":18446744073709551615,"p50":null,"at":"2026-03-29T10:00:00.123Z","properties":"null","shown":"\u003cy\u003e"}` + "\n"
	if got, _ := linesTable.AppendLines(nil, linesColumns, []byte(`{"parameter":"x",`), 0); string(got) != want {
		t.Errorf("lines %s\nwant %s", got, want)
	}
}

func TestTable_IsWrittenInPieces(t *testing.T) {
	t.Parallel()
	const rows = 5000
	table := &Table{Rows: rows, Columns: []Values{{Name: "n", Strings: make([]string, rows)}}}
	columns := []Column{{Name: "n", Type: String}}
	long := strings.Repeat("x", 100)
	for i := range rows {
		table.Columns[0].Strings[i] = long
	}
	for name, tc := range map[string]struct {
		piece        func(dst []byte, from int) ([]byte, int)
		row, atStart string
		atEnd        string
	}{
		"rows": {
			func(dst []byte, from int) ([]byte, int) { return table.AppendRows(dst, columns, from) },
			`{"n":"` + long + `"},`, "[", "]",
		},
		"lines": {
			func(dst []byte, from int) ([]byte, int) { return table.AppendLines(dst, columns, []byte("{"), from) },
			`{"n":"` + long + "\"}\n", "", "",
		},
		"CSV": {
			func(dst []byte, from int) ([]byte, int) { return table.AppendCSV(dst, columns, from) },
			long + "\r\n", "n\r\n", "",
		},
	} {
		var all []byte
		for next := 0; next < rows; {
			var piece []byte
			if piece, next = tc.piece(nil, next); len(piece) > pieceBytes+len(tc.row)+len(tc.atStart) {
				t.Errorf("%s: a piece has %d bytes", name, len(piece))
			}
			all = append(all, piece...)
		}
		want := tc.atStart + strings.TrimSuffix(strings.Repeat(tc.row, rows), ",") + tc.atEnd
		if string(all) != want {
			t.Errorf("%s: the pieces are not the table", name)
		}
	}
}
