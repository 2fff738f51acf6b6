// Package stage gives a test a broker and a real ClickHouse of its own, and lets it
// produce events where and as it likes, run a sink, and look at every table. Tests
// of commands use it; the test binary calls clickhousetest.Main.
package stage

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/insert"
	"github.com/millrace/millrace/internal/adapter/clickhouse/ledgerstore"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/privacy/tombstone"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

// Stage is a broker and a ClickHouse of a test's own, and what is done on them.
type Stage struct {
	Kafka      config.Kafka
	ClickHouse config.ClickHouse
	Sink       config.Sink
	Offsets    *kafka.Offsets

	client *kgo.Client
}

// New returns a stage with tables and topics, and nothing in them.
func New(t *testing.T) *Stage {
	t.Helper()
	s := &Stage{ClickHouse: clickhousetest.Migrated(t, schema.Migrate), Sink: config.Default().Sink}
	_, s.Kafka = kafkatest.Cluster(t)
	s.Sink.MaxRows, s.Sink.MaxWait = 10, 10*time.Millisecond
	if _, err := kafka.EnsureTopics(t.Context(), s.Kafka); err != nil {
		t.Fatal(err)
	}
	s.Reconnect(t)
	var err error
	if s.Offsets, err = kafka.NewOffsets(s.Kafka, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Offsets.Close)
	return s
}

// Reconnect lets Produce forget what it knows of topics, such as their partitions.
func (s *Stage) Reconnect(t *testing.T) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Kafka.Brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	s.client = client
}

var errBehind = errors.New("the sink has not stored everything")

// Event is an event as it is produced.
type Event struct {
	ID        string
	Owner     string    // web_1 when empty
	At        time.Time // when it happened; Received when zero
	Received  time.Time // now when zero
	Topic     string    // events.v1 when empty
	Partition int32
	Broken    bool   // its value is no event
	As        string // type; the topic's first when empty
	Profile   string
	Visitor   string // "visitor of " and the ID when empty
}

// Produce publishes events, each into its partition.
func (s *Stage) Produce(t *testing.T, events ...Event) {
	t.Helper()
	records := make([]*kgo.Record, len(events))
	for i, e := range events {
		records[i] = s.record(e)
	}
	if err := s.client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Error(err) // not Fatal: some tests produce beside their own goroutine
	}
}

func (s *Stage) record(e Event) *kgo.Record {
	if e.Received.IsZero() {
		e.Received = time.Now()
	}
	if e.At.IsZero() {
		e.At = e.Received
	}
	if e.Owner == "" {
		e.Owner = "web_1"
	}
	if e.Topic == "" {
		e.Topic = record.TopicEvents
	}
	event := record.Event{
		Version: 1, ID: []byte(e.ID), Organization: []byte("org_1"), Website: []byte(e.Owner), Owner: []byte(e.Owner),
		Type: []byte(record.TypeCustom), Name: []byte("n"), TimeMillis: e.At.UnixMilli(), ReceivedAt: e.Received.UnixMilli(),
		AnonymousID: []byte(cmp.Or(e.Visitor, "visitor of "+e.ID)), SessionID: []byte("s"), ProfileID: []byte(e.Profile),
	}
	if of := cmp.Or(e.As, record.Types(e.Topic)[0]); of != record.TypeCustom {
		event.Type, event.Name, event.Web = []byte(of), []byte(record.Metrics[0]), new(record.Web)
		event.ProfileID = []byte(cmp.Or(e.Profile, "u"))
		event.Properties = []byte(`{"trait":"` + e.ID + `"}`)
		event.Web.Texts[record.Message] = []byte("m")
		event.Web.Set(record.Value, 2)
	}
	if string(event.Type) == record.TypeClick {
		event.Website, event.Name, event.Click = nil, event.Type,
			&record.Click{Link: event.Owner, Visitor: []byte(e.Visitor), Status: 302}
	}
	if string(event.Type) == record.TypePageView {
		event.Name, event.Path = []byte("screen_view"), []byte("/")
	}
	if string(event.Type) == record.TypeExposure {
		event.Name = []byte("flag")
		if e.Visitor == "" { // of a user, else of a visitor
			event.AnonymousID = nil
		} else {
			event.ProfileID = nil
		}
		event.Exposure = &record.Exposure{Variant: []byte("on"), Reason: []byte("split"), Sample: 100}
	}
	value := record.AppendEvent(nil, &event)
	if e.Broken {
		value = []byte("no event")
	}
	header := func(key, value string) kgo.RecordHeader { return kgo.RecordHeader{Key: key, Value: []byte(value)} }
	return &kgo.Record{
		Topic: kafka.TopicName(s.Kafka, e.Topic), Partition: e.Partition, Key: event.Owner, Value: value,
		Timestamp: e.Received,
		Headers: []kgo.RecordHeader{
			header(record.HeaderSchema, e.Topic), header(record.HeaderType, record.TypeCustom),
			header(record.HeaderWebsite, string(event.Website)), header(record.HeaderOrganization, "org_1"),
			header(record.HeaderReceivedAt, strconv.FormatInt(e.Received.UnixMilli(), 10)), header(record.HeaderRequestID, "r"),
			header(record.HeaderEventHash, record.HashOf(event.Owner, event.ID).Hex()),
		},
	}
}

// Start runs a sink of the live pipeline; stop ends it as a deployment would.
func (s *Stage) Start(t *testing.T) (stop func()) {
	t.Helper()
	return s.StartPipeline(t, record.TopicEvents, s.Sink.Group)
}

// StartPipeline is Start for another pipeline.
func (s *Stage) StartPipeline(t *testing.T, topic, group string) (stop func()) {
	t.Helper()
	return s.start(t, []string{topic}, group)
}

func (s *Stage) start(t *testing.T, topics []string, group string) (stop func()) {
	t.Helper()
	log, registry := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	cfg := s.Sink
	cfg.Group = group
	consumer, err := kafka.NewConsumer(s.Kafka, cfg, topics,
		kafka.ConsumerDeps{Client: "sink", Log: log, Metrics: registry})
	if err != nil {
		t.Fatal(err)
	}
	inserter, store := insert.NewInserter(s.ClickHouse, ""), ledgerstore.NewLedger(s.ClickHouse)
	snk, err := sink.New(cfg, sink.Deps{
		Log: log, Metrics: registry, Source: consumer, Reader: consumer, Inserter: inserter, DeadLetters: consumer,
		Ledger:     store,
		Tombstones: tombstone.NewWatch(store, cfg.TombstoneAge, registry),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- snk.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the sink ended with %v", err)
		}
		inserter.Close()
		store.Close()
	}
}

// Store runs a sink until it has stored everything.
func (s *Stage) Store(t *testing.T) {
	t.Helper()
	stop := s.Start(t)
	defer stop()
	s.CaughtUp(t)
}

// StoreWeb is Store for the web pipeline.
func (s *Stage) StoreWeb(t *testing.T) {
	t.Helper()
	s.storeTopics(t, kafka.WebTopics, kafka.WebGroup(s.Sink.Group))
}

// StoreExposures is Store for the pipeline of exposures.
func (s *Stage) StoreExposures(t *testing.T) {
	t.Helper()
	s.storeTopics(t, kafka.ExposureTopics, kafka.ExposureGroup(s.Sink.Group))
}

func (s *Stage) storeTopics(t *testing.T, topics []string, group string) {
	t.Helper()
	stop := s.start(t, topics, group)
	defer stop()
	for _, topic := range topics {
		s.CaughtUpPipeline(t, topic, group)
	}
}

// CaughtUp waits until the live pipeline has stored everything.
func (s *Stage) CaughtUp(t *testing.T) {
	t.Helper()
	s.CaughtUpPipeline(t, record.TopicEvents, s.Sink.Group)
}

// CaughtUpPipeline is CaughtUp for another pipeline.
func (s *Stage) CaughtUpPipeline(t *testing.T, topic, group string) {
	t.Helper()
	testkit.Eventually(t, time.Minute, func() error {
		_, bounds, err := s.Offsets.Describe(t.Context(), topic)
		if err != nil {
			return err
		}
		committed, err := s.Offsets.Committed(t.Context(), group, topic)
		for p, b := range bounds {
			if err == nil && committed[p].Offset < b.End {
				err = errBehind
			}
		}
		return err
	})
}

// Run runs a statement by hand, whatever it answers.
func (s *Stage) Run(t *testing.T, sql string) {
	t.Helper()
	var response proto.Results
	s.query(t, ch.Query{Body: sql, Result: response.Auto()})
}

func (s *Stage) query(t *testing.T, q ch.Query) {
	t.Helper()
	client := harness.DialClickHouse(t, s.ClickHouse)
	defer client.Close()
	if err := client.Do(t.Context(), q); err != nil {
		t.Fatalf("running %q: %v", q.Body, err)
	}
}

// Count returns a number from the database.
func (s *Stage) Count(t *testing.T, what string) uint64 {
	t.Helper()
	var n proto.ColUInt64
	s.query(t,
		ch.Query{Body: "SELECT toUInt64(ifNull(" + what + ", 0)) AS n", Result: proto.Results{{Name: "n", Data: &n}}})
	return n.Row(0)
}

// Merging is for a count that depends on what the server has merged.
const Merging = math.MaxUint64

// Holds compares counts.
func (s *Stage) Holds(t *testing.T, base, final, quarters, days, dirty uint64) {
	t.Helper()
	for _, c := range []struct {
		what string
		want uint64
	}{
		{"(SELECT count() FROM events)", base},
		{"(SELECT count() FROM events FINAL)", final},
		{"(SELECT sum(events) FROM events_15m)", quarters},
		{"(SELECT sum(events) FROM events_1d)", days},
		{"(SELECT count() FROM rollup_dirty FINAL WHERE cleared = 0)", dirty},
	} {
		if got := s.Count(t, c.what); got != c.want && c.want != Merging {
			t.Errorf("%s is %d, want %d", c.what, got, c.want)
		}
	}
}
