package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
)

// deadline is that of producers that are to give up, patience that of the others.
const (
	deadline = 3 * time.Second
	patience = time.Minute
)

func eventsCluster(t *testing.T) (*kfake.Cluster, config.Kafka) {
	t.Helper()
	return kafkatest.Cluster(t, kfake.SeedTopics(kafkatest.Partitions, record.TopicEvents, record.TopicEventsBackfill))
}

// newProducer returns a producer that waits for a response, however slow the machine is.
func newProducer(t *testing.T, cfg config.Kafka) *Producer {
	t.Helper()
	return newProducerWithin(t, cfg, patience)
}

// newHasty returns a producer that has reached the broker and gives up at the deadline.
func newHasty(t *testing.T, cfg config.Kafka) *Producer {
	t.Helper()
	p := newProducerWithin(t, cfg, deadline)
	testkit.Eventually(t, time.Minute, func() error { return p.Publish(t.Context(), recordsOf(10, "warm-up")) })
	settled(t, p)
	return p
}

func newProducerWithin(t *testing.T, cfg config.Kafka, deadline time.Duration) *Producer {
	t.Helper()
	p, err := NewProducer(cfg, ProducerDeps{
		Client: "test", Deadline: deadline, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.client.Close() })
	return p
}

// recordsOf makes one record per key, with the given bytes in each value.
func recordsOf(size int, keys ...string) []record.Record {
	now := time.UnixMilli(time.Now().UnixMilli())
	var recs []record.Record
	for _, k := range keys {
		recs = append(recs, record.Record{
			Topic: record.TopicEvents, Key: []byte(k), Value: bytes.Repeat([]byte{'x'}, size), Time: now,
			Headers: []record.Header{{Key: "schema", Value: []byte("events.v1")}, {Key: "website", Value: []byte(k)}},
		})
	}
	return recs
}

// stored counts the events on the broker.
func stored(c *kfake.Cluster) int64 {
	n := int64(0)
	for _, p := range c.PartitionInfos(record.TopicEvents) {
		n += p.HighWatermark
	}
	return n
}

func wantUnavailable(t *testing.T, err error) {
	t.Helper()
	if f := apierr.Of(err); f == nil || f.Code != apierr.DeliveryUnavailable || f.RetryAfter < 2*time.Second ||
		f.RetryAfter > 10*time.Second {
		t.Fatalf("Publish() = %v, want DELIVERY_UNAVAILABLE to be retried after 2 to 10 s", err)
	}
}

// settled waits until nothing is buffered any more.
func settled(t *testing.T, p *Producer) {
	t.Helper()
	testkit.Eventually(t, time.Minute, func() error {
		if n := p.buffered.Load(); n != 0 {
			return fmt.Errorf("%d bytes are still buffered", n)
		}
		return nil
	})
}

func TestPublishedRecordsArriveAsTheyWere(t *testing.T) {
	t.Parallel()
	_, cfg := eventsCluster(t)
	cfg.TopicPrefix = "acme."
	if _, err := EnsureTopics(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	sent := recordsOf(100, "web_1", "web_2")
	sent[1].Topic = record.TopicEventsBackfill
	if err := newProducer(t, cfg).Publish(t.Context(), sent); err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...),
		kgo.ConsumeTopics("acme.events.v1", "acme.events.backfill.v1"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	got := map[string]record.Record{}
	for len(got) < len(sent) {
		client.PollFetches(t.Context()).EachRecord(func(r *kgo.Record) {
			back := record.Record{Topic: strings.TrimPrefix(r.Topic, "acme."), Key: r.Key, Value: r.Value, Time: r.Timestamp}
			for _, h := range r.Headers {
				back.Headers = append(back.Headers, record.Header(h))
			}
			got[string(r.Key)] = back
			if r.Attrs.CompressionType() != 3 {
				t.Errorf("compression of %s is %d, want 3 (lz4)", r.Key, r.Attrs.CompressionType())
			}
		})
	}
	if diff := cmp.Diff(map[string]record.Record{"web_1": sent[0], "web_2": sent[1]}, got); diff != "" {
		t.Errorf("records (-sent +read):\n%s", diff)
	}
}

func TestAKeyGoesToThePartitionThatTheJavaClientChooses(t *testing.T) {
	t.Parallel()
	c, cfg := kafkatest.Cluster(t, kfake.SeedTopics(64, record.TopicEvents))
	p := newProducer(t, cfg)
	for key, hash := range map[string]int32{ // from the tests of the Java client
		"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536,
		"a-little-bit-longer-string": -1486304829, "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
	} {
		want := (hash & 0x7fffffff) % 64
		before := c.PartitionInfo(record.TopicEvents, want).HighWatermark
		if err := p.Publish(t.Context(), recordsOf(1, key)); err != nil {
			t.Fatal(err)
		}
		if after := c.PartitionInfo(record.TopicEvents, want).HighWatermark; after != before+1 {
			t.Errorf("key %q did not go to partition %d", key, want)
		}
	}
}

func TestABrokersRejectionIsNeverReportedAsSuccess(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		err    *kerr.Error
		stored int64
	}{
		{"too few replicas", kerr.NotEnoughReplicas, 0},
		{"too few replicas, found after the append", kerr.NotEnoughReplicasAfterAppend, 1},
		{"a batch that is too large", kerr.MessageTooLarge, 0},
		{"no right to write", kerr.TopicAuthorizationFailed, 0},
		{"a moving leader", kerr.NotLeaderForPartition, 0},
		{"an unknown error", kerr.UnknownServerError, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, cfg := eventsCluster(t)
			p := newHasty(t, cfg)
			before := stored(c)
			rejections := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: record.TopicEvents, Err: tc.err, Count: -1})
			// What the deadline overtook on its way to the broker is published once more.
			tries := int64(0)
			testkit.Eventually(t, time.Minute, func() error {
				tries++
				start := time.Now()
				wantUnavailable(t, p.Publish(t.Context(), recordsOf(10, "web_1")))
				if took := time.Since(start); took > testkit.Promised(deadline+2*time.Second) {
					t.Errorf("the answer took %s", took)
				}
				if rejections.Hits() == 0 {
					return errors.New("the broker was not asked")
				}
				return nil
			})
			if n := stored(c) - before; n > tc.stored*tries {
				t.Errorf("%d records are stored, want at most %d", n, tc.stored*tries)
			}
			rejections.Remove()
			settled(t, p)
			// The producer goes on as if nothing had been.
			testkit.Eventually(t, time.Minute, func() error { return p.Publish(t.Context(), recordsOf(10, "web_1")) })
		})
	}
}

func TestOneFailedRecordFailsThePublication(t *testing.T) {
	t.Parallel()
	c, cfg := eventsCluster(t)
	p := newProducer(t, cfg)
	keys := make([]string, 32)
	for i := range keys {
		keys[i] = fmt.Sprintf("web_%d", i)
	}
	c.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Produce}, Topic: record.TopicEvents, Partitions: []int32{2}, Err: kerr.MessageTooLarge,
		Count: -1,
	})
	wantUnavailable(t, p.Publish(t.Context(), recordsOf(10, keys...)))
	settled(t, p)
	if n := stored(c); n == 0 || n >= int64(len(keys)) {
		t.Errorf("%d of %d records are stored, want some", n, len(keys))
	}
	if n := c.PartitionInfo(record.TopicEvents, 2).HighWatermark; n != 0 {
		t.Errorf("the failed partition holds %d records", n)
	}
}

func TestASlowBrokerIsWaitedForUntilTheDeadlineAndItsLateAcksCounted(t *testing.T) {
	t.Parallel()
	c, cfg := eventsCluster(t)
	p := newProducer(t, cfg)
	if err := p.Publish(t.Context(), recordsOf(10, "warm-up")); err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.SleepControl(func() { <-release })
		return nil, nil, false
	})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	wantUnavailable(t, p.Publish(ctx, recordsOf(10, "web_1", "web_2")))
	if took := time.Since(start); took >= patience/2 {
		t.Errorf("the answer took %s: the producer's deadline, not the request's own", took)
	}
	if p.buffered.Load() == 0 {
		t.Error("records on their way are not counted")
	}
	close(release)
	settled(t, p)
	if n := testutil.ToFloat64(p.metrics.lateAcks); n != 2 {
		t.Errorf("%v late acknowledgements, want 2", n)
	}
	if n := stored(c); n != 3 {
		t.Errorf("%d records are stored, want 3", n)
	}
}

func TestCancellationDoesNotEndTheWait(t *testing.T) {
	t.Parallel()
	_, cfg := eventsCluster(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newProducer(t, cfg).Publish(ctx, recordsOf(10, "web_1")); err != nil {
		t.Errorf("Publish() = %v", err)
	}
}

func TestAPublicationWhoseTimeIsOverIsNotSent(t *testing.T) {
	t.Parallel()
	c, cfg := eventsCluster(t)
	p := newProducer(t, cfg)
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Millisecond))
	defer cancel()
	wantUnavailable(t, p.Publish(ctx, recordsOf(10, "web_1")))
	if n := p.buffered.Load(); n != 0 {
		t.Errorf("%d bytes are buffered", n)
	}
	if err := p.Publish(t.Context(), recordsOf(10, "web_1")); err != nil {
		t.Fatal(err)
	}
	if n := stored(c); n != 1 {
		t.Errorf("%d records are stored, want the one that came in time", n)
	}
}

func TestMemoryIsBoundedWhileBrokersAreAway(t *testing.T) {
	t.Parallel()
	c, cfg := eventsCluster(t)
	cfg.MaxBufferedBytes = 100_000
	p := newHasty(t, cfg)
	c.Close()
	var wg sync.WaitGroup
	var most atomic.Int64
	start := time.Now()
	for range 200 {
		wg.Go(func() {
			wantUnavailableIn(t, p.Publish(t.Context(), recordsOf(10_000, "web_1")))
			for n := p.buffered.Load(); ; {
				old := most.Load()
				if n <= old || most.CompareAndSwap(old, n) {
					return
				}
			}
		})
	}
	wg.Wait()
	if took := time.Since(start); took > testkit.Promised(deadline+3*time.Second) {
		t.Errorf("the last answer took %s", took)
	}
	if most.Load() > 2*int64(cfg.MaxBufferedBytes) || p.client.BufferedProduceBytes() > int64(cfg.MaxBufferedBytes) {
		t.Errorf("%d bytes counted, %d buffered by the client, of %d allowed",
			most.Load(), p.client.BufferedProduceBytes(), cfg.MaxBufferedBytes)
	}
	if n := testutil.ToFloat64(p.metrics.rejected); n < 150 {
		t.Errorf("%v of 200 publications were refused at once, want nearly all", n)
	}
}

// wantUnavailableIn is wantUnavailable for other goroutines.
func wantUnavailableIn(t *testing.T, err error) {
	t.Helper()
	if !apierr.Is(err, apierr.DeliveryUnavailable) {
		t.Errorf("Publish() = %v, want DELIVERY_UNAVAILABLE", err)
	}
}

func TestAPublicationOverTheLimitIsRejectedWhole(t *testing.T) {
	t.Parallel()
	c, cfg := eventsCluster(t)
	cfg.MaxBufferedBytes = 10_000
	p := newProducer(t, cfg)
	fits := cfg.MaxBufferedBytes - recordOverhead - len("w")
	if err := p.Publish(t.Context(), recordsOf(fits, "w")); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	wantUnavailable(t, p.Publish(t.Context(), recordsOf(fits+1, "w")))
	if n := stored(c); n != 1 {
		t.Errorf("%d records are stored, want 1", n)
	}
}

func TestWhatWasConfirmedIsStored(t *testing.T) {
	t.Parallel()
	c, cfg := eventsCluster(t)
	p := newProducer(t, cfg)
	c.Fault(
		kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: record.TopicEvents, Err: kerr.NotEnoughReplicas, Count: 5},
		kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: record.TopicEvents, Err: kerr.MessageTooLarge, Count: 20},
	)
	var confirmed atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 200 {
				n := 1 + j%7
				keys := make([]string, n)
				for k := range keys {
					keys[k] = fmt.Sprintf("web_%d", i*7+k)
				}
				if err := p.Publish(t.Context(), recordsOf(50, keys...)); err == nil {
					confirmed.Add(int64(n))
				}
			}
		})
	}
	wg.Wait()
	settled(t, p)
	if n := stored(c); n < confirmed.Load() || confirmed.Load() == 0 {
		t.Errorf("%d records are stored, %d were confirmed", n, confirmed.Load())
	}
}

func TestReadinessEndsWhenBrokersAreAwayForHalfAMinute(t *testing.T) {
	t.Parallel()
	c, cfg := eventsCluster(t)
	p := newProducer(t, cfg)
	if err := p.Ready(t.Context()); err != nil {
		t.Fatalf("with a broker: %v", err)
	}
	c.Close()
	if err := p.Ready(t.Context()); err != nil {
		t.Errorf("right after the broker went: %v", err)
	}
	p.mu.Lock()
	p.failing = p.failing.Add(-unreachableAfter)
	p.mu.Unlock()
	if err := p.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), cfg.Brokers[0]) {
		t.Errorf("half a minute later: %v, want an error that names the broker", err)
	}
}

func TestClosingFlushesWhatIsBuffered(t *testing.T) {
	t.Parallel()
	c, cfg := eventsCluster(t)
	cfg.Linger = time.Minute // the longest that the client takes
	p := newProducerWithin(t, cfg, 5*time.Minute)
	done := make(chan error, 1)
	go func() { done <- p.Publish(t.Context(), recordsOf(10, "web_1")) }()
	testkit.Eventually(t, 30*time.Second, func() error {
		if p.client.BufferedProduceRecords() == 0 {
			return errors.New("nothing is buffered yet")
		}
		return nil
	})
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || stored(c) != 1 {
		t.Errorf("Publish() = %v with %d records stored", err, stored(c))
	}
}
