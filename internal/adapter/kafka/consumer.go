package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
	"github.com/millrace/millrace/internal/platform/config"
)

const (
	// maxHeartbeat is the longest pause between two heartbeats; it is a tenth of
	// the session timeout when that is shorter.
	maxHeartbeat = 3 * time.Second
	// pollWait ends a poll that brings nothing: a rebalance waits for polls, and a
	// rewind that failed is tried again at the next one.
	pollWait     = 200 * time.Millisecond
	leaveTimeout = 5 * time.Second
)

var (
	errNotOpen   = errors.New("the consumer is not open")
	errNotJoined = errors.New("has not joined the consumer group yet")
)

// ConsumerDeps are the parts a Consumer needs; Log and Metrics are required.
type ConsumerDeps struct {
	// Client names the consumer to brokers and in metrics.
	Client  string
	Log     *slog.Logger
	Metrics prometheus.Registerer
	// Fence says which commits may go out; nil lets those whose membership still stands.
	Fence Fence
}

// Consumer reads topics as a member of a group. It implements sink.Source,
// sink.Reader and sink.DeadLetters.
//
// Partitions move cooperatively: those that stay are not interrupted. An offset
// is committed only on demand, and only for the membership under which the
// records were read. Where committed data is gone from the topic, the partition
// stops and says so; it never jumps.
type Consumer struct {
	cfg    config.Kafka
	sink   config.Sink
	topics map[string]string // name on the broker to name without prefix
	deps   ConsumerDeps
	errs   prometheus.Counter
	moves  *prometheus.CounterVec

	client   *kgo.Client
	admin    *kadm.Client
	opened   chan struct{} // closed when client and admin are set: callbacks may come before
	listener sink.RebalanceListener

	fetcher *fetcher
	stop    context.CancelFunc // ends the fetcher
	stopped chan struct{}      // closed when it has ended
	unpack  unpacker           // of Poll, as are records
	records []buffer.Record    // that are being delivered

	commits commits

	mu      sync.Mutex
	session sink.Session            // of the latest assignment
	owned   map[sink.Partition]bool // what the owner was told it owns
	rewinds map[sink.Partition]rewind
	wake    context.CancelFunc // ends the poll that waits

	beginWait  time.Duration // between the last attempt that failed to begin a partition and the next
	beginAgain time.Time     // when that is
}

// NewConsumer returns a Consumer of topics, named without prefix. It connects
// when it is opened.
func NewConsumer(cfg config.Kafka, sinkCfg config.Sink, topics []string, deps ConsumerDeps) (*Consumer, error) {
	if len(cfg.Brokers) == 0 {
		return nil, errNoBrokers
	}
	labelled := prometheus.WrapRegistererWith(prometheus.Labels{"client": deps.Client}, deps.Metrics)
	metrics := promauto.With(labelled)
	c := &Consumer{
		cfg: cfg, sink: sinkCfg, deps: deps, topics: map[string]string{}, opened: make(chan struct{}),
		owned: map[sink.Partition]bool{}, rewinds: map[sink.Partition]rewind{}, fetcher: newFetcher(packedBytes(sinkCfg)),
		stopped: make(chan struct{}),
		errs: metrics.NewCounter(prometheus.CounterOpts{
			Name: "millrace_kafka_fetch_errors_total",
			Help: "Errors of partitions or of the consumer group returned by a poll.",
		}),
		moves: metrics.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_kafka_group_changes_total",
			Help: "Consumer group changes of this member. change is session (a session began), or assigned, revoked or lost " +
				"(partitions).",
		}, []string{"change"}),
	}
	c.fetcher.export(metrics)
	for _, t := range topics {
		c.topics[TopicName(cfg, t)] = t
	}
	labelled.MustRegister(unfetched{c})
	return c, nil
}

// Open implements sink.Source.
func (c *Consumer) Open(_ context.Context, listener sink.RebalanceListener) error {
	opts, err := ClientOptions(c.cfg, c.deps.Client, c.deps.Log, nil)
	if err != nil {
		return err
	}
	fetches := clientMetrics(prometheus.WrapRegistererWith(prometheus.Labels{"client": c.deps.Client}, c.deps.Metrics))
	c.fetcher.metrics = fetches
	names := make([]string, 0, len(c.topics))
	for name := range c.topics {
		names = append(names, name)
	}
	opts = append(opts,
		kgo.WithHooks(fetches),
		kgo.ConsumerGroup(c.sink.Group),
		kgo.ConsumeTopics(names...),
		kgo.Balancers(kgo.CooperativeStickyBalancer()),
		kgo.SessionTimeout(c.sink.Session),
		kgo.RebalanceTimeout(c.sink.Rebalance),
		kgo.HeartbeatInterval(min(maxHeartbeat, c.sink.Session/10)),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.AdjustFetchOffsetsFn(anywhere),
		kgo.OnPartitionsAssigned(c.assigned),
		kgo.OnPartitionsRevoked(c.revoked),
		kgo.OnPartitionsLost(c.lost),
		// For dead letters: as the edge's producer.
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ProducerBatchCompression(kgo.Lz4Compression()),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
		kgo.ProducerBatchMaxBytes(deadLetterBatchBytes),
	)
	if c.sink.InstanceID != "" {
		opts = append(opts, kgo.InstanceID(c.sink.InstanceID))
	}
	c.listener = listener
	if c.client, err = kgo.NewClient(opts...); err != nil {
		return fmt.Errorf("creating the consumer: %w", err)
	}
	// The client is a member of the group; what it would fetch, the fetcher does.
	c.client.PauseFetchTopics(names...)
	c.admin = kadm.NewClient(c.client)
	c.fetcher.client = c.client
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	go func() {
		defer close(c.stopped)
		c.fetcher.run(ctx)
	}()
	close(c.opened)
	return nil
}

// Close implements sink.Source. A static member does not leave: it is expected
// back within the session timeout.
func (c *Consumer) Close() {
	if c.client == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	if err := c.client.LeaveGroupContext(ctx); err != nil {
		c.deps.Log.LogAttrs(ctx, slog.LevelWarn, "leaving the consumer group failed", slog.Any("error", err))
	}
	c.stop()
	<-c.stopped
	c.client.CloseAllowingRebalance()
}

// Ready returns nil once the group has let this member in.
func (c *Consumer) Ready(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session.Member == "" {
		return errNotJoined
	}
	return nil
}

// Pause implements sink.Source.
func (c *Consumer) Pause(p sink.Partition) { c.fetcher.pause(p, true) }

// Resume implements sink.Source.
func (c *Consumer) Resume(p sink.Partition) { c.fetcher.pause(p, false) }

func (c *Consumer) partition(topic string, index int32) sink.Partition {
	return sink.Partition{Topic: c.topics[topic], Index: index}
}

func (c *Consumer) isRewinding(p sink.Partition) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, rewinds := c.rewinds[p]
	return rewinds
}

func (c *Consumer) currentSession() sink.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}
