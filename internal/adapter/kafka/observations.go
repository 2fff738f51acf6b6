package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/pipeline/sink"
)

// Observations implements sink.Reader. Brokers find the first record by its
// timestamp, which is the time of receipt.
//
// A window of an hour may hold many millions of records, and nothing of a
// partition is stored before it is whole. So this does not go through the client's
// records: it fetches batches itself, the next one while it looks at the last, and
// reads nothing of a record but its headers, without a copy.
func (c *Consumer) Observations(ctx context.Context, p sink.Partition, of *sink.Stretch, w sink.Observer) error {
	<-c.opened
	name := TopicName(c.cfg, p.Topic)
	if of.Next == 0 {
		if err := c.beginStretch(ctx, name, p, of, w); err != nil {
			return err
		}
	}
	if of.Next >= of.To {
		return nil
	}
	s := scan{topic: name, partition: p.Index, next: of.Next, to: of.To, observer: w}
	err := c.scan(ctx, &s)
	of.Next, of.Records = s.next, of.Records+s.records
	if err != nil {
		return fmt.Errorf("reading the window of %s/%d at %d: %w", p.Topic, p.Index, s.next, err)
	}
	of.Next = of.To
	return nil
}

// beginStretch finds out where a stretch begins.
func (c *Consumer) beginStretch(
	ctx context.Context, name string, p sink.Partition, of *sink.Stretch, w sink.Observer,
) error {
	listed, err := c.admin.ListOffsetsAfterMilli(ctx, max(0, of.Since), name)
	if err == nil {
		err = listed[name][p.Index].Err
	}
	if err != nil {
		return fmt.Errorf("reading the first record of the window of %s/%d: %w", p.Topic, p.Index, err)
	}
	if of.Next = listed[name][p.Index].Offset; of.Next < 0 || of.Next > of.To {
		of.Next = of.To // there is none
	}
	w.Expect(of.To - of.Next)
	return nil
}

// scan runs a scan with a client of its own.
func (c *Consumer) scan(ctx context.Context, s *scan) error {
	opts, err := ClientOptions(c.cfg, c.deps.Client+"-reader", c.deps.Log, nil)
	if err != nil {
		return err
	}
	if s.client, err = kgo.NewClient(opts...); err != nil {
		return fmt.Errorf("creating the reader: %w", err)
	}
	defer s.client.Close()
	for {
		err := s.run(ctx)
		if s.panicked != nil {
			c.deps.Log.LogAttrs(ctx, slog.LevelError, "window rebuild skipped a record batch after a decompression failure",
				slog.String("topic", s.topic), slog.Int("partition", int(s.partition)), slog.Any("error", s.panicked))
			s.panicked = nil
		}
		if !errors.Is(err, errSum) {
			return err
		}
		if s.fails == rangeFails {
			c.deps.Log.LogAttrs(ctx, slog.LevelError, "window rebuild skipped a corrupt record batch",
				slog.String("topic", s.topic), slog.Int("partition", int(s.partition)), slog.Any("error", err))
		}
		if !waited(ctx, backoff(s.fails)) {
			return ctx.Err()
		}
	}
}

const (
	// scanBytes is how much is fetched at a time, compressed. Three of them are in memory,
	// one being looked at, one that waits and one being fetched, and the batch being looked
	// at, unpacked.
	scanBytes = 4 << 20
	// scanWait is how long a broker may wait for more before it answers.
	scanWait = 500 // milliseconds
)

// scan reads the headers of a partition's records [next, to), for an observer.
type scan struct {
	client    *kgo.Client
	topic     string
	partition int32
	next, to  int64
	observer  sink.Observer
	unpack    unpacker
	records   int64
	control   bool // there were control records

	damaged int64 // the batch that was not as it was written, the last time that one was
	fails   int   // how often in a row it was

	panicked error // of a batch that this build cannot unpack
}

// damagedAt notes that a batch is not as it was written.
func (s *scan) damagedAt(first int64) {
	if s.damaged != first {
		s.damaged, s.fails = first, 0
	}
	s.fails++
}

// fetched is one response.
type fetched struct {
	batches []byte
	next    int64 // the offset that comes after it
	err     error
}

func (s *scan) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	responses := make(chan fetched, 1)
	go s.fetchAll(ctx, responses)
	for {
		select {
		case f, more := <-responses:
			if !more {
				return nil
			}
			if f.err != nil {
				return f.err
			}
			if err := s.look(f.batches); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// fetchAll sends everything up to the end, then closes answers.
func (s *scan) fetchAll(ctx context.Context, responses chan<- fetched) {
	defer close(responses)
	leader, id, err := s.leader(ctx)
	fails := 0 // in a row, that nobody knows yet who leads
	for next := s.next; next < s.to; {
		f := fetched{err: err}
		if err == nil {
			f = s.fetch(ctx, leader, id, next)
			next = f.next
		}
		if errors.Is(f.err, kerr.NotLeaderForPartition) || errors.Is(f.err, kerr.UnknownLeaderEpoch) {
			if fails++; !waited(ctx, backoff(fails)) {
				return
			}
			leader, id, err = s.leader(ctx)
			continue
		}
		fails = 0
		select {
		case responses <- f:
		case <-ctx.Done():
			return
		}
		if f.err != nil {
			return
		}
	}
}

// waited lets time pass, and reports whether it all did before ctx ended.
func waited(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// leader returns who has the partition, and the topic's UUID.
func (s *scan) leader(ctx context.Context) (*kgo.Broker, [16]byte, error) {
	metadata, err := kadm.NewClient(s.client).Metadata(ctx, s.topic)
	if err != nil {
		return nil, [16]byte{}, fmt.Errorf("reading the leader: %w", err)
	}
	t := metadata.Topics[s.topic]
	p, ok := t.Partitions[s.partition]
	if err := errors.Join(t.Err, p.Err); err != nil || !ok {
		return nil, [16]byte{}, fmt.Errorf("reading the leader: %w", errors.Join(err, kerr.UnknownTopicOrPartition))
	}
	return s.client.Broker(int(p.Leader)), t.ID, nil
}

// fetch asks for what begins at an offset. Where the log begins later, because
// its start was removed meanwhile, it goes on there.
func (s *scan) fetch(ctx context.Context, leader *kgo.Broker, id [16]byte, offset int64) fetched {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = -1, scanWait, 1, scanBytes, -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = s.topic, id
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch, p.FetchOffset, p.PartitionMaxBytes = s.partition, -1, offset, scanBytes
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	response, err := leader.RetriableRequest(ctx, req)
	if err != nil {
		return fetched{next: offset, err: err}
	}
	resp, ok := response.(*kmsg.FetchResponse)
	if !ok || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return fetched{next: offset, err: errors.Join(errResponse, kerr.ErrorForCode(errorCode(resp)))}
	}
	got := &resp.Topics[0].Partitions[0]
	switch err := kerr.ErrorForCode(got.ErrorCode); {
	case errors.Is(err, kerr.OffsetOutOfRange) && got.LogStartOffset > offset:
		return fetched{next: got.LogStartOffset}
	case err != nil:
		return fetched{next: offset, err: err}
	case got.HighWatermark < s.to:
		return fetched{next: offset, err: fmt.Errorf("%w: at %d, before %d", errShort, got.HighWatermark, s.to)}
	}
	return fetched{batches: got.RecordBatches, next: max(offset, after(got.RecordBatches))}
}

var errResponse = errors.New("the broker's response does not match the request")

func errorCode(resp *kmsg.FetchResponse) int16 {
	if resp == nil {
		return 0
	}
	return resp.ErrorCode
}
