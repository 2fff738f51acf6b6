package kafka

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/record"
	"github.com/millrace/millrace/internal/sink"
)

// The headers that a dead letter has after the original record's.
const (
	HeaderDeadReason    = "dlq-reason"     // a sink.Reason
	HeaderDeadTopic     = "dlq-topic"      // where the record stood, without prefix
	HeaderDeadPartition = "dlq-partition"  // decimal
	HeaderDeadOffset    = "dlq-offset"     // decimal
	HeaderDeadError     = "dlq-error"      // for people, at most MaxDeadErrorBytes
	HeaderDeadFirstSeen = "dlq-first-seen" // Unix milliseconds, decimal
)

// MaxDeadErrorBytes is how much of an error a dead letter keeps.
const MaxDeadErrorBytes = 256

// deadLetterBatchBytes lets a record that was as large as its topic allows take
// the further headers along; the dead letter topics allow for it.
const deadLetterBatchBytes = 2<<20 - 1024

// Send implements sink.DeadLetters: each letter goes to its topic's dead letter
// topic, with the original key, value and headers. A letter that is sent again
// after an error may be there twice; source topic, partition and offset tell.
func (c *Consumer) Send(ctx context.Context, letters []sink.DeadLetter) error {
	if c.client == nil {
		return errNotOpen
	}
	now := time.Now()
	records := make([]*kgo.Record, len(letters))
	for i := range letters {
		records[i] = c.deadLetter(&letters[i], now)
	}
	if err := c.client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return fmt.Errorf("sending %d dead letters: %w", len(letters), err)
	}
	return nil
}

func (c *Consumer) deadLetter(l *sink.DeadLetter, now time.Time) *kgo.Record {
	text := func(key, value string) record.Header { return record.Header{Key: key, Value: []byte(value)} }
	headers := append(l.Record.Original.AppendHeaders(nil),
		text(HeaderDeadReason, string(l.Reason)),
		text(HeaderDeadTopic, l.Partition.Topic),
		text(HeaderDeadPartition, strconv.Itoa(int(l.Partition.Index))),
		text(HeaderDeadOffset, strconv.FormatInt(l.Record.Offset, 10)),
		text(HeaderDeadError, clip(l.Err.Error(), MaxDeadErrorBytes)),
		text(HeaderDeadFirstSeen, strconv.FormatInt(now.UnixMilli(), 10)),
	)
	r := &kgo.Record{
		Topic: TopicName(c.cfg, l.Partition.Topic+DeadLetterSuffix), Timestamp: now,
		Key: l.Record.Original.RecordKey(), Value: l.Record.Value, Headers: make([]kgo.RecordHeader, len(headers)),
	}
	for i, h := range headers {
		r.Headers[i] = kgo.RecordHeader{Key: h.Key, Value: h.Value}
	}
	return r
}

// clip returns at most n bytes of s.
func clip(s string, n int) string { return s[:min(n, len(s))] }
