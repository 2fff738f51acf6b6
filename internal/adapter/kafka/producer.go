package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/telemetry"
)

const (
	// unreachableAfter is how long brokers are away before the producer is no
	// longer ready: shorter outages are for callers to retry.
	unreachableAfter = 30 * time.Second
	pingTimeout      = 2 * time.Second
	// recordOverhead is what a record costs in memory beside its bytes.
	recordOverhead = 512
	// minDelivery is the shortest delivery timeout the client accepts.
	minDelivery = time.Second
)

// Why a publication failed, besides what a broker said.
var (
	errBufferFull = errors.New("the producer's buffer is full")
	errNoAck      = errors.New("not acknowledged within the deadline")
	errTooLate    = errors.New("the deadline passed before anything was sent")
)

// ProducerDeps are the parts a Producer needs; all are required.
type ProducerDeps struct {
	// Client names the producer to brokers and in metrics.
	Client string
	// Deadline is the longest wait for acknowledgements.
	Deadline time.Duration
	Log      *slog.Logger
	Metrics  prometheus.Registerer
}

// Producer publishes records and waits until they are safe. It is safe for
// concurrent use.
type Producer struct {
	client       *kgo.Client
	brokers      string
	prefix       string
	deadline     time.Duration
	max          int64 // bytes of records in flight
	reach        *reach
	metrics      producerMetrics
	publications sync.Pool

	buffered  atomic.Int64
	abandoned atomic.Int64 // of buffered, by publications that were given up

	mu      sync.Mutex
	failing time.Time // when brokers were first found away; zero while they are there
}

// NewProducer returns a Producer. It connects when first used.
func NewProducer(cfg config.Kafka, deps ProducerDeps) (*Producer, error) {
	opts, err := ClientOptions(cfg, deps.Client, deps.Log, deps.Metrics)
	if err != nil {
		return nil, err
	}
	reach := newReach()
	opts = append(opts,
		kgo.WithHooks(reach),               // in addition to those of all clients
		kgo.RequiredAcks(kgo.AllISRAcks()), // and idempotent, which is the client's default
		kgo.WithCompressor(newLz4Compressor()),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), // murmur2, as the Java client
		kgo.ProducerLinger(cfg.Linger),
		// The limit is kept here, for whole publications; the client's own is
		// out of the way.
		kgo.MaxBufferedRecords(cfg.MaxBufferedBytes/recordOverhead+1),
		kgo.MaxBufferedBytes(cfg.MaxBufferedBytes),
		// What nobody waits for any more is dropped as soon as that is safe; the
		// client counts from the record's time, which is that of receipt.
		kgo.RecordDeliveryTimeout(max(deps.Deadline, minDelivery)),
	)
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("creating the Kafka producer: %w", err)
	}
	p := &Producer{
		client: client, brokers: strings.Join(cfg.Brokers, ", "), prefix: cfg.TopicPrefix,
		deadline: deps.Deadline, max: int64(cfg.MaxBufferedBytes), reach: reach,
	}
	p.metrics = newProducerMetrics(deps.Metrics, deps.Client, p)
	p.publications.New = func() any { return newPublication(p) }
	return p, nil
}

// Publish sends the records and returns nil when every one of them is
// acknowledged by all in-sync replicas. Any other outcome is a
// DeliveryUnavailable error: records may or may not have been stored.
//
// The wait ends at the context's deadline, or at the producer's where that is
// sooner; an earlier cancellation does not end it, since it could not take the
// records back. After an error the records' memory still belongs to the producer
// and must not be written to again. The records' Time must be about now.
func (p *Producer) Publish(ctx context.Context, recs []record.Record) error {
	if len(recs) == 0 {
		return nil
	}
	ctx, span := startSend(ctx, recs)
	err := p.publish(ctx, recs)
	telemetry.End(span, err)
	return err
}

func (p *Producer) publish(ctx context.Context, recs []record.Record) error {
	size := sizeOf(recs)
	if p.buffered.Add(size) > p.max {
		p.buffered.Add(-size)
		p.metrics.rejected.Inc()
		return unavailable(errBufferFull)
	}
	start := time.Now()
	end := start.Add(p.deadline)
	if d, ok := ctx.Deadline(); ok && d.Before(end) {
		end = d
	}
	if !end.After(start) { // nobody waits any more, and what is sent now would be sent again
		p.buffered.Add(-size)
		p.metrics.timedOut.Inc()
		return unavailable(errTooLate)
	}
	b := p.publications.Get().(*publication) // the pool holds nothing else
	b.size = size
	b.produce(recs)
	if !b.wait(end.Sub(start)) {
		p.metrics.timedOut.Inc()
		return unavailable(errNoAck)
	}
	err := b.firstError()
	b.release()
	if err != nil {
		p.metrics.failed.Inc()
		return unavailable(err)
	}
	p.metrics.ackSeconds.Observe(time.Since(start).Seconds())
	return nil
}

// unavailable makes the error; the wait it suggests is spread, so that clients
// do not come back all at once.
func unavailable(cause error) *apierr.Error {
	wait := 2*time.Second + rand.N(8*time.Second) //nolint:gosec // jitter
	return &apierr.Error{
		Code: apierr.DeliveryUnavailable, RetryAfter: wait, Err: fmt.Errorf("publishing to Kafka: %w", cause),
	}
}

// Abandoned returns the bytes of records whose publications were given up while
// the client still holds them.
func (p *Producer) Abandoned() int64 { return p.abandoned.Load() }

func sizeOf(recs []record.Record) int64 {
	n := int64(0)
	for i := range recs {
		n += int64(recordOverhead + len(recs[i].Key) + len(recs[i].Value))
	}
	return n
}

// Ready reports whether brokers were reachable within the last half minute.
func (p *Producer) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	err := p.client.Ping(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.failing = time.Time{}
		return nil
	}
	now := time.Now()
	if p.failing.IsZero() {
		p.failing = now
	}
	if away := now.Sub(p.failing); away >= unreachableAfter {
		return fmt.Errorf("no broker of %s responds within %s: %w", p.brokers, away.Round(time.Second), err)
	}
	return nil
}

// Ping reports why no broker answers now; nil when one does.
func (p *Producer) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if err := p.client.Ping(ctx); err != nil {
		return fmt.Errorf("reaching a broker: %w", err)
	}
	return nil
}

// Close waits until nothing is buffered, or until ctx ends, and disconnects.
func (p *Producer) Close(ctx context.Context) error {
	err := p.client.Flush(ctx)
	p.client.Close()
	if err != nil {
		return fmt.Errorf("flushing %d bytes to Kafka: %w", p.buffered.Load(), err)
	}
	return nil
}

// topic returns the name on the broker without allocating for the usual case.
func (p *Producer) topic(name string) string {
	if p.prefix == "" {
		return name
	}
	return p.prefix + name
}
