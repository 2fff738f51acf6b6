package download

import (
	"bufio"
	"encoding/base64"
	stdcsv "encoding/csv"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/millrace/millrace/internal/analytics/export"
	"github.com/millrace/millrace/internal/contract/wire"
)

// parsed are rows read back: texts, and of all columns what is there.
type parsed []map[string]any

// expected is what someRows must come back as.
func expected(r *rows, q *export.Query, object func(string) any) parsed {
	var all parsed
	for _, row := range r.all {
		m := map[string]any{}
		for _, c := range q.Columns {
			text, n := row.texts[c.Name], row.numbers[c.Name]
			_, there := row.numbers[c.Name]
			switch {
			case c.Type == export.Cursor:
				m[c.Name] = q.CursorAfter(&row.at)
			case c.Type == export.Object && text != "":
				m[c.Name] = object(text)
			case c.Type == export.Text && text != "":
				m[c.Name] = text
			case c.Type == export.Time && n != 0:
				m[c.Name] = string(wire.AppendMillis(nil, int64(n)))
			case c.Type == export.Float32 && there:
				m[c.Name] = string(appendNumber(nil, n, 32))
			case there:
				m[c.Name] = string(appendNumber(nil, n, 64))
			}
		}
		all = append(all, m)
	}
	return all
}

func mustQuery(t *testing.T, r *export.Request) *export.Query {
	t.Helper()
	q, err := export.NewQuery(r)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

func TestNDJSONReadsBackAsItWasStored(t *testing.T) {
	t.Parallel()
	r := someRows(40)
	text, next := written(t, r, ask("ndjson"))
	if next != "" {
		t.Errorf("next cursor %q at the end of the range", next)
	}
	var got parsed
	for line := range strings.Lines(text) {
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		var m map[string]any
		if err := d.Decode(&m); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		for k, v := range m {
			if n, ok := v.(json.Number); ok {
				m[k] = n.String()
			}
		}
		got = append(got, m)
	}
	want := expected(r, mustQuery(t, ask("ndjson")), func(s string) any {
		var v map[string]any
		d := json.NewDecoder(strings.NewReader(s))
		d.UseNumber()
		if strings.Contains(s, "\n}") || d.Decode(&v) != nil {
			return s
		}
		return v
	})
	for _, m := range want {
		if s, ok := m["title"].(string); ok {
			// One mark for each byte.
			m["title"] = strings.ReplaceAll(valid(strings.ReplaceAll(s, "\xff", "\ufffd")), "\xfe", "\ufffd")
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestCSVReadsBackAsItWasStored(t *testing.T) {
	t.Parallel()
	r := someRows(40)
	text, _ := written(t, r, ask("csv"))
	// The reader of the standard library takes \r\n within quotes for \n.
	lines, err := stdcsv.NewReader(bufio.NewReader(strings.NewReader(text))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var got parsed
	for _, line := range lines[1:] {
		m := map[string]any{}
		for i, name := range lines[0] {
			if line[i] != "" {
				m[name] = line[i]
			}
		}
		got = append(got, m)
	}
	want := expected(r, mustQuery(t, ask("csv")), func(s string) any { return s })
	for _, m := range want {
		if s, ok := m["title"].(string); ok {
			m["title"] = strings.ReplaceAll(s, "\r\n", "\n")
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if !strings.Contains(text, "\"two\r\nlines\nand\ra half\"") {
		t.Error("line breaks within a value were changed")
	}
	if n := strings.Count(text, "\r\n"); n != 1+40+4 {
		t.Errorf("%d lines end in CRLF, want 45 with those within values", n)
	}
}

func TestAnEmptyExportHasTheHeaderOnly(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{"ndjson": "", "csv": "name,cursor\r\n"} {
		if got, _ := written(t, &rows{},
			ask(format, func(r *export.Request) { r.Columns = []string{"name", "cursor"} })); got != want {
			t.Errorf("%s: %q", format, got)
		}
	}
}

func TestACSVOfOneColumnHasNoEmptyLine(t *testing.T) {
	t.Parallel()
	got, _ := written(t, someRows(2), ask("csv", func(r *export.Request) { r.Columns = []string{"title"} }))
	if want := "title\r\n\"\"\r\nplain\r\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestParquetReadsBackAsItWasStored(t *testing.T) {
	t.Parallel()
	r := someRows(40)
	text, _ := written(t, r, ask("parquet"))
	file, err := parquet.OpenFile(strings.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	q := mustQuery(t, ask("parquet"))
	names := make([]string, 0, len(q.Columns))
	for _, f := range file.Schema().Fields() {
		names = append(names, f.Name())
	}
	if diff := cmp.Diff(q.Kind.ColumnNames(), names); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	rows := make([]parquet.Row, 40)
	n, _ := parquet.NewReader(file).ReadRows(rows)
	var got parsed
	for _, row := range rows[:n] {
		m := map[string]any{}
		for _, v := range row {
			if c := &q.Columns[v.Column()]; !v.IsNull() {
				m[c.Name] = shown(c, v)
			}
		}
		got = append(got, m)
	}
	if diff := cmp.Diff(expected(r, q, func(s string) any { return s }), got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if _, ok := file.Lookup(NextCursorKey); !ok {
		t.Errorf("the file does not tell of %s", NextCursorKey)
	}
}

// TestTheIndexOfAParquetFileLeavesOutNoValue holds the bounds of the pages, by
// which readers leave pages out, against what is in them.
func TestTheIndexOfAParquetFileLeavesOutNoValue(t *testing.T) {
	t.Parallel()
	text, _ := written(t, someRows(4000), ask("parquet"))
	file, err := parquet.OpenFile(strings.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	for _, chunk := range file.RowGroups()[0].ColumnChunks() {
		index, err := chunk.ColumnIndex()
		if err != nil {
			t.Fatal(err)
		}
		pages := chunk.Pages()
		for n := 0; ; n++ {
			page, err := pages.ReadPage()
			if err != nil {
				break
			}
			values := make([]parquet.Value, page.NumValues())
			page.Values().ReadValues(values)
			nulls := int64(0)
			for _, v := range values {
				switch {
				case v.IsNull():
					nulls++
				case index.NullPage(n) || strings.ToValidUTF8(v.String(), "") == v.String() &&
					(chunk.Type().Compare(v, index.MinValue(n)) < 0 || chunk.Type().Compare(v, index.MaxValue(n)) > 0):
					t.Fatalf("column %d, page %d: %v is not within %v and %v",
						chunk.Column(), n, v, index.MinValue(n), index.MaxValue(n))
				}
			}
			if nulls != index.NullCount(n) {
				t.Errorf("column %d, page %d: %d nulls, told %d", chunk.Column(), n, nulls, index.NullCount(n))
			}
		}
		pages.Close()
	}
}

func shown(c *export.Column, v parquet.Value) string {
	switch c.Type {
	case export.Time:
		return string(wire.AppendMillis(nil, v.Int64()))
	case export.Float64:
		return string(appendNumber(nil, v.Double(), 64))
	case export.Float32:
		return string(appendNumber(nil, float64(v.Float()), 32))
	case export.Count:
		return strconv.FormatInt(v.Int64(), 10)
	default:
		return string(v.ByteArray())
	}
}

func TestAParquetFileIsMadeOfGroupsOfABoundedSize(t *testing.T) {
	t.Parallel()
	r := &rows{}
	big := strings.Repeat("x", 1<<20)
	for i := range 40 {
		r.all = append(r.all,
			testRow{at: export.RowKey{Key: uint64(i + 1)}, texts: map[string]string{"title": big + strconv.Itoa(i)}})
	}
	text, _ := written(t, r, ask("parquet", func(r *export.Request) { r.Columns = []string{"title"} }))
	file, err := parquet.OpenFile(strings.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(file.RowGroups()); n != 5 {
		t.Errorf("40 MiB are in %d groups, want 5", n)
	}
}

func TestNumbersLookLikeThoseOfJSON(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		f    float64
		bits int
		want string
	}{
		{0, 64, "0"},
		{-1.5, 64, "-1.5"},
		{1e6, 64, "1000000"},
		{1e21, 64, "1e+21"},
		{1e-7, 64, "1e-07"},
		{float64(float32(0.1)), 32, "0.1"},
		{math.NaN(), 64, "0"},
		{math.Inf(-1), 64, "0"},
	} {
		got := string(appendNumber(nil, tc.f, tc.bits))
		if got != tc.want || !json.Valid([]byte(got)) {
			t.Errorf("%v is %s, want %s", tc.f, got, tc.want)
		}
	}
}

func FuzzStrings(f *testing.F) {
	for _, s := range []string{
		"", "plain", "\"\\\x00\n\r\t\x7f", "ü\u2028😀", "\xff\xc3", base64.StdEncoding.EncodeToString([]byte("x")),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, s []byte) {
		var got string
		text := appendString(nil, s)
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%q became %s: %v", s, text, err)
		}
		want, err := json.Marshal(string(s))
		if err != nil {
			t.Fatal(err)
		}
		var same string
		if err := json.Unmarshal(want, &same); err != nil || same != got {
			t.Errorf("%q became %q, want %q", s, got, same)
		}
	})
}

func TestEveryFormatIsWritten(t *testing.T) {
	t.Parallel()
	for _, name := range export.FormatNames() {
		if encoders[name] == nil {
			t.Errorf("nothing writes %s", name)
		}
	}
	if len(encoders) != len(export.Formats) {
		t.Errorf("%d formats are written, of %d", len(encoders), len(export.Formats))
	}
}
