package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/testkit"
)

// watched is a TopicWatch and what it logs and counts.
type watched struct {
	*TopicWatch

	reg *prometheus.Registry
	log *lockedBuilder
}

// lockedBuilder keeps what is logged.
type lockedBuilder struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuilder) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// take returns what was logged since the last call.
func (l *lockedBuilder) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.b.Reset()
	return l.b.String()
}

func watchTopics(cfg config.Kafka, topics ...string) watched {
	w := watched{reg: prometheus.NewRegistry(), log: &lockedBuilder{}}
	w.TopicWatch = NewTopicWatch(cfg, time.Hour, TopicWatchDeps{
		Client: "test", Log: slog.New(slog.NewTextHandler(w.log, nil)), Metrics: w.reg, Topics: topics,
	})
	return w
}

// alterTopic changes a setting of a topic.
func alterTopic(t *testing.T, cfg config.Kafka, topic, key, value string) {
	t.Helper()
	if err := withAdminClient(t.Context(), cfg, func(ctx context.Context, client *kgo.Client) error {
		change := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: key, Value: &value}}
		resp, err := kadm.NewClient(client).AlterTopicConfigs(ctx, change, topic)
		if err != nil {
			return err
		}
		return resp[0].Err
	}); err != nil {
		t.Fatal(err)
	}
}

// threeBrokers is a cluster with all topics, three replicas each.
func threeBrokers(t *testing.T) config.Kafka {
	t.Helper()
	_, cfg := kafkatest.Cluster(t, kfake.NumBrokers(3))
	cfg.Replication = 3
	if _, err := EnsureTopics(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestATopicThatBreaksThePromiseIsRejectedUntilItIsMadeGood(t *testing.T) {
	t.Parallel()
	cfg := threeBrokers(t)
	w := watchTopics(cfg)
	if err := w.Check(t.Context()); err != nil {
		t.Fatalf("Check() of topics as they are created = %v", err)
	}
	if out := w.log.take(); out != "" {
		t.Errorf("of topics as they are created it logs\n%s", out)
	}
	alterTopic(t, cfg, record.TopicEvents, "min.insync.replicas", "1")
	const command = "kafka-configs.sh --alter --entity-type topics --entity-name events.v1 " +
		"--add-config 'min.insync.replicas=[2]'"
	for i := range 2 {
		err := w.Check(t.Context())
		if !errors.Is(err, ErrUnsafeTopics) || !strings.Contains(err.Error(), command) {
			t.Errorf("Check() = %v, want ErrUnsafeTopics with the command", err)
		}
		if out := w.log.take(); strings.Contains(out, "level=ERROR") != (i == 0) {
			t.Errorf("look %d logs %q, want one error when it comes", i, out)
		}
	}
	if err := testutil.GatherAndCompare(w.reg, strings.NewReader(`
# HELP millrace_kafka_topic_defects 1 for each wrong setting of a topic. severity is breaks, refuses or weakens.
# TYPE millrace_kafka_topic_defects gauge
millrace_kafka_topic_defects{client="test",setting="min.insync.replicas",severity="breaks",topic="events.v1"} 1
# HELP millrace_kafka_topics_unchecked Topics whose settings could not be read at the latest check; all of them if no broker answered.
# TYPE millrace_kafka_topics_unchecked gauge
millrace_kafka_topics_unchecked{client="test"} 0
`)); err != nil {
		t.Error(err)
	}
	alterTopic(t, cfg, record.TopicEvents, "min.insync.replicas", "2")
	if err := w.Check(t.Context()); err != nil {
		t.Errorf("Check() of the topic made good = %v", err)
	}
	if out := w.log.take(); !strings.Contains(out, "topic settings corrected") {
		t.Errorf("of the topic made good it logs %q", out)
	}
}

func TestWhatIsAllowedByNameIsWarnedOf(t *testing.T) {
	t.Parallel()
	cfg := threeBrokers(t)
	alterTopic(t, cfg, record.TopicEvents, "cleanup.policy", "compact")
	cfg.AllowWeakTopics = true
	w := watchTopics(cfg)
	if err := w.Check(t.Context()); err != nil {
		t.Errorf("Check() = %v", err)
	}
	if out := w.log.take(); !strings.Contains(out, "cleanup.policy=compact") {
		t.Errorf("it logs %q", out)
	}
}

func TestWhoWritesOneTopicIsToldOfThatOneAndNotStopped(t *testing.T) {
	t.Parallel()
	cfg := threeBrokers(t)
	alterTopic(t, cfg, record.TopicEvents, "min.insync.replicas", "1")
	alterTopic(t, cfg, control.Topic, "min.insync.replicas", "1")
	w := watchTopics(cfg, control.Topic)
	if err := w.Check(t.Context()); err != nil {
		t.Errorf("Check() = %v", err)
	}
	out := w.log.take()
	if !strings.Contains(out, "control.v1 has min.insync.replicas=1") || strings.Contains(out, "events.v1") {
		t.Errorf("it logs\n%s", out)
	}
}

func TestAStartWaitsForATopicToBeMadeGood(t *testing.T) {
	t.Parallel()
	cfg := threeBrokers(t)
	alterTopic(t, cfg, record.TopicEvents, "cleanup.policy", "compact")
	w, ready := watchTopics(cfg), &lifecycle.Readiness{}
	done := make(chan error, 1)
	go func() {
		done <- lifecycle.AwaitServers(t.Context(), slog.New(slog.DiscardHandler), ready, Awaited(cfg, w.Check))
	}()
	testkit.Eventually(t, time.Minute, func() error {
		if err := ready.Err(t.Context()); !errors.Is(err, ErrUnsafeTopics) {
			return fmt.Errorf("it waits for %w", err)
		}
		return nil
	})
	select {
	case err := <-done:
		t.Fatalf("it starts all the same, %v", err)
	default:
	}
	alterTopic(t, cfg, record.TopicEvents, "cleanup.policy", "delete")
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A look that fails changes nothing: neither does it stop a process, nor does it let one
// go on whose topics were found to be unsafe.
func TestALookThatFailsLeavesWhatWasKnown(t *testing.T) {
	t.Parallel()
	cfg := threeBrokers(t)
	good, bad := watchTopics(cfg), watchTopics(cfg)
	if err := good.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	alterTopic(t, cfg, record.TopicEvents, "min.insync.replicas", "1")
	if err := bad.Check(t.Context()); err == nil {
		t.Fatal("the topic is accepted")
	}
	good.log.take()
	good.cfg.Brokers, bad.cfg.Brokers = []string{"127.0.0.1:1"}, []string{"127.0.0.1:1"}
	for i := range 2 {
		if err := good.Check(t.Context()); err != nil {
			t.Errorf("Check() without brokers = %v", err)
		}
		if out := good.log.take(); strings.Contains(out, "cannot be checked") != (i == 0) {
			t.Errorf("look %d logs %q, want the reason once", i, out)
		}
	}
	if err := testutil.GatherAndCompare(good.reg, strings.NewReader(fmt.Sprintf(`
# HELP millrace_kafka_topics_unchecked Topics whose settings could not be read at the latest check; all of them if no broker answered.
# TYPE millrace_kafka_topics_unchecked gauge
millrace_kafka_topics_unchecked{client="test"} %d
`, len(Topics)))); err != nil {
		t.Error(err)
	}
	if err := bad.Check(t.Context()); !errors.Is(err, ErrUnsafeTopics) {
		t.Errorf("Check() of an unsafe topic, without brokers = %v", err)
	}
}

func TestWhoMayNotReadSettingsGoesOn(t *testing.T) {
	t.Parallel()
	cfg := kafkatest.Secured(t, "alice")
	if _, err := EnsureTopics(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if err := withAdminClient(t.Context(), cfg, func(ctx context.Context, client *kgo.Client) error {
		_, err := kadm.NewClient(client).CreateACLs(ctx, kadm.NewACLs().Topics("*").Operations(kadm.OpDescribe).
			Allow("User:alice").AllowHosts().ResourcePatternType(kadm.ACLPatternLiteral))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	cfg.SASL.User = "alice"
	w := watchTopics(cfg)
	if err := w.Check(t.Context()); err != nil {
		t.Errorf("Check() = %v", err)
	}
	if out := w.log.take(); !strings.Contains(out, "the user needs DESCRIBE_CONFIGS") {
		t.Errorf("it logs %q", out)
	}
}
