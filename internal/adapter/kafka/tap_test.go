package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/platform/config"
)

var tapStart = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// tapTopic makes a topic with n records, a second apart.
func tapTopic(t *testing.T, n int) (config.Kafka, *kgo.Client) {
	t.Helper()
	_, cfg := kafkatest.Cluster(t, kfake.SeedTopics(kafkatest.Partitions, "x.events.v1", "x.other"))
	cfg.TopicPrefix = "x."
	client, err := kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	for i := range n {
		produceTap(t, client, i)
	}
	return cfg, client
}

func produceTap(t *testing.T, client *kgo.Client, i int) {
	t.Helper()
	rec := &kgo.Record{
		Topic: "x.events.v1", Key: fmt.Appendf(nil, "web_%d", i), Value: fmt.Appendf(nil, `{"n":%02d}`, i),
		Headers:   []kgo.RecordHeader{{Key: "type", Value: []byte("custom")}},
		Timestamp: tapStart.Add(time.Duration(i) * time.Second),
	}
	if err := client.ProduceSync(t.Context(), rec).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func tapOptions() kafka.TapOptions {
	return kafka.TapOptions{Topic: "events.v1", Exit: true, Log: slog.New(slog.DiscardHandler)}
}

func tapValues(t *testing.T, cfg config.Kafka, opts kafka.TapOptions) []string {
	t.Helper()
	var values []string
	err := kafka.Tap(t.Context(), cfg, opts, func(r *kafka.Tapped) error {
		if r.Topic != "events.v1" || r.Header("type") != "custom" || r.Header("none") != "" ||
			!strings.HasPrefix(string(r.Key), "web_") {
			t.Errorf("the record is %+v", r)
		}
		values = append(values, string(r.Value))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(values)
	return values
}

func TestTapReadsWhatIsThereAndEnds(t *testing.T) {
	t.Parallel()
	cfg, _ := tapTopic(t, 20)
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprintf(`{"n":%02d}`, i))
	}
	if diff := cmp.Diff(want, tapValues(t, cfg, tapOptions())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTapOfAnEmptyTopicEndsAtOnce(t *testing.T) {
	t.Parallel()
	cfg, _ := tapTopic(t, 0)
	if got := tapValues(t, cfg, tapOptions()); len(got) != 0 {
		t.Errorf("it read %v", got)
	}
}

func TestTapBeginsAtATime(t *testing.T) {
	t.Parallel()
	cfg, _ := tapTopic(t, 5)
	opts := tapOptions()
	opts.Since = tapStart.Add(3 * time.Second)
	if diff := cmp.Diff([]string{`{"n":03}`, `{"n":04}`}, tapValues(t, cfg, opts)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTapFollowsUntilItIsStopped(t *testing.T) {
	t.Parallel()
	cfg, client := tapTopic(t, 1)
	opts := tapOptions()
	opts.Exit = false
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	err := kafka.Tap(ctx, cfg, opts, func(*kafka.Tapped) error {
		if n++; n == 1 {
			produceTap(t, client, 1) // comes after what was there
		} else {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || n != 2 {
		t.Errorf("it ended after %d records with %v", n, err)
	}
}

func TestTapEndsAtTheMarkerOfATransaction(t *testing.T) {
	t.Parallel()
	cfg, _ := tapTopic(t, 0)
	client, err := kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...), kgo.TransactionalID("x"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	if err := client.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	produceTap(t, client, 7)
	if err := client.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`{"n":07}`}, tapValues(t, cfg, tapOptions())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTapOfAnUnknownTopicNamesThoseThereAre(t *testing.T) {
	t.Parallel()
	cfg, _ := tapTopic(t, 0)
	opts := tapOptions()
	opts.Topic = "event.v1"
	err := kafka.Tap(t.Context(), cfg, opts, func(*kafka.Tapped) error { return nil })
	if err == nil || err.Error() != "unknown topic x.event.v1; the topics are x.events.v1, x.other" {
		t.Errorf("the error is %v", err)
	}
}

func TestTapEndsWithTheErrorOfWhoReads(t *testing.T) {
	t.Parallel()
	cfg, _ := tapTopic(t, 3)
	errFull := errors.New("pipe is closed")
	if err := kafka.Tap(t.Context(), cfg, tapOptions(),
		func(*kafka.Tapped) error { return errFull }); !errors.Is(err, errFull) {
		t.Errorf("the error is %v", err)
	}
}
