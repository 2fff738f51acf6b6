package export

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
)

var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// ask is a request for events of a day.
func ask(format string, change ...func(*Request)) *Request {
	r := &Request{WebsiteID: "web_1", Format: format, Start: begin, End: begin.AddDate(0, 0, 1)}
	for _, f := range change {
		f(r)
	}
	return r
}

func TestWhatCannotBeExportedIsToldByField(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change func(*Request)
		fields string
		text   string
	}{
		{"format", func(r *Request) { r.Format = "xml" }, "format", "format must be one of ndjson, csv, parquet"},
		{"kind", func(r *Request) { r.Kind = "sessions" }, "kind", "kind must be one of events, vitals, errors"},
		{
			"column", func(r *Request) { r.Columns = []string{"name", "browsr"} }, "columns[1]",
			"columns[1] must be a column of events. Did you mean 'browser'?",
		},
		{
			"column of another kind", func(r *Request) { r.Columns, r.Kind = []string{"properties"}, "vitals" }, "columns[0]",
			"columns[0] must be a column of vitals",
		},
		{
			"twice", func(r *Request) { r.Columns = []string{"name", "name"} }, "columns",
			"columns must not have the same item twice",
		},
		{"limit", func(r *Request) { r.Limit = MaxLimit + 1 }, "limit", "limit must be at most 1000000000"},
		{"cursor", func(r *Request) { r.Cursor = "AAAA" }, "cursor", "cursor must belong to this website, kind and range. " +
			"Send the cursor of a row unchanged, with the range of its export"},
		{
			"several", func(r *Request) { r.Format, r.Columns, r.Cursor = "", []string{"?"}, "x" }, "format columns[0] cursor",
			"format must be one of ndjson, csv, parquet",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := NewQuery(ask("csv", tc.change))
			f, ok := errors.AsType[*apierr.Error](err)
			if !ok || f.Code != apierr.Validation || f.Message != tc.text {
				t.Fatalf("got %v", err)
			}
			var fields []string
			for _, d := range f.Details {
				fields = append(fields, d.Field)
			}
			if got := strings.Join(fields, " "); got != tc.fields {
				t.Errorf("fields %s, want %s", got, tc.fields)
			}
		})
	}
	if _, err := NewQuery(ask("csv", func(r *Request) { r.Limit = MaxLimit })); err != nil {
		t.Errorf("the largest limit: %v", err)
	}
}
