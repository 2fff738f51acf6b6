package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/platform/config"
)

// sendAgainAfter is the pause before a record is sent again that the client gave up.
const sendAgainAfter = time.Second

// SenderDeps are the parts a Sender needs; all are required.
type SenderDeps struct {
	// Client names the sender to brokers and in metrics.
	Client  string
	Log     *slog.Logger
	Metrics prometheus.Registerer
}

// Sender publishes records that nobody waits for, and tries without end as long as
// brokers are away. What the client gives up all the same, such as for want of a
// permission, is handed to it again: it may then be appended twice, and behind records of
// its partition that came later. It bounds nothing: whoever hands records over keeps count
// of those that are not done. It is safe for concurrent use.
type Sender struct {
	client *kgo.Client
	prefix string
	pool   sync.Pool // of *sending
	closed atomic.Bool
}

// NewSender returns a Sender. It connects when first used.
func NewSender(cfg config.Kafka, deps SenderDeps) (*Sender, error) {
	opts, err := ClientOptions(cfg, deps.Client, deps.Log, deps.Metrics)
	if err != nil {
		return nil, err
	}
	// Without a limit of tries and time, an idempotent producer keeps the order of a
	// partition and appends nothing twice, however often it has to try.
	client, err := kgo.NewClient(append(opts,
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.WithCompressor(newLz4Compressor()),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), // murmur2, as the Java client
		kgo.ProducerLinger(cfg.Linger),
		kgo.UnknownTopicRetries(-1),
		kgo.MaxBufferedRecords(math.MaxInt),
	)...)
	if err != nil {
		return nil, fmt.Errorf("creating the Kafka sender: %w", err)
	}
	s := &Sender{client: client, prefix: cfg.TopicPrefix}
	s.pool.New = func() any { return newSending(s) }
	return s, nil
}

// Send hands a record over and returns at once. done is called once, from another
// goroutine, and must be quick: with nil when every in-sync replica has the record, with
// an error when brokers reject it for good or the Sender was closed, in which case it may
// have been stored all the same. Until then the record's memory belongs to the Sender.
func (s *Sender) Send(r *record.Record, done func(error)) {
	w := s.pool.Get().(*sending) // the pool holds nothing else
	topic := r.Topic
	if s.prefix != "" {
		topic = s.prefix + topic
	}
	w.record = kgo.Record{Topic: topic, Key: r.Key, Value: r.Value, Timestamp: r.Time, Headers: clientHeaders(r.Headers)}
	w.done = done
	w.send()
}

// Ping reports why no broker answers now; nil when one does.
func (s *Sender) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if err := s.client.Ping(ctx); err != nil {
		return fmt.Errorf("reaching a broker: %w", err)
	}
	return nil
}

// Close disconnects. Records that are not done by then are done with an error.
func (s *Sender) Close(context.Context) error {
	s.closed.Store(true)
	s.client.Close()
	return nil
}

// sending is one record on its way, and is used again for another one.
type sending struct {
	s       *Sender
	record  kgo.Record
	done    func(error)
	promise func(*kgo.Record, error) // w.finished, made once
	again   func()                   // w.send, made once
}

func newSending(s *Sender) *sending {
	w := &sending{s: s}
	w.promise, w.again = w.finished, w.send
	return w
}

// send hands the record to the client, whose context never ends: once a record is on its
// way, cancelling would only make the outcome unknown.
func (w *sending) send() { w.s.client.TryProduce(context.Background(), &w.record, w.promise) }

// finished is called by the client.
func (w *sending) finished(_ *kgo.Record, err error) {
	if err != nil && !w.s.closed.Load() && !rejected(err) {
		time.AfterFunc(sendAgainAfter, w.again)
		return
	}
	done := w.done
	w.record, w.done = kgo.Record{}, nil
	w.s.pool.Put(w)
	done(err)
}

// rejected reports whether a record would be rejected again and again.
func rejected(err error) bool {
	for _, final := range []error{kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidRecord, kgo.ErrClientClosed} {
		if errors.Is(err, final) {
			return true
		}
	}
	return false
}
