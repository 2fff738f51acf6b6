package kafka

import (
	"context"
	"slices"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/deadletter"
	"github.com/millrace/millrace/internal/pipeline/verify"
)

// Records implements verify.Topic.
func (o *Offsets) Records(
	ctx context.Context, topic string, partition int32, from, to int64, do func(*verify.Record) error,
) error {
	var r verify.Record
	return o.Read(ctx, topic, partition, from, to, func(t *Tapped) error {
		r = verify.Record{
			Offset: t.Position.Offset, Key: t.Key, Value: t.Value, Time: t.Time.UnixMilli(), Hash: hashOf(t.Headers),
			Replayed: replayed(t.Headers),
		}
		return do(&r)
	})
}

// Letters implements verify.Topic.
func (o *Offsets) Letters(
	ctx context.Context, topic string, since int64, do func(*verify.Letter),
) error {
	dlq := topic + deadletter.Suffix
	_, bounds, err := o.Describe(ctx, dlq)
	if err != nil {
		return err
	}
	from, err := o.After(ctx, dlq, since)
	if err != nil {
		return err
	}
	for p, b := range bounds {
		if err := o.Read(ctx, dlq, p, from[p], b.End, func(t *Tapped) error {
			letter, err := deadletter.Parse(&t.Record, t.Position)
			if err == nil && letter.Source.Topic == topic {
				do(letterOf(letter))
			}
			return nil // what is no letter explains nothing
		}); err != nil {
			return err
		}
	}
	return nil
}

// letterOf returns what a dead letter says of its record. Headers that a sink could not read
// have kept the record from its window.
func letterOf(l *deadletter.Letter) *verify.Letter {
	v := &verify.Letter{Partition: l.Source.Partition, Offset: l.Source.Offset}
	if h, err := record.ParseHeaders(l.Headers); err == nil && l.Reason != deadletter.ReasonHeaders {
		v.Hash, v.Received = h.Hash, h.ReceivedAt
	}
	return v
}

// replayed reports whether a record is a dead letter that was sent again.
func replayed(headers []record.Header) bool {
	return slices.ContainsFunc(headers, func(h record.Header) bool { return h.Key == record.HeaderReplay })
}

// hashOf returns the hash of the event, zero where the header is missing or
// malformed.
func hashOf(headers []record.Header) record.Hash {
	for _, h := range headers {
		if h.Key == record.HeaderEventHash {
			hash, err := record.ParseHash(h.Value)
			if err != nil {
				return record.Hash{}
			}
			return hash
		}
	}
	return record.Hash{}
}
