// Package ingestion_test proves that what tenants are told about their events is
// what became of them: through the edge's accept path, real topics, sinks and a
// real ClickHouse.
package ingestion_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/query"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/enrich"
	"github.com/millrace/millrace/internal/pipeline/ingest"
	"github.com/millrace/millrace/internal/pipeline/tally"
	"github.com/millrace/millrace/internal/privacy/salt"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/website"
	"github.com/millrace/millrace/tests/harness/stage"
)

func TestMain(m *testing.M) { clickhousetest.Main(m) }

// directory knows one organization with a key and two websites.
type directory struct{ sites []*website.Website }

func (directory) Key(_ context.Context, secret []byte, _ auth.From) (auth.Principal, error) {
	if string(secret) != "key" {
		return auth.Principal{}, apierr.New(apierr.AuthRequired)
	}
	scopes, err := auth.ParseScopes([]string{"track:events"})
	return auth.Principal{Kind: auth.KindKey, OrganizationID: "org_1", KeyID: "key_1", Scopes: scopes}, err
}

func (d directory) ClientWebsite(ctx context.Context, clientID string) (*website.Website, error) {
	return d.Website(ctx, clientID)
}

func (d directory) Website(_ context.Context, ref string) (*website.Website, error) {
	for _, s := range d.sites {
		if s.Accepts(ref, time.Now()) {
			return s, nil
		}
	}
	return nil, website.ErrNotFound
}

func (d directory) Remembered(ref string) *website.Website {
	w, _ := d.Website(context.Background(), ref)
	return w
}

// Salt and PruneSalts are those of a store of salts.
func (directory) Salt(context.Context, time.Time) ([]byte, error) { return []byte("salt"), nil }

func (directory) PruneSalts(context.Context, time.Time) error { return nil }

const crawler = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"

func TestHealthTellsWhatBecameOfEveryEvent(t *testing.T) {
	t.Parallel()
	s := stage.New(t)
	log, registry := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	producer, err := kafka.NewProducer(s.Kafka,
		kafka.ProducerDeps{Client: "edge", Deadline: time.Minute, Log: log, Metrics: registry})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { producer.Close(context.WithoutCancel(t.Context())) })
	enricher, err := enrich.New(enrich.Config{}, enrich.Deps{Log: log, Metrics: registry})
	if err != nil {
		t.Fatal(err)
	}
	sites := directory{[]*website.Website{
		{
			Record:   managed.Record{ID: "web_1", OrganizationID: "org_1"},
			ClientID: "client-1",
			Settings: website.Settings{ExcludedIPs: []string{"192.0.2.7"}},
		},
		{
			Record:   managed.Record{ID: "web_2", OrganizationID: "org_1"},
			ClientID: "client-2",
			Settings: website.Settings{HonorDoNotTrack: true},
		},
	}}
	began := time.Now().UTC()
	now := func() time.Time { return began } // no hour ends meanwhile
	counts := tally.New(tally.Deps{Publisher: producer, Log: log, Metrics: registry, Now: now})
	edge := ingest.New(ingest.Deps{
		Access: sites, Salts: salt.New(sites, log, now), Publisher: producer, Metrics: registry, Enrich: enricher,
		Tally: counts, Now: now,
	})
	send := func(key, site, agent, body string, from string) {
		_, _ = edge.Accept(t.Context(), ingest.Request{ // rejected or not
			Route: ingest.Track, Body: []byte(body), Key: []byte(key), WebsiteID: []byte(site), UserAgent: []byte(agent),
			Addr: netip.MustParseAddr(from), ID: []byte("req"),
		})
	}
	const somewhere = "198.51.100.1"
	send("key", "", "", `[{"name":"a","eventId":"1","websiteId":"web_1"},{"name":"b","eventId":"2","websiteId":"web_1"},{"name":"c","eventId":"1"}]`, somewhere)
	send("key", "web_1", "", `[{"name":"a","eventId":"1"},{"name":"a","eventId":"1"}]`, somewhere) // twice more
	send("", "client-1", "", `[{"name":"x"},{"name":""}]`, somewhere)
	send("", "client-1", "", `{"name":"x"}`, "192.0.2.7")
	send("", "client-1", crawler, `[{"name":"x"},{"name":"y"},{"name":"z"}]`, somewhere)
	send("", "client-2", "", `{"name":"x","websiteId":"client-1"}`, somewhere)
	send("", "unknown", "", `{"name":"x"}`, somewhere)
	_, _ = edge.Accept(t.Context(), ingest.Request{
		Route: ingest.Track, Body: []byte(`[{"name":"x"},{"name":"y"}]`), WebsiteID: []byte("client-2"),
		Signals: website.Signals{DoNotTrack: true}, Addr: netip.MustParseAddr(somewhere), ID: []byte("req"),
	})
	s.Produce(t, stage.Event{ID: "3", Received: now(), Broken: true}) // as an edge with a mistake would

	ended, end := context.WithCancel(t.Context())
	end()
	if err := counts.Run(ended); err != nil {
		t.Fatal(err)
	}
	for topic, group := range map[string]string{
		record.TopicEvents: s.Sink.Group, record.TopicIngestion: s.Sink.Group + "-told",
	} {
		stop := s.StartPipeline(t, topic, group)
		s.CaughtUpPipeline(t, topic, group)
		stop()
	}

	type row = map[string]any
	const layout = "2006-01-02T15:04:05.000Z"
	at, minute := began.Truncate(time.Hour).Format(layout), began.Truncate(time.Minute).Format(layout)
	web1 := row{
		"hour": at, "website_id": "web_1", "accepted": 4., "duplicates": 2., "refused": 2.,
		"refusals": row{"VALIDATION_ERROR": 2.},
		"bots":     3., "excluded": 1., "declined": 0., "dead_lettered": 1., "erased": 0., "last_seen": minute,
	}
	web2 := row{
		"hour": at, "website_id": "web_2", "accepted": 0., "duplicates": 0., "refused": 1.,
		"refusals": row{"ACCESS_DENIED": 1.},
		"bots":     0., "excluded": 0., "declined": 2., "dead_lettered": 0., "erased": 0., "last_seen": minute,
	}
	org := row{
		"hour": at, "website_id": "org_1", "accepted": 1., "duplicates": 0., "refused": 0., "refusals": row{},
		"bots": 0., "excluded": 0., "declined": 0., "dead_lettered": 0., "erased": 0., "last_seen": minute,
	}
	runner := query.NewRunner(s.ClickHouse, query.RunnerConfig{Connections: 2})
	t.Cleanup(runner.Close)
	engine := analytics.NewEngine(analytics.Config{},
		analytics.Deps{Log: log, Metrics: prometheus.NewRegistry(), Runner: runner})
	for _, tc := range []struct {
		subject analytics.Subject
		want    []row
	}{
		{analytics.Subject{Kind: analytics.Website, ID: "web_1"}, []row{web1}},
		{analytics.Subject{Kind: analytics.Website, ID: "web_2"}, []row{web2}},
		{analytics.Subject{Kind: analytics.Organization, ID: "org_1"}, []row{org, web1, web2}},
		{analytics.Subject{Kind: analytics.Organization, ID: "org_2"}, []row{}},
	} {
		got := health(t, engine, analytics.Environment{Subject: tc.subject, Now: now()})
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.subject.ID, diff)
		}
	}
}

// health asks about today.
func health(t *testing.T, engine *analytics.Engine, env analytics.Environment) (rows []map[string]any) {
	t.Helper()
	requests, batch, err := analytics.Decode([]byte(`{"parameters":["ingestion_health"],"preset":"today"}`))
	if err != nil {
		t.Fatal(err)
	}
	plans, err := analytics.Compile(requests, batch, env)
	if err != nil {
		t.Fatal(err)
	}
	r := engine.Execute(t.Context(), plans)[0][0]
	if r.Err != nil {
		t.Fatalf("%v\n%s", r.Err, r.Statement.SQL)
	}
	text, _ := r.Table.AppendRows(nil, r.Output.Columns, 0)
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}
