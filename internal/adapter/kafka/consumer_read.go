package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/pipeline/sink"
)

var errShort = errors.New("the log ended early")

// LogStart implements sink.Reader.
func (c *Consumer) LogStart(ctx context.Context, p sink.Partition) (int64, error) {
	name := TopicName(c.cfg, p.Topic)
	<-c.opened
	starts, err := c.admin.ListStartOffsets(ctx, name)
	if err == nil {
		err = starts[name][p.Index].Err
	}
	if err != nil {
		return 0, fmt.Errorf("reading the log start of %s/%d: %w", p.Topic, p.Index, err)
	}
	return starts[name][p.Index].Offset, nil
}

// Holds implements sink.Reader.
func (c *Consumer) Holds(ctx context.Context, p sink.Partition, offsets ledger.Span) (bool, error) {
	<-c.opened
	s := scan{
		topic: TopicName(c.cfg, p.Topic), partition: p.Index, next: offsets.First, to: offsets.Last + 1, observer: nobody{},
	}
	if err := c.scan(ctx, &s); err != nil {
		return false, fmt.Errorf("finding records of %s/%d at %d-%d: %w",
			p.Topic, p.Index, offsets.First, offsets.Last, err)
	}
	return s.control || s.records > 0, nil
}

// nobody is an observer for a scan that counts.
type nobody struct{}

// Expect implements sink.Observer.
func (nobody) Expect(int64) {}

// Observe implements sink.Observer.
func (nobody) Observe(record.Hash, int64) (int32, bool) { return 0, false }
