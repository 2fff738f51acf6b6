package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/pipeline/sink"
)

// startOfLog and endOfLog are the times by which brokers are asked for the first offset that the
// log still holds, and for the one after the last record (KIP-79).
const (
	startOfLog = -2
	endOfLog   = -1
)

// Ends implements sink.Reader, with one request to each broker that leads some of the partitions.
func (c *Consumer) Ends(ctx context.Context, ps []sink.Partition) (map[sink.Partition]int64, error) {
	<-c.opened
	return c.offsetsAt(ctx, ps, endOfLog)
}

// offsetsAt asks the leaders of partitions for the offset of a time. Those that cannot be asked
// about are not in what it returns, and the error says why.
func (c *Consumer) offsetsAt(ctx context.Context, ps []sink.Partition, at int64) (map[sink.Partition]int64, error) {
	offsets := map[sink.Partition]int64{}
	if len(ps) == 0 {
		return offsets, nil
	}
	var errs []error
	for _, shard := range c.client.RequestSharded(ctx, c.offsetsRequest(ps, at)) {
		resp, ok := shard.Resp.(*kmsg.ListOffsetsResponse)
		if !ok {
			errs = append(errs, fmt.Errorf("requesting offsets from broker %d: %w",
				shard.Meta.NodeID, cmp.Or(shard.Err, errResponse)))
			continue
		}
		for i := range resp.Topics {
			t := &resp.Topics[i]
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					errs = append(errs, fmt.Errorf("%s/%d: %w", t.Topic, p.Partition, err))
					continue
				}
				offsets[c.partition(t.Topic, p.Partition)] = p.Offset
			}
		}
	}
	return offsets, errors.Join(errs...)
}

func (c *Consumer) offsetsRequest(ps []sink.Partition, at int64) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	topics := map[string]int{}
	for _, p := range ps {
		i, known := topics[p.Topic]
		if !known {
			i = len(req.Topics)
			topics[p.Topic] = i
			t := kmsg.NewListOffsetsRequestTopic()
			t.Topic = TopicName(c.cfg, p.Topic)
			req.Topics = append(req.Topics, t)
		}
		asked := kmsg.NewListOffsetsRequestTopicPartition()
		asked.Partition, asked.Timestamp = p.Index, at
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, asked)
	}
	return req
}

var errNoBatch = errors.New("the broker's response has no record batch")

// ReceivedAt implements sink.Reader. It reads no record: a batch says itself when its first one was
// received, also one that cannot be unpacked or was damaged, and the rest were with it.
func (c *Consumer) ReceivedAt(ctx context.Context, p sink.Partition, offset int64) (int64, error) {
	<-c.opened
	name := TopicName(c.cfg, p.Topic)
	got, err := c.fetchOne(ctx, name, p, offset)
	if errors.Is(err, kerr.OffsetOutOfRange) && got != nil && got.LogStartOffset > offset {
		got, err = c.fetchOne(ctx, name, p, got.LogStartOffset)
	}
	if err != nil {
		return 0, fmt.Errorf("reading when %s/%d/%d was received: %w", p.Topic, p.Index, offset, err)
	}
	for batch, rest := nextBatch(got.RecordBatches); batch != nil; batch, rest = nextBatch(rest) {
		if h := headerOf(batch); h.magic == currentMagic && h.last >= offset && h.time > 0 {
			return h.time, nil
		}
	}
	return 0, fmt.Errorf("reading when %s/%d/%d was received: %w", p.Topic, p.Index, offset, errNoBatch)
}

// fetchOne asks the leader of a partition for the batch that has an offset, and for no more: brokers
// send a whole one, however small the bound.
func (c *Consumer) fetchOne(
	ctx context.Context, name string, p sink.Partition, offset int64,
) (*kmsg.FetchResponseTopicPartition, error) {
	leader, epoch, err := c.client.PartitionLeader(name, p.Index)
	if err != nil || leader < 0 {
		return nil, cmp.Or(err, error(kerr.LeaderNotAvailable))
	}
	of := &stream{partition: p, topic: name, id: c.commits.idOf(name)}
	response, err := c.client.Broker(int(leader)).Request(ctx, fetchRequest([]ask{{of, mark{offset, -1}, epoch}}, 1))
	if err != nil {
		return nil, err
	}
	resp, ok := response.(*kmsg.FetchResponse)
	if !ok || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return nil, errors.Join(errResponse, kerr.ErrorForCode(errorCode(resp)))
	}
	got := &resp.Topics[0].Partitions[0]
	return got, kerr.ErrorForCode(got.ErrorCode)
}
