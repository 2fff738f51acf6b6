package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/platform/control"
)

var errEnough = errors.New("enough")

// followed writes records before and while the topic is followed, and returns
// the batches until the last of them was read.
func followed(t *testing.T, before, since []string) []string {
	t.Helper()
	_, cfg := kafkatest.Cluster(t)
	if _, err := EnsureTopics(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	producer, err := NewProducer(cfg,
		ProducerDeps{Client: "test", Deadline: time.Minute, Log: log, Metrics: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close(t.Context())
	write := func(values []string) {
		for _, v := range values {
			if err := producer.Publish(t.Context(),
				[]record.Record{{Topic: control.Topic, Key: []byte("k"), Value: []byte(v), Time: time.Now()}}); err != nil {
				t.Error(err)
			}
		}
	}
	write(before)
	var got []string
	left := len(since)
	err = NewControlSource(cfg, "test", log).Follow(t.Context(), func(_ context.Context, b control.Delivery) error {
		text := fmt.Sprintf("%q first=%t end=%t", b.Values, b.First, b.End)
		if b.First {
			got = append(got, text)
			write(since)
			return nil
		}
		for _, v := range b.Values {
			got = append(got, string(v))
		}
		if left -= len(b.Values); left > 0 {
			return nil
		}
		got = append(got, fmt.Sprintf("end=%t", b.End))
		return errEnough
	})
	if !errors.Is(err, errEnough) {
		t.Errorf("Follow() = %v, want what it was told", err)
	}
	return got
}

func TestControlTopicIsReadFromItsLastRecordOn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ before, since, want []string }{
		"empty":  {nil, []string{"a", "b"}, []string{`[] first=true end=true`, "a", "b", "end=true"}},
		"one":    {[]string{"x"}, []string{"a"}, []string{`["x"] first=true end=true`, "a", "end=true"}},
		"longer": {[]string{"x", "y", "z"}, []string{"a", "b"}, []string{`["z"] first=true end=true`, "a", "b", "end=true"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, followed(t, tc.before, tc.since)); diff != "" {
				t.Errorf("what was read (-want +got):\n%s", diff)
			}
		})
	}
}

func TestControlTopicWithSeveralPartitionsIsRejected(t *testing.T) {
	t.Parallel()
	cluster, cfg := kafkatest.Cluster(t)
	if err := cluster.CreateTopic(control.Topic, 2, nil); err != nil {
		t.Fatal(err)
	}
	err := NewControlSource(cfg, "test", slog.New(slog.DiscardHandler)).Follow(t.Context(),
		func(context.Context, control.Delivery) error { return nil })
	if !errors.Is(err, errPartitions) {
		t.Errorf("Follow() = %v, want %v", err, errPartitions)
	}
}
