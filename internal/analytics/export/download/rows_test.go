package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/analytics/export"
)

// rows is a source of rows that are there already, in blocks of two, in the order
// of their positions.
type rows struct {
	all []testRow
	err error // after the last row
}

type testRow struct {
	at      export.RowKey
	texts   map[string]string
	numbers map[string]float64
}

// Read implements Source.
func (r *rows) Read(ctx context.Context, q *export.Query, each func(*export.Block) error) error {
	var block []testRow
	left := q.Limit
	for _, row := range r.all {
		if q.After != nil && !before(q.After, &row.at) || q.Limit > 0 && left == 0 {
			continue
		}
		left--
		if block = append(block, row); len(block) == 2 {
			if err := each(blockOf(q, block)); err != nil {
				return err
			}
			block = nil
		}
	}
	if err := each(blockOf(q, block)); err != nil {
		return err
	}
	return errors.Join(ctx.Err(), r.err)
}

func before(a, b *export.RowKey) bool {
	switch {
	case a.Day != b.Day:
		return a.Day < b.Day
	case a.Name != b.Name:
		return a.Name < b.Name
	}
	return a.Key < b.Key
}

func blockOf(q *export.Query, all []testRow) *export.Block {
	b := &export.Block{
		Rows:   len(all),
		Values: make([]export.Values, len(q.Columns)),
		Names:  func(i int) []byte { return []byte(all[i].at.Name) },
	}
	for i := range all {
		b.Days, b.Keys, b.Measured = append(b.Days, all[i].at.Day), append(b.Keys, all[i].at.Key), append(b.Measured, 0)
		for j := range q.Columns {
			c, v := &q.Columns[j], &b.Values[j]
			n, there := all[i].numbers[c.Name]
			if there && c.Bit > 0 {
				b.Measured[i] |= 1 << (c.Bit - 1)
			}
			v.Text = func(row int) []byte { return []byte(all[row].texts[c.Name]) }
			v.Millis, v.Floats, v.Floats4, v.Counts = append(v.Millis, int64(n)), append(v.Floats, n),
				append(v.Floats4, float32(n)), append(v.Counts, uint32(n))
		}
	}
	return b
}

// someRows returns n rows whose values need all that the formats have.
func someRows(n int) *rows {
	nasty := []string{
		"", "plain", `quoted "twice"`, "a,b", "two\r\nlines\nand\ra half", " blank ", "\x00\x01\x1f", "ünï \u2028 😀",
		"\xff\xfebroken", `back\slash`,
	}
	r := &rows{}
	for i := range n {
		row := testRow{
			at: export.RowKey{Day: uint16(20_000 + i/4), Name: fmt.Sprintf("name %d", i/2%2), Key: uint64(i) << 58},
			texts: map[string]string{
				"event_id": fmt.Sprintf("id_%d", i), "title": nasty[i%len(nasty)], "path": "/" + strings.Repeat("p", i%5),
				"properties": []string{"", `{"a":[1,"x\n"],"ü":null}`, "{broken", "{\n}"}[i%4],
			},
			numbers: map[string]float64{"event_time": 1_700_000_000_000 + float64(i)},
		}
		row.texts["name"] = row.at.Name
		if i%3 > 0 {
			row.numbers["value"], row.numbers["scroll_depth"], row.numbers["interactions"] = float64(i)/7, 0.1, float64(i%3-1)
		}
		r.all = append(r.all, row)
	}
	return r
}

var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// ask is a request for events of a day.
func ask(format string, change ...func(*export.Request)) *export.Request {
	r := &export.Request{WebsiteID: "web_1", Format: format, Start: begin, End: begin.AddDate(0, 0, 1)}
	for _, f := range change {
		f(r)
	}
	return r
}

// written exports to a text, and returns the cursor to go on with.
func written(t *testing.T, s export.Source, r *export.Request) (text, next string) {
	t.Helper()
	q, err := export.NewQuery(r)
	if err != nil {
		t.Fatal(err)
	}
	x, err := NewExporter(Config{}, s, prometheus.NewRegistry()).Begin("org_1", "key_1", q)
	if err != nil {
		t.Fatal(err)
	}
	defer x.End()
	var b strings.Builder
	if err := x.Write(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String(), x.NextCursor()
}

// failing fails after so many bytes.
type failing int

// Write implements io.Writer.
func (f *failing) Write(p []byte) (int, error) {
	if *f -= failing(len(p)); *f < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}
