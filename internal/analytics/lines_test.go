package analytics

import (
	"math"
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
	if got := string(linesTable.AppendCSV(nil, linesColumns)); got != want {
		t.Errorf("CSV %q\nwant %q", got, want)
	}
	stack := &Table{Rows: 2, Columns: []Values{{Name: "stack", Strings: []string{"at f\nat g", "at f\rat g"}}}}
	if got := string(stack.AppendCSV(nil, linesColumns[:1])); got != "name\r\n\"at f\nat g\"\r\n\"at f\rat g\"\r\n" {
		t.Errorf("line breaks within values are changed: %q", got)
	}
	if got := string((&Table{}).AppendCSV(nil, linesColumns[:2])); got != "name,n\r\n" {
		t.Errorf("no rows: %q", got)
	}
}

func TestLinesHoldWhatRowsHold(t *testing.T) {
	t.Parallel()
	const want = `{"parameter":"x","name":"a,\"b\"\r\nc","n":1,"p50":0.5,"at":null,"properties":{"a":"b"},"shown":"\u003cx\u003e"}` +
		"\n" +
		`{"parameter":"x","name":"\ufffd","n":18446744073709551615,"p50":null,"at":"2026-03-29T10:00:00.123Z","properties":"null","shown":"\u003cy\u003e"}` + "\n"
	if got := string(linesTable.AppendLines(nil, linesColumns, []byte(`{"parameter":"x",`))); got != want {
		t.Errorf("lines %s\nwant %s", got, want)
	}
}
