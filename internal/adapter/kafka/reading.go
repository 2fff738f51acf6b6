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
	name   string // of the topic, with prefix
	// next is the offset that comes next in each partition that is read.
	next map[int32]int64
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
		if err := r.stopped(fetches); err != nil {
			return err
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

// stopped returns the error of a partition that could not be read on, with the offset at which
// that was; nil where all could.
func (r *reading) stopped(fetches kgo.Fetches) error {
	for _, f := range fetches.Errors() {
		if f.Topic == "" { // the client's own, of no partition
			return fmt.Errorf("reading %s: %w", r.name, f.Err)
		}
		return fmt.Errorf("reading %s/%d at offset %d: %w", r.name, f.Partition, r.next[f.Partition], f.Err)
	}
	return nil
}

// wants reports whether a record is one to give, and notes that its partition came so far.
func (r *reading) wants(rec *kgo.Record) bool {
	r.next[rec.Partition] = rec.Offset + 1
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
