package kafka

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/platform/config"
)

// Log reads topics to their present ends, as a member of no group. It implements
// deadletter.Reader.
type Log struct {
	cfg config.Kafka
	log *slog.Logger
}

// NewLog returns a Log; log is told what its clients complain about.
func NewLog(cfg config.Kafka, log *slog.Logger) *Log { return &Log{cfg: cfg, log: log} }

// Read gives do every record that is in the topic, named without prefix, when it
// is called, and that was not written before since. What do is given is valid
// during the call.
func (l *Log) Read(
	ctx context.Context, topic string, since time.Time, do func(*record.Record, record.Position) error,
) error {
	opts := TapOptions{Topic: topic, Since: since, Exit: true, Log: l.log}
	return Tap(ctx, l.cfg, opts, func(t *Tapped) error { return do(&t.Record, t.Position) })
}

// At gives do the record at a position. There being none is an error.
func (l *Log) At(ctx context.Context, at record.Position, do func(*record.Record, record.Position) error) error {
	found := false
	opts := TapOptions{Topic: at.Topic, Only: &at, Exit: true, Log: l.log}
	err := Tap(ctx, l.cfg, opts, func(t *Tapped) error {
		if found = t.Position == at; !found {
			return nil // it was compacted away
		}
		return do(&t.Record, t.Position)
	})
	if err == nil && !found {
		err = fmt.Errorf("record %s/%d/%d does not exist", at.Topic, at.Partition, at.Offset)
	}
	return err
}
