package analytics

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestRowsKeepTheOrderOfColumnsAndEveryDigit(t *testing.T) {
	t.Parallel()
	columns := []Column{{Type: String}, {Type: Number}, {Type: Number}, {Type: Number}, {Type: Datetime}, {Type: JSON}}
	table := Table{Rows: 2, Columns: []Values{
		{Name: "z", Strings: []string{"a\"b\n<é>\xff", ""}},
		{Name: "u", Uints: []uint64{math.MaxUint64, 0}},
		{Name: "i", Ints: []int64{math.MinInt64, 1}},
		{Name: "f", Floats: []float64{0.1, math.NaN()}},
		{Name: "t", Millis: []int64{1774783800123, 0}},
		{Name: "j", Strings: []string{`{"a":[1,"ü"]}`, ""}},
	}}
	want := `[{"z":"a\"b\n\u003cé\u003e\ufffd","u":18446744073709551615,"i":-9223372036854775808,"f":0.1,"t":"2026-03-29T11:30:00.123Z","j":{"a":[1,"ü"]}},` +
		`{"z":"","u":0,"i":1,"f":null,"t":null,"j":{}}]`
	if got, _ := table.AppendRows(nil, columns, 0); string(got) != want {
		t.Errorf("rows\n%s, want\n%s", got, want)
	}
}

func TestABrokenValueDoesNotBreakTheResponse(t *testing.T) {
	t.Parallel()
	table := Table{Rows: 5, Columns: []Values{
		{Name: "f", Floats: []float64{math.Inf(1), math.Inf(-1), 1e21, 1e-9, math.Copysign(0, -1)}},
		{Name: "j", Strings: []string{`{"a":`, "\xff", `{"a":1}x`, `null`, `{}`}},
	}}
	got, _ := table.AppendRows(nil, []Column{{Type: Number}, {Type: JSON}}, 0)
	if !json.Valid(got) {
		t.Errorf("rows are no JSON: %s", got)
	}
	if strings.Contains(string(got), "-") {
		t.Errorf("a number is below 0: %s", got)
	}
}

func TestAnEmptyTableIsAnEmptyArray(t *testing.T) {
	t.Parallel()
	if got, _ := (&Table{}).AppendRows(nil, nil, 0); string(got) != "[]" {
		t.Errorf("rows %s, want []", got)
	}
}
