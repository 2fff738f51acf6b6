package analyticstest_test

import (
	"encoding/json"
	"log/slog"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/analytics/analyticstest"
	"github.com/millrace/millrace/internal/clickhouse"
	"github.com/millrace/millrace/internal/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/record"
	"github.com/millrace/millrace/internal/sink"
)

func TestMain(m *testing.M) { clickhousetest.Main(m) }

// server is a ClickHouse database with events, and the engine that asks it.
type server struct {
	engine *analytics.Engine
	events []analyticstest.Event
}

// newServer stores the events as the sink does, one block per month.
func newServer(t *testing.T, events []analyticstest.Event) *server {
	t.Helper()
	cfg := clickhousetest.Database(t)
	if err := clickhouse.Migrate(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	inserter := clickhouse.NewInserter(cfg, &clickhouse.Events, "")
	t.Cleanup(func() { inserter.Close() })
	for i, e := range inserts(events) {
		block := inserter.NewBlock()
		for j := range e {
			block.Append(row(&e[j]))
		}
		if err := inserter.Insert(t.Context(), block, "block "+strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
	}
	runner, err := clickhouse.NewRunner(t.Context(), cfg, clickhouse.RunnerConfig{Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(runner.Close)
	return &server{events: events, engine: analytics.NewEngine(analytics.Config{}, analytics.Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Runner: runner,
	})}
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
		Type: []byte(record.TypeCustom), Name: []byte(e.Name), TimeMillis: e.Time.UnixMilli(), ReceivedAt: e.ReceivedAt.UnixMilli(),
		AnonymousID: []byte(e.AnonymousID), ProfileID: []byte(e.ProfileID), SessionID: []byte(e.SessionID),
		Path: []byte(e.Path), Namespace: []byte(e.Namespace), Source: []byte(e.Source), Properties: []byte(e.Properties),
	}}
	r.Hash = record.HashOf(r.Event.Owner, r.Event.ID)
	return r
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
		text := r.Table.AppendRows(nil, r.Statement.Type.Columns)
		if err := json.Unmarshal(text, &rows); err != nil {
			t.Fatalf("%s: %v\n%s", body, err, text)
		}
		all = append(all, rows)
	}
	return all
}

// check compares an answer with the oracle's.
func (s *server) check(t *testing.T, body string, env analytics.Environment, q analyticstest.Question) {
	t.Helper()
	got := s.ask(t, body, env)[0]
	want := analyticstest.Answer(s.events, q)
	if len(got) == 0 && len(want) == 0 {
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s at %s in %v (-want +got):\n%s", body, env.Now.Format(time.RFC3339), env.TimeZone, diff)
	}
}

func quoted(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) //nolint:forbidigo // a mistake in a test
	}
	return b
}
