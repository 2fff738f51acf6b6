package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// reading gives the records of a topic as they come, in order within a partition. Its client
// belongs to no group, consumes partitions of the one topic, and keeps control records: they
// may be the last ones, and are read to see the end.
type reading struct {
	client *kgo.Client
	topic  string // without prefix
	what   string // is read, for errors
	// left is the offset after the last record of each partition that is still to be read;
	// nil reads whatever comes, for ever.
	left map[int32]int64
}

// run gives the records to do until none is left. It returns do's error, and the context's.
func (r *reading) run(ctx context.Context, do func(*Tapped) error) error {
	t := Tapped{}
	for r.left == nil || len(r.left) > 0 {
		fetches := r.client.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("reading %s: %w", r.what, err)
		}
		for iter := fetches.RecordIter(); !iter.Done(); {
			rec := iter.Next()
			if !r.wants(rec) {
				continue
			}
			t.fill(r.topic, rec)
			if err := do(&t); err != nil {
				return err
			}
		}
	}
	return nil
}

// wants reports whether a record is one to give, and notes that its partition came so far.
func (r *reading) wants(rec *kgo.Record) bool {
	if r.left != nil {
		end, bounded := r.left[rec.Partition]
		if bounded && rec.Offset >= end-1 {
			delete(r.left, rec.Partition)
		}
		if !bounded || rec.Offset >= end { // it came later
			return false
		}
	}
	return !rec.Attrs.IsControl()
}
