package kafka

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/testkit"
)

// Control records are offsets without content; those of a transaction that was given up
// are there like others, for a producer may be read before it is known how it ends.
func TestTransactionsLeaveNoGap(t *testing.T) {
	t.Parallel()
	r, _ := newReaderOf(t, 1, 1)
	producer := producerOf(t, r.cfg, kgo.TransactionalID("tx"))
	for _, how := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort, kgo.TryCommit} {
		if err := producer.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		err := producer.ProduceSync(t.Context(),
			&kgo.Record{Topic: record.TopicEvents, Value: []byte("a")},
			&kgo.Record{Topic: record.TopicEvents, Value: []byte("b")},
		).FirstErr()
		if err := errors.Join(err, producer.EndTransaction(t.Context(), how)); err != nil {
			t.Fatal(err)
		}
	}
	want := "abcabcabc"
	got := make([]byte, 0, len(want))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for len(got) < len(want) && ctx.Err() == nil {
		if err := r.Poll(ctx, 1<<20, func(b sink.Delivery) {
			for _, rec := range b.Records {
				if rec.Control {
					got = append(got, 'c')
				}
				got = append(got, rec.Value...)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	if string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if holds, err := r.Holds(t.Context(), only, ledger.Span{First: 2, Last: 2}); !holds || err != nil {
		t.Errorf("Holds(a control record) = %v, %v", holds, err)
	}
}

// produceRaw sends a batch as it is, past the client.
func (r *reader) produceRaw(t *testing.T, index int32, batch []byte) {
	t.Helper()
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 1000
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic, topic.TopicID = record.TopicEvents, r.topic
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = index, batch
	topic.Partitions = append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(t.Context(), r.client)
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A batch that cannot be unpacked ends nothing but the delivery of its partition: what is
// before it comes, and so do the others.
func TestABatchThatCannotBeUnpackedStopsItsPartitionAlone(t *testing.T) {
	t.Parallel()
	large := recordBytes(1, make([]byte, maxUnpacked))
	sound := byLz4(t, recordBytes(1, []byte("3")), lz4.LegacyOption(true)).bytes
	for name, tc := range map[string]struct {
		batch   []byte
		told    string
		records int64 // of the window
	}{
		"beyond the bound by lz4":  {rawBatch(0, 1, byLz4(t, large).bytes, kgo.CodecLz4), "unreadable", 4},
		"beyond the bound by zstd": {rawBatch(0, 1, byZstd(t, large).bytes, kgo.CodecZstd), "unreadable", 4},
		"not what its codec makes": {rawBatch(0, 1, []byte("no gzip"), kgo.CodecGzip), "unreadable", 4},
		"records that are none":    {rawBatch(0, 1, []byte{0xff, 0xff, 0xff}, kgo.CodecNone), "unreadable", 4},
		// Its decompressor is broken, and not the one that reads the window.
		"a decompressor that panics": {rawBatch(0, 1, sound, kgo.CodecLz4), "panicked", 5},
	} {
		r, _ := newReaderOf(t, 1, 2)
		r.unpack.lz4 = &lz4.Reader{}
		r.produce(t, 0, 3)
		r.produceRaw(t, 0, tc.batch)
		r.produce(t, 4, 6)
		r.inOrder(t, 0, 0, 3)
		testkit.Eventually(t, time.Minute, func() error {
			err := r.Poll(t.Context(), 1<<20, func(b sink.Delivery) {
				t.Errorf("%s: offset %d came",
					name, b.Records[0].Offset)
			})
			if err == nil && !cmp.Equal([]string{"assigned", "assigned", tc.told}, r.noted()) {
				err = fmt.Errorf("calls %q", r.noted())
			}
			return err
		})
		other := &kgo.Record{Topic: record.TopicEvents, Partition: 1, Value: []byte("v")}
		if err := r.client.ProduceSync(t.Context(), other).FirstErr(); err != nil {
			t.Fatal(err)
		}
		r.inOrder(t, 1, 0, 1)
		// Where the partition was moved past it, its window is read without it.
		since := sink.Stretch{Next: 1, To: 6}
		if err := r.Observations(t.Context(), only, &since, nobody{}); err != nil || since.Records != tc.records {
			t.Errorf("%s: the window is read with %d records, want %d: %v", name, since.Records, tc.records, err)
		}
	}
}

func TestAPanicWhileRecordsAreReadIsAnError(t *testing.T) {
	t.Parallel()
	var c Consumer
	if _, err := c.portion(nil, 0); !errors.Is(err, sink.ErrPanicked) {
		t.Errorf("portion() = %v", err)
	}
}

// A batch that holds more than is asked for is handed over in several polls.
func TestABatchIsGoneOnWithInTheNextPoll(t *testing.T) {
	t.Parallel()
	r, _ := newReaderOf(t, 1, 1)
	const n = 3*portionRecords + 7
	r.produceRaw(t, 0, batchAt(0, n))
	next, polls := int64(0), 0
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for next < n && ctx.Err() == nil {
		before := next
		if err := r.Poll(ctx, 1, func(b sink.Delivery) {
			for _, rec := range b.Records {
				if rec.Offset != next {
					t.Fatalf("offset %d, want %d", rec.Offset, next)
				}
				next++
			}
		}); err != nil {
			t.Fatal(err)
		}
		if next-before > portionRecords {
			t.Errorf("%d records came at a time", next-before)
		}
		if next > before {
			polls++
		}
	}
	if polls != 4 {
		t.Errorf("%d polls brought them, want 4", polls)
	}
}
