package sink_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/clickhouse/ledgerstore"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/deadletter"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/repair"
	"github.com/millrace/millrace/internal/pipeline/verify"
	"github.com/millrace/millrace/internal/platform/config"
	scene "github.com/millrace/millrace/tests/harness/stage"
)

// besides are the topics that have no pipeline with events, in the order of their pipelines.
var besides = slices.Concat(kafka.WebTopics, kafka.ClickTopics, kafka.ExposureTopics)

// webScene is a stage on which the pipelines of these topics are what is tried.
type webScene struct {
	*scene.Stage

	settings config.Settings
	store    *ledgerstore.Store
}

func newWebScene(t *testing.T) *webScene {
	t.Helper()
	s := &webScene{Stage: scene.New(t), settings: config.Default()}
	s.settings.Kafka, s.settings.ClickHouse, s.settings.Sink = s.Kafka, s.ClickHouse, s.Sink
	s.settings.Sink.Lanes = []string{"web", "clicks", "exposures"}
	s.store = ledgerstore.NewStore(s.ClickHouse)
	t.Cleanup(func() { _ = s.store.Close() })
	return s
}

func (s *webScene) pipeline(topic string) repair.Pipeline {
	if slices.Contains(kafka.ClickTopics, topic) {
		return repair.Pipeline{Topic: topic, Group: kafka.ClickGroup(s.Sink.Group)}
	}
	if slices.Contains(kafka.ExposureTopics, topic) {
		return repair.Pipeline{Topic: topic, Group: kafka.ExposureGroup(s.Sink.Group)}
	}
	return repair.Pipeline{Topic: topic, Group: kafka.WebGroup(s.Sink.Group)}
}

// stored runs the daemon until it has stored everything.
func (s *webScene) stored(t *testing.T) {
	t.Helper()
	stop := startDaemon(t, s.settings)
	defer stop()
	for _, topic := range besides {
		s.CaughtUpPipeline(t, topic, s.pipeline(topic).Group)
	}
}

// same compares the topics with the tables.
func (s *webScene) same(t *testing.T) *verify.Report {
	t.Helper()
	o := verify.Options{
		Since: time.Now().Add(-time.Hour), Until: time.Now().Add(time.Minute), Window: time.Hour, Examples: 5,
	}
	for _, topic := range besides {
		o.Pipelines, o.Known = append(o.Pipelines, s.pipeline(topic)), append(o.Known, topic)
	}
	report, err := verify.Run(t.Context(), s.Offsets, s.store, o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func (s *webScene) counts(t *testing.T, want map[string]uint64) {
	t.Helper()
	for what, n := range want {
		if got := s.Count(t, "(SELECT "+what+")"); got != n {
			t.Errorf("%s is %d, want %d", what, got, n)
		}
	}
}

// Each kind lands once in its table, whatever is sent twice, stored twice or
// stopped in between.
func TestEveryTopicBesidesEventsIsStoredOnce(t *testing.T) {
	t.Parallel()
	s := newWebScene(t)
	const events = 60
	for _, topic := range besides {
		var all []scene.Event
		for n := range events {
			e := scene.Event{
				ID: fmt.Sprint("e-", n), Topic: topic, Partition: int32(n % 2), Owner: fmt.Sprint("web_", n%2),
				Profile: fmt.Sprint("u", n%4),
			}
			all = append(all, e, e)
		}
		s.Produce(t, all[:events]...)
		stop := startDaemon(t, s.settings)
		s.Produce(t, all[events:]...)
		stop() // in the middle of it, perhaps
	}
	s.stored(t)
	once := map[string]uint64{
		"count() FROM vitals": events, "count() FROM errors": events, "count() FROM identities": events,
		"count() FROM ingestion_1m": events,
		"count() FROM clicks":       events, "count() FROM flag_exposures": events,
		"sum(clicks) FROM clicks_1d WHERE dimension = 'target'": events,
		"sum(samples) FROM vitals_15m":                          events, "sum(events) FROM errors_15m": events,
		"sum(events) FROM ingestion_1m":                 2 * events,
		"uniqExact(owner_id, profile_id) FROM profiles": 4, "count() FROM profile_traits FINAL": 4,
		"count() FROM aliases FINAL": events,
		"count() FROM events":        0,
		"sum(events) FROM usage_1d":  2 * events,
		"sum(total) FROM vitals_15m": 2 * events,
	}
	s.counts(t, once)
	if r := s.same(t); !r.Same() || r.Total.InBase != 6*events {
		t.Errorf("topics and tables differ: %+v %+v", r.Total, r.Examples)
	}

	// Everything is stored again, under new tokens.
	for _, topic := range besides {
		if _, err := repair.Replay(t.Context(), repair.ReplayDeps{Groups: s.Offsets, Log: s.Offsets, Store: s.store},
			repair.ReplayOptions{Pipeline: s.pipeline(topic)}); err != nil {
			t.Fatal(err)
		}
	}
	s.stored(t)
	s.counts(t, map[string]uint64{
		"count() FROM vitals FINAL": events, "count() FROM errors FINAL": events, "count() FROM identities FINAL": events,
		"sum(events) FROM ingestion_1m FINAL": 2 * events, "count() FROM clicks FINAL": events,
		"count() FROM flag_exposures FINAL": events, "uniqExact(owner_id, profile_id) FROM profiles": 4,
		"count() FROM profile_traits FINAL": 4, "count() FROM aliases FINAL": events,
		"sum(samples) FROM vitals_15m": 2 * events, "count() FROM rollup_dirty FINAL WHERE cleared = 0": 2,
	})
	if r := s.same(t); r.Total.Rollups == 0 || r.Total.Missing+r.Total.Unexpected > 0 {
		t.Errorf("rollups that were doubled are not found: %+v %+v", r.Total, r.Examples)
	}
	var pipelines []repair.Pipeline
	for _, topic := range besides {
		pipelines = append(pipelines, s.pipeline(topic))
	}
	if _, err := repair.Rebuild(t.Context(), repair.RebuildDeps{
		Pipelines: pipelines, Groups: s.Offsets, Log: s.Offsets, Store: s.store, Rollups: s.store,
		Done: func([]ledger.Listed) {},
	}, false); err != nil {
		t.Fatal(err)
	}
	if r := s.same(t); !r.Same() {
		t.Errorf("after a rebuild: %+v %+v", r.Total, r.Examples)
	}
	s.counts(t, map[string]uint64{
		"sum(samples) FROM vitals_15m":                          events,
		"sum(events) FROM errors_15m":                           events,
		"sum(clicks) FROM clicks_1d WHERE dimension = 'target'": events,
	})
}

// What is not of its topic is a dead letter of that topic, and the others go on.
func TestARecordOfAnotherTopicIsADeadLetter(t *testing.T) {
	t.Parallel()
	s := newWebScene(t)
	for _, topic := range besides {
		s.Produce(t, scene.Event{ID: "a", Topic: topic}, scene.Event{ID: "b", Topic: topic, Broken: true},
			scene.Event{ID: "c", Topic: topic, As: record.TypeCustom})
	}
	s.stored(t)
	s.counts(t, map[string]uint64{
		"count() FROM vitals": 1, "count() FROM errors": 1, "count() FROM identities": 1, "count() FROM ingestion_1m": 1,
		"count() FROM clicks": 1, "count() FROM flag_exposures": 1,
		"sum(dead_letters) FROM ingest_ledger": 12,
	})
	for _, topic := range besides {
		_, bounds, err := s.Offsets.Describe(t.Context(), topic+deadletter.Suffix)
		if err != nil {
			t.Fatal(err)
		}
		letters := int64(0)
		for _, b := range bounds {
			letters += b.End - b.Start
		}
		if letters != 2 {
			t.Errorf("%s has %d dead letters, want 2", topic, letters)
		}
	}
	if r := s.same(t); !r.Same() || r.Total.DeadLettered != 12 {
		t.Errorf("topics and tables differ: %+v %+v", r.Total, r.Examples)
	}
}
