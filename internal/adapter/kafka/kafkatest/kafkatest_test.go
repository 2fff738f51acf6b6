package kafkatest_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
)

func TestAClusterTakesAndGivesRecords(t *testing.T) {
	t.Parallel()
	_, cfg := kafkatest.Cluster(t, kfake.SeedTopics(kafkatest.Partitions, "x"))
	client, err := kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...), kgo.ConsumeTopics("x"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "x", Value: []byte("hello")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	fetches := client.PollFetches(t.Context())
	if err := fetches.Err(); err != nil {
		t.Fatal(err)
	}
	if got := string(fetches.Records()[0].Value); got != "hello" {
		t.Errorf("the record reads %q, want hello", got)
	}
}

func TestAClusterMakesNoTopicByItself(t *testing.T) {
	t.Parallel()
	_, cfg := kafkatest.Cluster(t)
	client, err := kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...), kgo.AllowAutoTopicCreation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	topics, err := kadm.NewClient(client).ListTopics(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if topics.Has("x") {
		t.Error("asking about a topic has made it")
	}
}
