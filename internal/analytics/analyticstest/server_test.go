package analyticstest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/insert"
	"github.com/millrace/millrace/internal/adapter/clickhouse/query"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/analytics/analyticstest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
)

func TestMain(m *testing.M) { clickhousetest.Main(m) }

// server is a ClickHouse database with events, and the engine that asks it.
type server struct {
	engine *analytics.Engine
	events []analyticstest.Event
	dirty  []time.Time
}

// newServer stores the events as the sink does, one block per month.
func newServer(t *testing.T, events []analyticstest.Event) *server {
	t.Helper()
	cfg := clickhousetest.Migrated(t, schema.Migrate)
	inserter := insert.NewInserter(cfg, "")
	t.Cleanup(func() { inserter.Close() })
	for i, e := range inserts(events) {
		blocks := map[string]sink.Block{}
		for j := range e {
			topic := map[string]string{
				"": record.TopicEvents, "vital": record.TopicVitals, "error": record.TopicErrors,
				"identity": record.TopicIdentities,
			}[e[j].Kind]
			if blocks[topic] == nil {
				blocks[topic] = inserter.NewBlock(topic)
			}
			blocks[topic].Append(row(&e[j]))
		}
		for _, block := range blocks {
			if err := inserter.Insert(t.Context(), block, "block "+strconv.Itoa(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	runner := query.NewRunner(cfg, query.RunnerConfig{Connections: 2})
	t.Cleanup(runner.Close)
	return &server{events: events, dirty: twice(events), engine: analytics.NewEngine(analytics.Config{}, analytics.Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Runner: &onceRunner{runner: runner},
	})}
}

// onceRunner runs each statement once, since nothing is stored any more when the first
// is run. A question may well have the statement of another: with tables that count
// ahead and without, beside other parameters and alone. That it has is told by all that
// the server gets, so whatever makes a difference is run.
type onceRunner struct {
	runner analytics.Runner
	known  sync.Map // what returns the table, by statement
}

// Run implements analytics.Runner.
func (r *onceRunner) Run(ctx context.Context, s *analytics.Statement) (*analytics.Table, error) {
	run, _ := r.known.LoadOrStore(fmt.Sprintf("%q %q", s.SQL, s.Params), sync.OnceValues(func() (*analytics.Table, error) {
		return r.runner.Run(ctx, s)
	}))
	return run.(func() (*analytics.Table, error))()
}

// inserts splits events by month and into several blocks, so that sendings of one
// event lie in different parts.
func inserts(events []analyticstest.Event) [][]analyticstest.Event {
	var all [][]analyticstest.Event
	for i, part := range slices.Collect(slices.Chunk(events, 1+len(events)/2)) {
		_ = i
		months := map[string][]analyticstest.Event{}
		for _, e := range part {
			m := e.Time.UTC().Format("2006-01")
			months[m] = append(months[m], e)
		}
		for _, m := range months {
			all = append(all, m)
		}
	}
	return all
}

func row(e *analyticstest.Event) *sink.Row {
	r := &sink.Row{Topic: []byte(record.TopicEvents), Event: &record.Event{
		ID: []byte(e.ID), Organization: []byte(e.Organization), Website: []byte(e.Website), Owner: []byte(e.Owner()),
		Type: []byte(record.TypeCustom), Name: []byte(e.Name), TimeMillis: e.Time.UnixMilli(),
		ReceivedAt:  e.ReceivedAt.UnixMilli(),
		AnonymousID: []byte(e.AnonymousID), ProfileID: []byte(e.ProfileID), SessionID: []byte(e.SessionID),
		Path: []byte(e.Path), Namespace: []byte(e.Namespace), Source: []byte(e.Source), Properties: []byte(e.Properties),
	}}
	if e.Web != nil {
		r.Event.Web = webOf(e)
	}
	r.Hash = record.HashOf(r.Event.Owner, r.Event.ID)
	return r
}

func webOf(e *analyticstest.Event) *record.Web {
	w := new(record.Web)
	for column, text := range e.Web {
		w.Texts[webColumns[column]] = []byte(text)
	}
	if e.Kind == "vital" {
		w.Set(record.Value, e.Value)
	}
	for column, n := range e.Numbers {
		w.Set(webNumbers[column], n)
	}
	if e.Exit >= 0 {
		w.Set(record.TimeOnPage, e.Exit)
	}
	return w
}

var webNumbers = map[string]record.WebNumber{
	"line": record.Line, "col": record.Column, "scroll_depth": record.ScrollDepth, "interactions": record.Interactions,
	"page_count": record.PageCount,
	"load_time":  record.LoadTime, "dom_ready": record.DOMReady, "dom_interactive": record.DOMInteractive,
	"ttfb":        record.TTFB,
	"render_time": record.RenderTime, "redirect_time": record.RedirectTime, "lookup_time": record.LookupTime,
	"rtt": record.RTT, "downlink": record.Downlink,
}

var webColumns = map[string]record.WebText{
	"browser": record.Browser, "os": record.OS, "device": record.Device, "country": record.Country,
	"region": record.Region, "city": record.City,
	"referrer": record.Referrer, "referrer_kind": record.ReferrerKind, "referrer_name": record.ReferrerName,
	"referrer_host": record.ReferrerHost,
	"utm_source":    record.UTMSource, "utm_medium": record.UTMMedium, "utm_campaign": record.UTMCampaign,
	"utm_term":    record.UTMTerm,
	"utm_content": record.UTMContent, "message": record.Message, "filename": record.Filename, "stack": record.Stack,
	"host": record.Host, "title": record.Title, "browser_version": record.BrowserVersion, "os_version": record.OSVersion,
	"language": record.Language,
	"timezone": record.Timezone, "screen": record.Screen, "viewport": record.Viewport, "connection": record.Connection,
	"href": record.Href, "link_text": record.LinkText,
}

// ask runs a body and returns the rows of each parameter of its first request.
func (s *server) ask(t *testing.T, body string, env analytics.Environment) [][]analyticstest.Row {
	t.Helper()
	requests, batch, err := analytics.Decode([]byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	plans, err := analytics.Compile(requests, batch, env)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	var all [][]analyticstest.Row
	for _, r := range s.engine.Execute(t.Context(), plans)[0] {
		if r.Err != nil {
			t.Fatalf("%s: %v\n%s", body, r.Err, r.Statement.SQL)
		}
		var rows []analyticstest.Row
		text, next := r.Table.AppendRows(nil, r.Output.Columns, 0)
		for next < r.Table.Rows {
			text, next = r.Table.AppendRows(text, r.Output.Columns, next)
		}
		if err := json.Unmarshal(text, &rows); err != nil {
			t.Fatalf("%s: %v\n%s", body, err, text)
		}
		all = append(all, rows)
	}
	return all
}

// check compares an answer with the oracle's, from events and from the tables that
// count ahead.
func (s *server) check(t *testing.T, body string, env analytics.Environment, q analyticstest.Question) {
	t.Helper()
	q.Now = env.Now
	want := analyticstest.Result(s.events, q)
	ways := []bool{false, true}
	if typ := analytics.Lookup(q.Type); typ.Rollup == nil {
		ways = ways[:1]
	}
	for _, rollups := range ways {
		env.Rollups, env.Dirty = rollups, s.dirty
		got := s.ask(t, body, env)[0]
		if len(got) == 0 && len(want) == 0 {
			continue
		}
		if len(q.GroupBy) > 0 {
			inAnyOrder(got)
			inAnyOrder(want)
		}
		if diff := diffOf(want, got); diff != "" {
			t.Errorf("%s at %s in %v, rollups %v (-want +got):\n%s",
				body, env.Now.Format(time.RFC3339), env.TimeZone, rollups, diff)
		}
	}
}

// twice are the days on which an event was sent more than once, which the tables
// that count ahead count as often.
func twice(events []analyticstest.Event) []time.Time {
	seen, days := map[string]bool{}, map[time.Time]bool{}
	for i := range events {
		e := &events[i]
		day := e.Time.UTC().Truncate(24 * time.Hour)
		key := strings.Join([]string{e.Kind, e.Owner(), e.Name, e.ID, day.String()}, "\x00")
		if seen[key] {
			days[day] = true
		}
		seen[key] = true
	}
	return slices.SortedFunc(maps.Keys(days), time.Time.Compare)
}

// inAnyOrder puts rows into one order of many.
func inAnyOrder(rows []analyticstest.Row) {
	slices.SortFunc(rows, func(a, b analyticstest.Row) int { return bytes.Compare(quoted(a), quoted(b)) })
}

func quoted(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) //nolint:forbidigo // a mistake in a test
	}
	return b
}
