package query

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/clickhouse/stagetest"
	"github.com/millrace/millrace/internal/analytics/export"
	"github.com/millrace/millrace/internal/analytics/export/download"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
)

// ranged is a request for what web_1 has in a range around noon.
func ranged(format string, change ...func(*export.Request)) *export.Request {
	at := time.UnixMilli(clickhousetest.Noon).UTC()
	r := &export.Request{WebsiteID: "web_1", Format: format, Start: at.AddDate(0, -2, 0), End: at.AddDate(0, 2, 0)}
	for _, f := range change {
		f(r)
	}
	return r
}

func mustExport(t *testing.T, r *export.Request) *export.Query {
	t.Helper()
	q, err := export.NewQuery(r)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// exported exports to w.
func exported(t *testing.T, cfg config.ClickHouse, w io.Writer, r *export.Request) {
	t.Helper()
	source := NewExporter(cfg)
	defer source.Close()
	exportedFrom(t, source, w, r)
}

func exportedFrom(t *testing.T, source export.Source, w io.Writer, r *export.Request) {
	t.Helper()
	exporter := download.NewExporter(download.Config{}, source, prometheus.NewRegistry())
	x, err := exporter.Begin("org_1", "key_1", mustExport(t, r))
	if err != nil {
		t.Fatal(err)
	}
	defer x.End()
	if err := x.Write(t.Context(), w); err != nil {
		t.Fatal(err)
	}
}

// lines are the rows of an export.
func lines(t *testing.T, cfg config.ClickHouse, change ...func(*export.Request)) []map[string]any {
	t.Helper()
	var b bytes.Buffer
	exported(t, cfg, &b, ranged("ndjson", change...))
	var all []map[string]any
	for line := range bytes.Lines(b.Bytes()) {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, m)
	}
	return all
}

func TestEveryColumnThatAnExportHasIsStored(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	sent := map[string][]any{} // by what the field is said to be, as a column is
	e := clickhousetest.WebEvent("e", record.TypePageView, "screen_view", func(e *record.Event) {
		e.Namespace, e.Source, e.Properties = []byte("shop"), []byte("web"), []byte(`{"a":1}`)
		e.AnonymousID, e.SessionID, e.ProfileID, e.Path = []byte("anon"), []byte("sess"), []byte("prof"), []byte("/p")
		e.RawMillis, e.HasRaw = 1, true
		for n := range record.NumWebTexts {
			e.Web.Texts[n] = fmt.Appendf(nil, "t%d", n)
			sent[record.WebTexts[n].Help] = append(sent[record.WebTexts[n].Help], fmt.Sprintf("t%d", n))
		}
		for n := range record.NumWebNumbers {
			e.Web.Set(record.WebNumber(n), float64(n+1))
			sent[record.WebNumbers[n].Help] = append(sent[record.WebNumbers[n].Help], float64(n+1))
		}
	})
	apart := []string{
		"owner_id", "organization_id", "event_date", "received_at_inv", "event_key", "measured", "_topic", "_partition",
		"_offset", "schema_v",
	}
	for table, topic := range map[*schema.Table]string{
		&schema.Events: record.TopicEvents, &schema.Errors: record.TopicErrors, &schema.Vitals: record.TopicVitals,
	} {
		stagetest.InsertTo(t, cfg, topic, table.Name, e)
		kind := export.KindOf(table.Name)
		for _, c := range table.Columns {
			if kind.Column(c.Name) == nil && !slices.Contains(apart, c.Name) {
				t.Errorf("%s.%s is not exported", table.Name, c.Name)
			}
		}
		rows := lines(t, cfg, func(r *export.Request) { r.Kind = table.Name })
		if len(rows) != 1 || len(rows[0]) != len(kind.Columns) {
			t.Fatalf("%s: %v", table.Name, rows)
		}
		for name, want := range map[string]any{
			"event_id": "e", "name": "screen_view", "website_id": "web_1", "path": "/p", "raw_time": "1970-01-01T00:00:00.001Z",
			"session_id": "sess",
		} {
			if got := rows[0][name]; got != want {
				t.Errorf("%s.%s is %v, want %v", table.Name, name, got, want)
			}
		}
		for _, c := range table.Columns {
			if kind.Column(c.Name) != nil && c.Web && !slices.Contains(sent[c.Doc], rows[0][c.Name]) {
				t.Errorf("%s.%s is %v, want one of %v", table.Name, c.Name, rows[0][c.Name], sent[c.Doc])
			}
		}
	}
}

func TestWhatWasNotSentIsNotExported(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	stagetest.InsertTo(t, cfg, record.TopicEvents, "1",
		clickhousetest.WebEvent("zero", record.TypePageExit, "page_exit",
			func(e *record.Event) { e.Web.Set(record.TimeOnPage, 0) }))
	stagetest.InsertTo(t, cfg, record.TopicErrors, "2", clickhousetest.WebEvent("error", record.TypeError, "TypeError"))
	for kind, want := range map[string]map[string]any{
		"events": {
			"event_id": "zero", "name": "page_exit", "type": record.TypePageExit, "website_id": "web_1",
			"event_time": "2026-03-05T12:00:00.000Z", "received_at": "2026-03-05T12:00:01.000Z", "time_on_page": 0.0,
		},
		"errors": {
			"event_id": "error", "name": "TypeError", "website_id": "web_1",
			"event_time": "2026-03-05T12:00:00.000Z", "received_at": "2026-03-05T12:00:01.000Z",
		},
	} {
		rows := lines(t, cfg, func(r *export.Request) { r.Kind = kind })
		for _, name := range []string{"event_time", "received_at"} {
			column := map[string]int64{"event_time": clickhousetest.Noon, "received_at": clickhousetest.Received}[name]
			want[name] = time.UnixMilli(column).UTC().Format("2006-01-02T15:04:05.000Z")
		}
		want["cursor"] = rows[0]["cursor"]
		if diff := cmp.Diff([]map[string]any{want}, rows); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}

// TestAnExportHasEachEventOnce stores every event in two versions, in parts that
// nothing merges, beside those of others, and exports in pages of every kind.
func TestAnExportHasEachEventOnce(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	for _, table := range []string{"events"} {
		clickhousetest.Run(t, cfg, "SYSTEM STOP MERGES "+table)
	}
	const day = 24 * 60 * 60 * 1000
	type key struct {
		day      int64
		name, id string
	}
	want := map[string]key{}
	for version := range 2 {
		for month := range 2 {
			var events []*record.Event
			for i := range 30 {
				id := fmt.Sprintf("%d_%d", month, i)
				k := key{int64(i%4 + 20*month), fmt.Sprintf("name %d", i%3), id}
				want[id] = k
				events = append(events, clickhousetest.AnEvent(id, func(e *record.Event) {
					e.Name, e.TimeMillis, e.ReceivedAt = []byte(k.name), clickhousetest.Noon+k.day*day, clickhousetest.Received+
						int64(version)
					e.Path = []byte(strconv.Itoa(version))
				}), clickhousetest.AnEvent(id, func(e *record.Event) {
					e.Owner, e.Website, e.TimeMillis = []byte("web_2"), []byte("web_2"), clickhousetest.Noon+k.day*day
				}))
			}
			byMonth := map[time.Month][]*record.Event{}
			for _, e := range events {
				m := time.UnixMilli(e.TimeMillis).UTC().Month()
				byMonth[m] = append(byMonth[m], e)
			}
			for m, some := range byMonth {
				stagetest.InsertTo(t, cfg, record.TopicEvents, fmt.Sprintf("%d %d %d", version, month, m), some...)
			}
		}
	}
	all := lines(t, cfg)
	if len(all) != len(want) {
		t.Fatalf("%d rows, want %d", len(all), len(want))
	}
	var before string
	for _, row := range all {
		k, ok := want[row["event_id"].(string)]
		if !ok || row["path"] != "0" || row["website_id"] != "web_1" {
			t.Fatalf("row %v is a second one, a later version or another website's", row)
		}
		delete(want, k.id)
		at := row["event_time"].(string)[:10] + row["name"].(string)
		if at < before {
			t.Errorf("%s comes after %s", at, before)
		}
		before = at
	}
	for i, row := range all {
		rest := lines(t, cfg, func(r *export.Request) { r.Cursor, r.Limit = row["cursor"].(string), i%7+1 })
		if diff := cmp.Diff(all[i+1:min(len(all), i+1+i%7+1)], rest); diff != "" && len(rest)+i+1 != len(all) {
			t.Fatalf("after row %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestARangeHasItsStartAndNotItsEnd(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	at := func(id string, millis int64) *record.Event {
		return clickhousetest.AnEvent(id, func(e *record.Event) { e.TimeMillis = millis })
	}
	stagetest.InsertTo(t, cfg, record.TopicEvents, "1", at("before", clickhousetest.Noon-1),
		at("start", clickhousetest.Noon), at("last", clickhousetest.Noon+999), at("end", clickhousetest.Noon+1000))
	var ids []string
	for _, row := range lines(t, cfg, func(r *export.Request) {
		r.Start, r.End, r.Columns = time.UnixMilli(clickhousetest.Noon),
			time.UnixMilli(clickhousetest.Noon+1000), []string{"event_id"}
	}) {
		ids = append(ids, row["event_id"].(string))
	}
	if slices.Sort(ids); strings.Join(ids, " ") != "last start" {
		t.Errorf("got %v", ids)
	}
}

// manyRows stores n events of web_1 on four days, in several parts. Their properties
// hold a text, which is an expression of SQL.
func manyRows(t *testing.T, cfg config.ClickHouse, n int, text string) {
	t.Helper()
	for part := range 3 {
		clickhousetest.Run(t, cfg, fmt.Sprintf(`INSERT INTO events (owner_id, website_id, event_date, event_time, received_at_inv, name, type, event_key, event_id, path, properties, browser, measured, value)
SELECT 'web_1', 'web_1', toDate(fromUnixTimestamp64Milli(%[1]d, 'UTC')) + number %% 4 AS d, toDateTime64(d, 3, 'UTC') + number %% 86400, number, 'n' || toString(number %% 9), 'custom',
    cityHash64(number), toString(number), '/p/' || toString(number), concat('{"a":"', %[2]s, '"}'), 'Firefox', 1, number
FROM numbers(%[3]d, %[4]d)`, clickhousetest.Noon, text, part*n/3, n/3))
	}
}

func explain(t *testing.T, cfg config.ClickHouse, what string, q *export.Query) string {
	t.Helper()
	c, err := clickhouse.Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var text proto.ColStr
	var all strings.Builder
	if err := c.Do(t.Context(), ch.Query{
		Body: "EXPLAIN " + what + " " + exportSQL(q), Parameters: exportParameters(q), Settings: exportSettings(t.Context()),
		Result: proto.Results{{Name: "explain", Data: &text}},
		OnResult: func(context.Context, proto.Block) error {
			return text.ForEach(func(_ int, line string) error {
				all.WriteString(line + "\n")
				return nil
			})
		},
	}); err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func TestAnExportSortsNothingAndACursorSkipsWhatLiesBefore(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	manyRows(t, cfg, 90_000, "'a'")
	q := mustExport(t, ranged("ndjson"))
	if text := explain(t, cfg, "PIPELINE", q); !strings.Contains(text, "InOrder") ||
		strings.Contains(text, "PartialSorting") {
		t.Errorf("rows are not read in the table's order:\n%s", text)
	}
	granules := func(q *export.Query) int {
		var n int
		for line := range strings.Lines(explain(t, cfg, "indexes = 1", q)) {
			if _, counts, found := strings.Cut(line, "Granules: "); found {
				text, _, _ := strings.Cut(strings.TrimSpace(counts), "/")
				n, _ = strconv.Atoi(text)
			}
		}
		return n
	}
	q.After = &export.RowKey{Day: uint16(time.UnixMilli(clickhousetest.Noon).Unix()/86400 + 3), Name: "n7", Key: 1 << 63}
	whole, rest := granules(mustExport(t, ranged("ndjson"))), granules(q)
	if rest == 0 || rest > whole/2 {
		t.Errorf("%d of %d granules are read for the last rows", rest, whole)
	}
}

// running counts the statements of a database that the server works on.
func running(t *testing.T, cfg config.ClickHouse) string {
	t.Helper()
	return clickhousetest.Column(t, cfg,
		"toString(countIf(query LIKE '%toUInt16(e.event_date)%' AND query NOT LIKE '%countIf%'))",
		"system.processes WHERE current_database = '"+cfg.Database+"'")[0]
}

func TestAnExportThatIsCalledOffEndsOnTheServer(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	// More than the sockets between hold, which nothing compresses: else the server may be
	// done before anybody looks.
	manyRows(t, cfg, 15_000, "hex(randomString(1000))")
	x := NewExporter(cfg)
	defer x.Close()
	broken := errors.New("the client is gone")
	blocks := 0
	for name, each := range map[string]func(context.CancelFunc) error{
		"by its writer":  func(context.CancelFunc) error { return broken },
		"by its context": func(cancel context.CancelFunc) error { cancel(); return nil },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		err := x.Read(ctx, mustExport(t, ranged("ndjson")), func(*export.Block) error {
			if blocks++; running(t, cfg) != "1" {
				t.Errorf("%s: the server works on %s exports", name, running(t, cfg))
			}
			return each(cancel)
		})
		cancel()
		if !errors.Is(err, broken) && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		testkit.Eventually(t, time.Minute, func() error {
			if n := running(t, cfg); n != "0" {
				return fmt.Errorf("%s: the server still works on %s exports", name, n)
			}
			return nil
		})
	}
}

func TestAServerThatIsAwayIsUnavailableToAnExport(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	cfg := config.Default().ClickHouse
	cfg.Addr = []string{l.Addr().String()}
	err = NewExporter(cfg).Read(t.Context(), mustExport(t, ranged("csv")), func(*export.Block) error { return nil })
	if !errors.Is(err, export.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

// weighed is a source that notes how large the heap is whenever a block was made
// something of.
type weighed struct {
	export.Source

	top uint64
}

// Read implements export.Source.
func (m *weighed) Read(ctx context.Context, q *export.Query, each func(*export.Block) error) error {
	return m.Source.Read(ctx, q, func(b *export.Block) error {
		err := each(b)
		m.top = max(m.top, heap())
		return err
	})
}

// heap is the memory of objects, with those that are garbage and not yet freed.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// TestTheMemoryOfAnExportIsBounded exports far more than it may take, of the
// widest rows that may be stored.
func TestTheMemoryOfAnExportIsBounded(t *testing.T) { //nolint:paralleltest // measures the heap
	cfg := stagetest.Migrated(t)
	const most = 48 << 20
	manyRows(t, cfg, 4_500, "repeat(char(97 + number % 26), 32768)") // three times that
	source := NewExporter(cfg)
	defer source.Close()
	// How much garbage lies about is a matter of chance unless it is collected at once.
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	for _, format := range export.FormatNames() {
		runtime.GC()
		before, m := heap(), &weighed{Source: source}
		exportedFrom(t, m, io.Discard, ranged(format))
		if m.top = max(m.top, heap()); m.top > before+most {
			t.Errorf("%s: the heap grew by %d MiB", format, (m.top-before)>>20)
		}
		t.Logf("%s: the heap grew by %d MiB", format, (m.top-before)>>20)
	}
}
