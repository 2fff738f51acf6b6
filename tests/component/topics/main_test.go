package topics

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ingest"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/privacy/salt"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/website"
	"github.com/millrace/millrace/internal/testkit/services"
	"github.com/millrace/millrace/tests/harness"
)

func TestMain(m *testing.M) { harness.MainBeside(m, 4) }

// atBothBrokers runs a body against kfake and against real Kafka, with topics.
func atBothBrokers(t *testing.T, body func(t *testing.T, cfg config.Kafka)) {
	t.Helper()
	for _, broker := range []struct {
		name string
		get  func(t *testing.T) config.Kafka
	}{
		{"kfake", func(t *testing.T) config.Kafka { t.Helper(); _, cfg := kafkatest.Cluster(t); return cfg }},
		{"Apache Kafka", func(t *testing.T) config.Kafka { t.Helper(); return services.Kafka(t) }},
	} {
		t.Run(broker.name, func(t *testing.T) {
			t.Parallel()
			cfg := broker.get(t)
			if _, err := kafka.EnsureTopics(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
			body(t, cfg)
		})
	}
}

const organization = "org_01K00000000000000000000000"

// tenants is an organization that has every website and no end of rights.
type tenants struct{}

func (tenants) Key(context.Context, []byte, auth.From) (auth.Principal, error) {
	return auth.Principal{Kind: auth.KindKey, OrganizationID: organization, Scopes: auth.AllScopes()}, nil
}

func (tenants) Website(_ context.Context, ref string) (*website.Website, error) {
	return &website.Website{Record: managed.Record{ID: ref, OrganizationID: organization}, ClientID: ref}, nil
}

func (t tenants) ClientWebsite(ctx context.Context, ref string) (*website.Website, error) {
	return t.Website(ctx, ref)
}

func (tenants) Remembered(string) *website.Website { return nil }

func (tenants) Salt(context.Context, time.Time) ([]byte, error) { return make([]byte, 32), nil }
func (tenants) PruneSalts(context.Context, time.Time) error     { return nil }

// edge is the accept path with the real producer.
type edge struct{ *ingest.Acceptor }

func newEdge(t *testing.T, cfg config.Kafka) edge {
	t.Helper()
	log, reg := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	producer, err := kafka.NewProducer(cfg,
		kafka.ProducerDeps{Client: "test", Deadline: time.Minute, Log: log, Metrics: reg})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := producer.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return edge{ingest.New(ingest.Deps{
		Access: tenants{}, Salts: salt.New(tenants{}, log, nil), Publisher: producer, Metrics: reg,
	})}
}

// accept sends a body and expects so many events to be acknowledged.
func (e edge) accept(t *testing.T, websiteID, body string, want int) {
	t.Helper()
	got, err := e.Accept(t.Context(), ingest.Request{
		Route: ingest.Track, Body: []byte(body), Key: []byte("any"), WebsiteID: []byte(websiteID), ID: []byte("req-1"),
		Traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
	})
	if err != nil || got.Count != want {
		t.Fatalf("Accept() = %d, %v, want %d", got.Count, err, want)
	}
}

// readAll returns the first n records of topics, named without prefix.
func readAll(t *testing.T, cfg config.Kafka, n int, topics ...string) []*kgo.Record {
	t.Helper()
	for i := range topics {
		topics[i] = kafka.TopicName(cfg, topics[i])
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...), kgo.ConsumeTopics(topics...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	const patience = time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var all []*kgo.Record
	for len(all) < n {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("reading %v after %d of %d records: %v", topics, len(all), n, err)
		}
		all = append(all, fetches.Records()...)
	}
	return all
}

// asRecord gives a record the form that its contract is written in.
func asRecord(cfg config.Kafka, r *kgo.Record) *record.Record {
	out := &record.Record{Topic: r.Topic[len(cfg.TopicPrefix):], Key: r.Key, Value: r.Value, Time: r.Timestamp}
	for _, h := range r.Headers {
		out.Headers = append(out.Headers, record.Header(h))
	}
	return out
}

func websiteID(n int) string { return fmt.Sprintf("web_01K%023d", n) }
