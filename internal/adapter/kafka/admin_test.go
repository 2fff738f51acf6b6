package kafka

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/platform/config"
)

func TestMissingTopicsAreNamedWithTheCommandThatCreatesThem(t *testing.T) {
	t.Parallel()
	c, cfg := kafkatest.Cluster(t)
	cfg.TopicPrefix = "acme."
	if err := c.CreateTopic("acme.events.v1", 1, nil); err != nil {
		t.Fatal(err)
	}
	missing := []string{
		"acme.events.backfill.v1", "acme.vitals.v1", "acme.errors.v1", "acme.identities.v1", "acme.ingestion.v1",
		"acme.clicks.v1", "acme.exposures.v1", "acme.events.v1.dlq", "acme.events.backfill.v1.dlq", "acme.vitals.v1.dlq",
		"acme.errors.v1.dlq", "acme.identities.v1.dlq", "acme.ingestion.v1.dlq", "acme.clicks.v1.dlq",
		"acme.exposures.v1.dlq",
		"acme.dlq.marks.v1", "acme.control.v1",
	}
	want := "missing topics: " + strings.Join(missing, ", ") + `; create them with "millrace topics create"`
	if err := CheckTopics(t.Context(), cfg); err == nil || err.Error() != want {
		t.Errorf("CheckTopics() = %v, want %s", err, want)
	}
	created, err := EnsureTopics(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(missing, created); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
	if err := CheckTopics(t.Context(), cfg); err != nil {
		t.Errorf("after creation: %v", err)
	}
	if again, err := EnsureTopics(t.Context(), cfg); err != nil || len(again) > 0 {
		t.Errorf("a second time: created %v, %v", again, err)
	}
}

func TestTopicsAreCreatedAsTheTableSays(t *testing.T) {
	t.Parallel()
	c, cfg := kafkatest.Cluster(t)
	if _, err := EnsureTopics(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	for _, topic := range Topics {
		info, partitions := c.TopicInfo(topic.Name), kafkatest.Partitions
		if topic.Partitions > 0 {
			partitions = int(topic.Partitions)
		}
		if info == nil || len(c.PartitionInfos(topic.Name)) != partitions || info.NumReplicas != kafkatest.Replication {
			t.Fatalf("%s: %+v", topic.Name, info)
		}
		for key, want := range topic.settings(kafkatest.Replication) {
			if got := info.Configs[key]; got == nil || *got != *want {
				t.Errorf("%s: %s is not %s", topic.Name, key, *want)
			}
		}
	}
	if got := *Topics[0].settings(3)["min.insync.replicas"]; got != "2" {
		t.Errorf("min.insync.replicas of three replicas = %s, want 2", got)
	}
	if partitionsOf(config.Kafka{}, &Topics[0]) != 64 || replicationOf(config.Kafka{}) != 3 {
		t.Errorf("defaults are %d partitions and %d replicas, want 64 and 3",
			partitionsOf(config.Kafka{}, &Topics[0]), replicationOf(config.Kafka{}))
	}
}

func TestTopicsOfABrokerThatIsAwayAreAnErrorThatNamesIt(t *testing.T) {
	t.Parallel()
	c, cfg := kafkatest.Cluster(t)
	c.Close()
	start := time.Now()
	err := CheckTopics(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), cfg.Brokers[0]) {
		t.Errorf("CheckTopics() = %v, want an error that names %s", err, cfg.Brokers[0])
	}
	if took := time.Since(start); took > adminTimeout+5*time.Second {
		t.Errorf("it took %s", took)
	}
	if err := CheckTopics(t.Context(), config.Kafka{}); err == nil {
		t.Error("no brokers at all are no error")
	}
}
