package edge

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/testkit"
)

// defective names the topics that metrics tell defects of.
func defective(t *testing.T, tel *telemetry.Telemetry) (topics []string) {
	t.Helper()
	families, err := tel.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "millrace_kafka_topic_defects" {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "topic" && !slices.Contains(topics, l.GetValue()) {
					topics = append(topics, l.GetValue())
				}
			}
		}
	}
	return topics
}

// Visitors are redirected whatever becomes of their clicks, so nobody waits for that topic; but it is told.
func TestAnEdgeOfShortLinksAloneTellsOfTheTopicOfClicks(t *testing.T) {
	t.Parallel()
	s := config.Default()
	_, s.Kafka = kafkatest.Cluster(t)
	if _, err := kafka.EnsureTopics(t.Context(), s.Kafka); err != nil {
		t.Fatal(err)
	}
	s.Kafka.Replication = 3 // and the topics have one replica
	s.Store.URL = config.Secret("sqlite:" + filepath.Join(t.TempDir(), "meta.db"))
	s.Ingest.Listen, s.Link.Listen = "", "127.0.0.1:0"
	tel, readiness := telemetry.Discard(), &lifecycle.Readiness{}
	components, err := Components(t.Context(), s, tel, readiness)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := components[0].Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	looks := slices.IndexFunc(components, func(c lifecycle.Component) bool { return c.Name == "settings of topics" })
	if looks < 0 {
		t.Fatal("nobody looks at the settings of topics")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- components[looks].Run(ctx) }()
	testkit.Eventually(t, time.Minute, func() error {
		if told := defective(t, tel); !slices.Equal(told, []string{record.TopicClicks}) {
			return fmt.Errorf("defects are told of %q, want of %s alone", told, record.TopicClicks)
		}
		return nil
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
