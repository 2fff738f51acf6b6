package kafka

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/deadletter"
	"github.com/millrace/millrace/internal/pipeline/sink"
)

// deadLetterBatchBytes lets a record that was as large as its topic allows take
// the further headers along; the dead letter topics allow for it. What was compressed to
// that size may be larger: originalOf cuts it to what fits.
const deadLetterBatchBytes = 2<<20 - 1024

// Send implements sink.DeadLetters: each letter goes to its topic's dead letter
// topic, with the original key, value and headers, or the beginning of what is too large,
// and those of package deadletter. A letter that is sent again after an error may be there twice;
// source topic, partition and offset tell. A reason that package deadletter does
// not know is an error, and nothing is sent.
func (c *Consumer) Send(ctx context.Context, letters []sink.DeadLetter) error {
	if c.client == nil {
		return errNotOpen
	}
	now := time.Now()
	records := make([]*kgo.Record, len(letters))
	for i := range letters {
		r, err := c.deadLetter(&letters[i], now)
		if err != nil {
			return fmt.Errorf("creating %d dead letters: %w", len(letters), err)
		}
		records[i] = r
	}
	if err := c.client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return fmt.Errorf("sending %d dead letters: %w", len(letters), err)
	}
	return nil
}

func (c *Consumer) deadLetter(l *sink.DeadLetter, now time.Time) (*kgo.Record, error) {
	headers, err := deadletter.Note{
		Source: record.Position{Topic: l.Partition.Topic, Partition: l.Partition.Index, Offset: l.Original.Offset},
		Reason: l.Reason, Err: l.Err, At: now, Cut: l.Original.Cut,
	}.Append(slices.Clone(l.Original.Headers))
	if err != nil {
		return nil, err
	}
	r := &kgo.Record{
		Topic: TopicName(c.cfg, l.Partition.Topic+deadletter.Suffix), Timestamp: now,
		Key: l.Original.Key, Value: l.Original.Value, Headers: make([]kgo.RecordHeader, len(headers)),
	}
	for i, h := range headers {
		r.Headers[i] = kgo.RecordHeader{Key: h.Key, Value: h.Value}
	}
	return r, nil
}
