package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/testkit"
)

// Partitions of which it is not known where they begin do not keep the others, are tried again
// at growing distances, and begin once it is known.
func TestPartitionsThatCannotBeginDoNotHoldUpTheOthers(t *testing.T) {
	t.Parallel()
	other := sink.Partition{Topic: record.TopicEvents, Index: 1}
	for _, tc := range []struct {
		name string
		// fail returns what ends the fault.
		fail func(t *testing.T, r *reader, c *kfake.Cluster) (mend func())
	}{
		{"no right to one of them", func(_ *testing.T, _ *reader, c *kfake.Cluster) func() {
			return c.Fault(kfake.Fault{
				Keys: []kmsg.Key{kmsg.ListOffsets}, Partitions: []int32{1}, Err: kerr.TopicAuthorizationFailed, Count: -1,
			}).Remove
		}},
		{"one has no leader", func(t *testing.T, r *reader, c *kfake.Cluster) func() {
			t.Helper()
			return leaderless(t, r, c, 1)
		}},
		{"a broker hangs", func(t *testing.T, _ *reader, c *kfake.Cluster) func() {
			t.Helper()
			if err := c.MoveTopicPartition(record.TopicEvents, 0, 0); err != nil {
				t.Fatal(err)
			}
			if err := c.MoveTopicPartition(record.TopicEvents, 1, 1); err != nil {
				t.Fatal(err)
			}
			return hang(t, c, 1)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r, cluster := newReaderOf(t, 2, 2)
			testkit.Eventually(t, time.Minute, func() error {
				if n := len(r.noted()); n < 2 {
					return fmt.Errorf("%d partitions assigned", n)
				}
				return r.Poll(t.Context(), 1<<20, func(sink.Delivery) {})
			})
			mend := tc.fail(t, r, cluster)
			asked := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Observe: true, Count: -1})
			t.Cleanup(asked.Remove)
			r.Rewind(only)
			r.Rewind(other)
			r.produce(t, 0, 3) // to the first one
			got := map[int32]int{}
			poll := func(ctx context.Context) error {
				return r.Poll(ctx, 1<<20, func(d sink.Delivery) { got[d.Partition.Index] += len(d.Records) })
			}
			testkit.Eventually(t, time.Minute, func() error {
				if err := poll(t.Context()); err != nil {
					return err
				}
				if got[0] < 3 {
					return fmt.Errorf("%v records were delivered", got)
				}
				return nil
			})
			for range 10 {
				if err := poll(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if n := asked.Hits(); n > 5 {
				t.Errorf("asked %d times in 10 polls or so", n)
			}
			if r.begun(other) {
				t.Error("the other partition began, though it is not known where")
			}
			mend()
			testkit.Eventually(t, time.Minute, func() error {
				if err := poll(t.Context()); err != nil {
					return err
				}
				if !r.begun(other) {
					return fmt.Errorf("%v has not begun again", other)
				}
				return nil
			})
		})
	}
}

// To take an error for "nothing was committed" would be to begin at the start of the log.
func TestAnErrorAboutWhatWasCommittedIsNotNothing(t *testing.T) {
	t.Parallel()
	r, _ := newReaderOf(t, 1, 1)
	all, err := r.admin.Metadata(t.Context(), record.TopicEvents)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name      string
		committed kadm.OffsetResponse
		want      int64
		err       error
	}{
		{"known", kadm.OffsetResponse{Offset: kadm.Offset{At: 7}}, 7, nil},
		{"none", kadm.OffsetResponse{Offset: kadm.Offset{At: -1}}, -1, nil},
		{
			"an error",
			kadm.OffsetResponse{Offset: kadm.Offset{At: -1}, Err: kerr.UnstableOffsetCommit},
			0,
			kerr.UnstableOffsetCommit,
		},
	} {
		got, err := r.assignment(only, all.Topics, kadm.OffsetResponses{record.TopicEvents: {0: tc.committed}})
		if !errors.Is(err, tc.err) || err == nil && got.Committed != tc.want {
			t.Errorf("%s: committed %d, %v; want %d, %v", tc.name, got.Committed, err, tc.want, tc.err)
		}
	}
}

// hang has a broker not respond when it is asked for offsets, until it is mended.
func hang(t *testing.T, c *kfake.Cluster, node int32) (mend func()) {
	t.Helper()
	mended := make(chan struct{})
	mend = sync.OnceFunc(func() { close(mended) })
	t.Cleanup(mend)
	c.ControlKey(kmsg.ListOffsets.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if c.CurrentNode() == node {
			c.SleepControl(func() { <-mended })
		}
		return nil, nil, false
	})
	return mend
}

// leaderless has brokers say that a partition of the topic has no leader, until it is mended.
func leaderless(t *testing.T, r *reader, c *kfake.Cluster, partition int32) (mend func()) {
	t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = kmsg.StringPtr(record.TopicEvents)
	req.Topics = append(req.Topics, topic)
	told, err := req.RequestWith(t.Context(), r.client)
	if err != nil {
		t.Fatal(err)
	}
	for i := range told.Topics[0].Partitions {
		if p := &told.Topics[0].Partitions[i]; p.Partition == partition {
			p.Leader, p.ErrorCode = -1, kerr.LeaderNotAvailable.Code
		}
	}
	var mended atomic.Bool
	c.ControlKey(kmsg.Metadata.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if mended.Load() {
			return nil, nil, false
		}
		resp := *told
		resp.SetVersion(req.GetVersion())
		return &resp, nil, true
	})
	testkit.Eventually(t, time.Minute, func() error { // what the client asked before is remembered for a second
		if all, err := r.admin.Metadata(t.Context(), record.TopicEvents); err != nil ||
			all.Topics[record.TopicEvents].Partitions[partition].Leader >= 0 {
			return fmt.Errorf("partition %d has a leader: %v, %w", partition, all, err)
		}
		return nil
	})
	return func() { mended.Store(true) }
}

// begun reports whether a partition is owned and read.
func (r *reader) begun(p sink.Partition) bool {
	rewinding := r.isRewinding(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	return !rewinding && r.owned[p]
}
