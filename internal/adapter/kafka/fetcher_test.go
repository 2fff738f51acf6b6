package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
)

// newReaderOf is newReader with a cluster of some brokers, of which a test has hold.
func newReaderOf(t *testing.T, brokers, partitions int) (*reader, *kfake.Cluster) {
	t.Helper()
	topics := kfake.SeedTopics(int32(partitions), record.TopicEvents)
	cluster, cfg := kafkatest.Cluster(t, kfake.NumBrokers(brokers), topics)
	r := member(t, cfg, "test", partitions)
	r.client = producerOf(t, cfg)
	return r, cluster
}

func producerOf(t *testing.T, cfg config.Kafka, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	opts = append(opts, kgo.SeedBrokers(cfg.Brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	client, err := kgo.NewClient(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// inOrder polls until so many offsets of a partition have come, one after the other.
func (r *reader) inOrder(t *testing.T, index int32, from, to int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for next := from; next < to; {
		if err := r.Poll(ctx, 1<<20, func(b sink.Delivery) {
			for _, rec := range b.Records {
				if b.Partition.Index == index && rec.Offset != next {
					t.Fatalf("offset %d, want %d", rec.Offset, next)
				}
				if b.Partition.Index == index {
					next++
				}
			}
		}); err != nil || ctx.Err() != nil {
			t.Fatalf("at %d: %v, %v", next, err, ctx.Err())
		}
	}
}

func TestALeaderThatMovesCostsAndDoublesNothing(t *testing.T) {
	t.Parallel()
	r, cluster := newReaderOf(t, 3, 1)
	for round := range 6 {
		r.produce(t, round*10, round*10+5)
		if err := cluster.MoveTopicPartition(record.TopicEvents, 0, int32(round%3)); err != nil {
			t.Fatal(err)
		}
		r.produce(t, round*10+5, round*10+10)
		r.inOrder(t, 0, int64(round*10), int64(round*10+10))
	}
}

// rejection is the broker's response to a fetch with an error for each partition.
func rejection(req *kmsg.FetchRequest, whole, each int16) *kmsg.FetchResponse {
	resp, _ := req.ResponseKind().(*kmsg.FetchResponse)
	resp.ErrorCode = whole
	for _, t := range req.Topics {
		rt := kmsg.NewFetchResponseTopic()
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			rp := kmsg.NewFetchResponseTopicPartition()
			rp.Partition, rp.ErrorCode, rp.HighWatermark, rp.LogStartOffset = p.Partition, each, -1, -1
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

func TestWhatABrokerRejectsForNowIsAskedForAgain(t *testing.T) {
	t.Parallel()
	r, cluster := newReaderOf(t, 1, 1)
	for i, tc := range []struct {
		whole, each *kerr.Error
		err         error
	}{
		{each: kerr.NotLeaderForPartition},
		{each: kerr.FencedLeaderEpoch},
		{each: kerr.UnknownLeaderEpoch},
		{each: kerr.UnknownTopicOrPartition},
		{each: kerr.UnknownTopicID},
		{each: kerr.InconsistentTopicID},
		{each: kerr.KafkaStorageError},
		{each: kerr.OffsetNotAvailable},
		{each: kerr.UnknownServerError},
		{each: kerr.OffsetOutOfRange}, // of a leader that has just become one, once
		{whole: kerr.FetchSessionIDNotFound},
		{whole: kerr.TopicAuthorizationFailed},
		{err: io.EOF},
	} {
		var times atomic.Int64
		cluster.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
			fetch, ok := req.(*kmsg.FetchRequest)
			if !ok || times.Add(1) > 1 {
				return nil, nil, false
			}
			code := func(e *kerr.Error) int16 {
				if e == nil {
					return 0
				}
				return e.Code
			}
			return rejection(fetch, code(tc.whole), code(tc.each)), tc.err, true
		})
		r.produce(t, i, i+1)
		r.inOrder(t, 0, int64(i), int64(i+1))
		testkit.Eventually(t, time.Minute, func() error { // else it is of the next one
			if times.Load() == 0 {
				return errors.New("nothing was refused")
			}
			return nil
		})
	}
	if diff := cmp.Diff([]string{"assigned"}, r.noted()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// What was fetched of a partition stays while it is paused.
func TestWhatAPausedPartitionHasIsKept(t *testing.T) {
	t.Parallel()
	r, _ := newReaderOf(t, 1, 1)
	r.Pause(only)
	r.produce(t, 0, 20) // a batch each
	r.Resume(only)
	testkit.Eventually(t, time.Minute, func() error {
		if held := r.fetcher.count(&r.fetcher.held); held == 0 || r.fetcher.nextOf(only) < 20 {
			return fmt.Errorf("%d bytes are fetched", held)
		}
		return nil
	})
	r.Pause(only)
	responses := r.fetcher.count(&r.fetcher.responses)
	if err := r.Poll(t.Context(), 1<<20, func(sink.Delivery) { t.Error("a paused partition was delivered") }); err != nil {
		t.Fatal(err)
	}
	r.Resume(only)
	r.inOrder(t, 0, 0, 20)
	if again := r.fetcher.count(&r.fetcher.responses); again != responses || r.fetcher.count(&r.fetcher.held) != 0 {
		t.Errorf("%d answers more; %d bytes are held", again-responses, r.fetcher.count(&r.fetcher.held))
	}
}

func (f *fetcher) nextOf(p sink.Partition) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.streams[p].next.offset
}

// Only when a partition that is not paused could not be fetched for lack of room,
// what paused ones have is dropped, and fetched again later.
func TestPausedPartitionsGiveWayToOthers(t *testing.T) {
	t.Parallel()
	r, _ := newReaderOf(t, 1, 2)
	const size, n = 100_000, 4
	produce := func(index int32) {
		for range n {
			rec := &kgo.Record{Topic: record.TopicEvents, Partition: index, Value: noise(size)}
			if err := r.client.ProduceSync(t.Context(), rec).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	first, second := only, sink.Partition{Topic: record.TopicEvents, Index: 1}
	r.fetcher.mu.Lock()
	r.fetcher.limit = n*size + size/2
	r.fetcher.mu.Unlock()
	r.Pause(second)
	produce(0)
	testkit.Eventually(t, time.Minute, func() error {
		if r.fetcher.nextOf(first) < n {
			return errors.New("not fetched yet")
		}
		return nil
	})
	r.Pause(first)
	r.Resume(second)
	produce(1)
	r.inOrder(t, 1, 0, n)
	if dropped := r.fetcher.count(&r.fetcher.dropped); dropped < n*size {
		t.Errorf("%d bytes were dropped", dropped)
	}
	r.Resume(first)
	r.inOrder(t, 0, 0, n)
	if held := r.fetcher.count(&r.fetcher.held); held != 0 {
		t.Errorf("%d bytes are held by nobody", held)
	}
}

// However much waits in the log, what is fetched and not asked for is bounded.
func TestWhatIsFetchedIsBounded(t *testing.T) {
	t.Parallel()
	r, _ := newReaderOf(t, 2, 4)
	const limit, size, each = 1 << 20, 100_000, 40
	r.fetcher.mu.Lock()
	r.fetcher.limit = limit
	r.fetcher.mu.Unlock()
	for i := range 4 * each {
		rec := &kgo.Record{Topic: record.TopicEvents, Partition: int32(i % 4), Value: noise(size)}
		r.client.Produce(t.Context(), rec, nil)
	}
	if err := r.client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var next [4]int64
	for next != [4]int64{each, each, each, each} {
		if held := r.fetcher.count(&r.fetcher.held); held > limit+8*size { // and a batch of each partition, of each response
			t.Fatalf("%d bytes are held, the limit is %d", held, limit)
		}
		if err := r.Poll(ctx, size, func(b sink.Delivery) {
			for _, rec := range b.Records {
				if rec.Offset != next[b.Partition.Index] {
					t.Fatalf("offset %d of %d, want %d", rec.Offset, b.Partition.Index, next[b.Partition.Index])
				}
				next[b.Partition.Index]++
			}
		}); err != nil || ctx.Err() != nil {
			t.Fatal(next, err, ctx.Err())
		}
	}
}
