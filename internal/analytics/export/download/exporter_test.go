package download

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/analytics/export"
	"github.com/millrace/millrace/internal/contract/apierr"
)

func TestAnExportGoesOnAfterEveryRow(t *testing.T) {
	t.Parallel()
	const n = 23
	r := someRows(n)
	whole, _ := written(t, r, ask("ndjson"))
	lines := slices.Collect(strings.Lines(whole))
	q := mustQuery(t, ask("ndjson"))
	for i := range r.all {
		cursor := q.CursorAfter(&r.all[i].at)
		rest, _ := written(t, r, ask("ndjson", func(r *export.Request) { r.Cursor = cursor }))
		if want := strings.Join(lines[i+1:], ""); rest != want {
			t.Errorf("after row %d come %d bytes, want %d", i, len(rest), len(want))
		}
	}
}

func TestPagesOfEverySizeAreTheWhole(t *testing.T) {
	t.Parallel()
	const n = 12
	r := someRows(n)
	whole, _ := written(t, r, ask("ndjson"))
	for limit := 1; limit <= n+1; limit++ {
		var all strings.Builder
		cursor, pages := "", 0
		for {
			text, next := written(t, r, ask("ndjson", func(r *export.Request) { r.Limit, r.Cursor = limit, cursor }))
			all.WriteString(text)
			pages++
			if rows := strings.Count(text, "\n"); (next != "") != (rows == limit) || rows > limit {
				t.Fatalf("a page of %d rows, limit %d, next cursor %q", rows, limit, next)
			}
			if cursor = next; next == "" {
				break
			}
		}
		if all.String() != whole || pages != n/limit+1 {
			t.Errorf("%d pages of %d rows differ from the whole", pages, limit)
		}
	}
}

func TestExportsAtOnceAreBounded(t *testing.T) {
	t.Parallel()
	e := NewExporter(Config{Max: 3, MaxPerOrganization: 2}, someRows(1), prometheus.NewRegistry())
	q := mustQuery(t, ask("csv"))
	caller := "" // another one for each organization
	begin := func(org, want string) *Export {
		t.Helper()
		x, err := e.Begin(org, cmp.Or(caller, "caller of "+org), q)
		got := ""
		if f, ok := errors.AsType[*apierr.Error](err); ok {
			got = f.Message
			if f.Code != apierr.RateLimited || f.RetryAfter != fullWait || f.Rate == nil || f.Rate.Remaining != 0 {
				t.Errorf("refused with %+v", f)
			}
		}
		if got != want {
			t.Errorf("Begin(%s) says %q, want %q", org, got, want)
		}
		return x
	}
	first, second := begin("org_1", ""), begin("org_1", "")
	begin("org_1", "Too many exports of this organization are running")
	begin("org_2", "")
	begin("org_3", "Too many exports are running")
	first.End()
	begin("org_3", "")
	second.End()
	begin("org_1", "")
	if got := testutil.ToFloat64(e.metrics.rejected.WithLabelValues("organization")); got != 1 {
		t.Errorf("%v refusals of an organization are counted", got)
	}
	if n := e.places.Taken(); n != 3 {
		t.Errorf("%d run", n)
	}
	e, caller = NewExporter(Config{Max: 9, MaxPerOrganization: 2}, someRows(1), prometheus.NewRegistry()), "usr_1"
	begin("org_1", "")
	begin("org_2", "")
	begin("org_3", "Too many of your exports are running")
}

func TestNothingIsWrittenBeforeTheFirstRows(t *testing.T) {
	t.Parallel()
	for _, f := range export.FormatNames() {
		for _, tc := range []struct {
			err  error
			want apierr.Code
		}{
			{errors.New("broken"), ""},
			{export.ErrUnavailable, apierr.ServiceUnavailable},
			{context.DeadlineExceeded, apierr.DeadlineExceeded},
		} {
			q := mustQuery(t, ask(f))
			x, err := NewExporter(Config{}, &rows{err: tc.err}, prometheus.NewRegistry()).Begin("org_1", "key_1", q)
			if err != nil {
				t.Fatal(err)
			}
			none := failing(0)
			if err := x.Write(t.Context(), &none); !errors.Is(err, tc.err) || tc.want != "" && !apierr.Is(err, tc.want) {
				t.Errorf("%s: %v", f, err)
			}
		}
	}
}

func TestAWriterThatFailsEndsTheReading(t *testing.T) {
	t.Parallel()
	for _, f := range export.FormatNames() {
		e := NewExporter(Config{}, someRows(1000), prometheus.NewRegistry())
		x, err := e.Begin("org_1", "key_1", mustQuery(t, ask(f)))
		if err != nil {
			t.Fatal(err)
		}
		some := failing(1000)
		if err := x.Write(t.Context(), &some); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s: %v", f, err)
		}
		if f != "parquet" && x.Rows() > 100 {
			t.Errorf("%s: %d rows were read", f, x.Rows())
		}
	}
}

func TestAnExportHasItsDefaults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := NewExporter(Config{}, someRows(0), prometheus.NewRegistry())
		if e.Deadline() != 30*time.Minute || e.cfg.Max != 8 || e.cfg.MaxPerOrganization != 2 {
			t.Errorf("%+v", e.cfg)
		}
	})
}
