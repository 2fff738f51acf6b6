package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/platform/config"
)

// healthEvery is how often brokers are asked how the topics do.
const healthEvery = 30 * time.Second

var (
	healthBrokers = prometheus.NewDesc("millrace_kafka_brokers",
		"Brokers in the cluster metadata. While no broker answers, this metric and the others about "+
			"topics are absent.", nil, nil)
	healthLabels     = []string{"topic"}
	healthLeaderless = prometheus.NewDesc("millrace_kafka_leaderless_partitions",
		"Partitions of a topic without a leader. They can be neither written nor read.", healthLabels, nil)
	healthUnderMinISR = prometheus.NewDesc("millrace_kafka_under_min_isr_partitions",
		"Partitions of a topic with fewer in-sync replicas than min.insync.replicas. They cannot be written.",
		healthLabels, nil)
	healthUnderReplicated = prometheus.NewDesc("millrace_kafka_under_replicated_partitions",
		"Partitions of a topic with an out-of-sync replica.", healthLabels, nil)
	healthRetention = prometheus.NewDesc("millrace_kafka_topic_retention_seconds",
		"Retention of a topic (retention.ms). Absent for a topic that keeps its records forever.", healthLabels, nil)
)

// topicHealth is how the partitions of a topic do.
type topicHealth struct {
	topic                                  string
	leaderless, underMinISR, notReplicated int
	retention                              time.Duration // 0 for ever
}

type clusterHealth struct {
	brokers int
	topics  []topicHealth
}

// Health tells how the topics do, by what brokers say. It is a
// prometheus.Collector; Run keeps it up to date.
type Health struct {
	cfg    config.Kafka
	log    *slog.Logger
	client *kgo.Client
	admin  *kadm.Client
	last   atomic.Pointer[clusterHealth]
	quiet  bool // the last look failed, which was logged
}

// NewHealth returns a Health of a cluster, registered. It connects when it runs;
// Close ends it.
func NewHealth(cfg config.Kafka, log *slog.Logger, reg prometheus.Registerer) (*Health, error) {
	opts, err := ClientOptions(cfg, "health", log, nil)
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("creating the Kafka client: %w", err)
	}
	h := &Health{cfg: cfg, log: log, client: client, admin: kadm.NewClient(client)}
	reg.MustRegister(h)
	return h, nil
}

// Close ends the connections.
func (h *Health) Close(context.Context) error {
	h.client.Close()
	return nil
}

// Run asks until ctx ends.
func (h *Health) Run(ctx context.Context) error {
	tick := time.NewTicker(healthEvery)
	defer tick.Stop()
	for {
		h.look(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (h *Health) look(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	seen, err := h.read(limited)
	if ctx.Err() != nil {
		return
	}
	h.last.Store(seen)
	if err != nil && !h.quiet {
		h.log.LogAttrs(ctx, slog.LevelWarn, "topic health check failed", slog.Any("error", err))
	}
	h.quiet = err != nil
}

func (h *Health) read(ctx context.Context) (*clusterHealth, error) {
	names := make([]string, len(Topics))
	for i, t := range Topics {
		names[i] = TopicName(h.cfg, t.Name)
	}
	seen, err := h.admin.Metadata(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("requesting metadata: %w", err)
	}
	configs, err := h.admin.DescribeTopicConfigs(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("requesting the settings of topics: %w", err)
	}
	cluster := &clusterHealth{brokers: len(seen.Brokers)}
	for i, t := range Topics {
		of, err := configs.On(names[i], nil)
		if detail := seen.Topics[names[i]]; detail.Err == nil && errors.Join(err, of.Err) == nil {
			cluster.topics = append(cluster.topics, healthOf(t.Name, detail.Partitions, of))
		}
	}
	return cluster, nil
}

func healthOf(topic string, partitions kadm.PartitionDetails, of kadm.ResourceConfig) topicHealth {
	t := topicHealth{topic: topic, retention: time.Duration(max(0, numberOf(of, "retention.ms"))) * time.Millisecond}
	least := int(numberOf(of, "min.insync.replicas"))
	for _, p := range partitions {
		switch {
		case p.Leader < 0:
			t.leaderless++
		case len(p.ISR) < least:
			t.underMinISR++
		}
		if len(p.ISR) < len(p.Replicas) {
			t.notReplicated++
		}
	}
	return t
}

// numberOf is 0 for a setting that is not there.
func numberOf(of kadm.ResourceConfig, key string) int64 {
	for _, c := range of.Configs {
		if c.Key == key {
			n, _ := strconv.ParseInt(c.MaybeValue(), 10, 64) // a broker's own number
			return n
		}
	}
	return 0
}

// Describe implements prometheus.Collector.
func (h *Health) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		healthBrokers, healthLeaderless, healthUnderMinISR, healthUnderReplicated, healthRetention,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. Topics are named without prefix, as by
// the sink.
func (h *Health) Collect(ch chan<- prometheus.Metric) {
	last := h.last.Load()
	if last == nil {
		return
	}
	ch <- prometheus.MustNewConstMetric(healthBrokers, prometheus.GaugeValue, float64(last.brokers))
	for _, t := range last.topics {
		gauge := func(d *prometheus.Desc, v float64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, t.topic)
		}
		gauge(healthLeaderless, float64(t.leaderless))
		gauge(healthUnderMinISR, float64(t.underMinISR))
		gauge(healthUnderReplicated, float64(t.notReplicated))
		if t.retention > 0 {
			gauge(healthRetention, t.retention.Seconds())
		}
	}
}
