package kafka

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/platform/config"
)

func TestHealthTellsOfEveryTopic(t *testing.T) {
	t.Parallel()
	_, cfg := kafkatest.Cluster(t)
	cfg.TopicPrefix = "acme."
	if _, err := EnsureTopics(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	h, err := NewHealth(cfg, slog.New(slog.DiscardHandler), reg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close(t.Context()) }()
	if n, err := testutil.GatherAndCount(reg); err != nil || n != 0 {
		t.Errorf("%d series before brokers were asked, %v", n, err)
	}
	h.look(t.Context())
	kept := 0
	for _, topic := range h.last.Load().topics {
		if topic.topic == "events.v1" && topic.retention < 7*24*time.Hour {
			t.Errorf("events.v1 is kept for %s", topic.retention)
		}
		if topic.retention > 0 {
			kept++
		}
	}
	if n, err := testutil.GatherAndCount(reg); err != nil || n != 1+3*len(Topics)+kept {
		t.Errorf("%d series of %d topics, %d of them with a retention, %v", n, len(Topics), kept, err)
	}
}

func TestPartitionsThatCannotBeWrittenAreTold(t *testing.T) {
	t.Parallel()
	two, week := "2", "604800000"
	of := kadm.ResourceConfig{
		Configs: []kadm.Config{{Key: "min.insync.replicas", Value: &two}, {Key: "retention.ms", Value: &week}},
	}
	all := []int32{1, 2, 3}
	got := healthOf("events.v1", kadm.PartitionDetails{
		0: {Leader: 1, Replicas: all, ISR: all},
		1: {Leader: 1, Replicas: all, ISR: []int32{1, 2}},
		2: {Leader: 1, Replicas: all, ISR: []int32{1}},
		3: {Leader: -1, Replicas: all},
	}, of)
	want := topicHealth{topic: "events.v1", leaderless: 1, underMinISR: 1, notReplicated: 3, retention: 7 * 24 * time.Hour}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(topicHealth{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNothingIsToldOfBrokersThatAreAway(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	h, err := NewHealth(config.Kafka{Brokers: []string{"127.0.0.1:1"}}, slog.New(slog.DiscardHandler), reg)
	if err != nil {
		t.Fatal(err)
	}
	h.last.Store(&clusterHealth{brokers: 3})
	h.client.Close() // whatever it is asked fails
	h.look(t.Context())
	if n, err := testutil.GatherAndCount(reg); err != nil || n != 0 {
		t.Errorf("%d series, %v", n, err)
	}
}
