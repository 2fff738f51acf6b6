package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
)

var errSum = errors.New("a record batch has a wrong checksum")

// ask is what a request asks for of a partition.
type ask struct {
	stream *stream
	from   mark
	epoch  int32 // of the leader that is asked
}

// fetchResponse names a partition as responses do: by the topic's id, or by its name.
type fetchResponse struct {
	topic string
	id    [16]byte
	index int32
}

// fetch asks a broker for batches, most bytes of them, and adds what comes.
func (f *fetcher) fetch(ctx context.Context, broker int32, asks []ask, most int64) {
	response, err := f.client.Broker(int(broker)).Request(ctx, fetchRequest(asks, int32(most)))
	resp, ok := response.(*kmsg.FetchResponse)
	if err == nil && !ok {
		err = errResponse
	}
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err == nil {
		f.addAll(broker, asks, resp)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.broker(broker)
	b.busy = false
	f.asked -= most
	if err != nil && ctx.Err() == nil {
		now := time.Now()
		b.fails++
		b.retry = now.Add(backoff(b.fails))
		f.refresh(now)
		for _, a := range asks {
			a.stream.unfetched(now)
		}
		if b.fails%quietFails == 0 {
			f.report(asks[0].stream, fmt.Errorf("fetching from broker %d, %d partitions: %w", broker, len(asks), err))
		}
	} else {
		b.fails = 0
	}
	signal(f.wake)
}

func fetchRequest(asks []ask, most int32) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = int32(fetchMaxWait.Milliseconds()), 1, most
	topics := map[string]int{}
	for _, a := range asks {
		at, known := topics[a.stream.topic]
		if !known {
			at = len(req.Topics)
			topics[a.stream.topic] = at
			t := kmsg.NewFetchRequestTopic()
			t.Topic, t.TopicID = a.stream.topic, a.stream.id
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.CurrentLeaderEpoch = a.stream.partition.Index, a.epoch
		p.FetchOffset, p.LastFetchedEpoch = a.from.offset, a.from.epoch
		p.PartitionMaxBytes = min(most, fetchPartitionBytes)
		req.Topics[at].Partitions = append(req.Topics[at].Partitions, p)
	}
	return req
}

func (f *fetcher) addAll(broker int32, asks []ask, resp *kmsg.FetchResponse) {
	asked := make(map[fetchResponse]ask, 2*len(asks))
	for _, a := range asks {
		asked[fetchResponse{id: a.stream.id, index: a.stream.partition.Index}] = a
		asked[fetchResponse{topic: a.stream.topic, index: a.stream.partition.Index}] = a
	}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			at := fetchResponse{t.Topic, t.TopicID, t.Partitions[j].Partition}
			if t.Topic != "" {
				at.id = [16]byte{}
			}
			if a, ok := asked[at]; ok {
				f.add(broker, a, &t.Partitions[j])
			}
		}
	}
}

// add keeps what a partition got. What was asked for an offset that it is not fetched
// from any more is dropped.
func (f *fetcher) add(broker int32, a ask, got *kmsg.FetchResponseTopicPartition) {
	s, err := a.stream, rejectionOf(got)
	batches, next, whole := []byte(nil), a.from.offset, true
	if err == nil {
		batches, next, whole = wholeBatches(got.RecordBatches, a.from.offset)
	}
	kept := packedOf(batches, broker)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.streams[s.partition] != s || s.next.offset != a.from.offset || s.failed {
		return
	}
	switch {
	case err != nil:
		f.rejected(s, err, time.Now())
		return
	case !whole && len(kept) == 0:
		f.rejected(s, fmt.Errorf("%w: %w: at %d", buffer.ErrUnreadable, errSum, a.from.offset), time.Now())
		return
	}
	s.fails, s.lacks, s.end, s.since = 0, 0, got.HighWatermark, time.Time{}
	if next == a.from.offset {
		if len(got.RecordBatches) > 0 { // half a batch: there is room for all of it where it is asked for first
			s.retry = time.Now().Add(backoff(1))
		}
		return
	}
	f.responses++
	s.served = f.responses
	f.held += s.add(kept, next)
	signal(f.ready)
}

// rejectionOf is why a partition got nothing. A broker that is told of which leader the
// record before the offset is says where its own log parts from that one.
func rejectionOf(got *kmsg.FetchResponseTopicPartition) error {
	if parts := got.DivergingEpoch; got.ErrorCode == 0 && parts.EndOffset >= 0 {
		return fmt.Errorf("%w: the records of leader epoch %d end at %d", sink.ErrTruncated, parts.Epoch, parts.EndOffset)
	}
	return kerr.ErrorForCode(got.ErrorCode)
}
