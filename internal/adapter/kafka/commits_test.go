package kafka

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/platform/config"
)

// member opens a consumer of a cluster and waits until it owns so many partitions.
func member(t *testing.T, cfg config.Kafka, name string, partitions int) *reader {
	t.Helper()
	r := &reader{}
	var err error
	r.Consumer, err = NewConsumer(cfg, config.Default().Sink, []string{record.TopicEvents}, ConsumerDeps{
		Client: name, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Open(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for len(r.noted()) < partitions {
		if err := r.Poll(ctx, 1<<20, func(sink.Delivery) {}); err != nil || ctx.Err() != nil {
			t.Fatalf("%d partitions of %d: %v", len(r.noted()), partitions, err)
		}
	}
	return r
}

// commitAll commits 1 for each of the partitions at once, and returns the errors.
func (r *reader) commitAll(t *testing.T, s sink.Session, partitions int) []error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	errs := make([]error, partitions)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			errs[i] = r.Commit(ctx, sink.Partition{Topic: record.TopicEvents, Index: int32(i)}, s, sink.Progress{Next: 1})
		})
	}
	all.Wait()
	return errs
}

func TestCommitsThatWaitGoTogether(t *testing.T) {
	t.Parallel()
	const n = 20
	cluster, cfg := kafkatest.Cluster(t, kfake.SeedTopics(n, record.TopicEvents))
	r := member(t, cfg, "test", n)
	var requests, partitions atomic.Int64
	begun, others := make(chan struct{}), make(chan struct{})
	cluster.ControlKey(int16(kmsg.OffsetCommit), func(req kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		if commit, ok := req.(*kmsg.OffsetCommitRequest); ok && len(commit.Topics) > 0 {
			partitions.Add(int64(len(commit.Topics[0].Partitions)))
		}
		if requests.Add(1) == 1 { // is under way until the others wait
			close(begun)
			cluster.SleepControl(func() { <-others })
		}
		return nil, nil, false
	})
	r.Rewind(sink.Partition{Topic: record.TopicEvents, Index: 7}) // and so is fenced
	go func() {
		<-begun
		_ = waitFor(func() bool {
			r.commits.mu.Lock()
			defer r.commits.mu.Unlock()
			return int64(len(r.commits.waiting))+partitions.Load() >= n-1
		})
		close(others)
	}()
	for i, err := range r.commitAll(t, r.currentSession(), n) {
		if fenced := errors.Is(err, sink.ErrFenced); fenced != (i == 7) || !fenced && err != nil {
			t.Errorf("partition %d: %v", i, err)
		}
	}
	if requests.Load() > 2 || partitions.Load() != n-1 {
		t.Errorf("%d partitions in %d requests, want %d in 2 at most", partitions.Load(), requests.Load(), n-1)
	}
}

// waitFor waits for a condition, for a minute at most.
func waitFor(is func() bool) error {
	for end := time.Now().Add(time.Minute); !is(); <-time.After(time.Millisecond) {
		if time.Now().After(end) {
			return context.DeadlineExceeded
		}
	}
	return nil
}

// While the group waits for its slowest member to join, what is kept is committed.
func TestWhatIsKeptIsCommittedWhileOthersJoin(t *testing.T) {
	t.Parallel()
	cluster, cfg := kafkatest.Cluster(t, kfake.SeedTopics(2, record.TopicEvents))
	first := member(t, cfg, "first", 2)
	session := first.currentSession()
	joining, joined := make(chan struct{}), make(chan struct{})
	var once sync.Once
	cluster.ControlKey(int16(kmsg.JoinGroup), func(req kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		if join, ok := req.(*kmsg.JoinGroupRequest); ok && join.MemberID == session.Member {
			once.Do(func() { close(joining) })
			cluster.SleepControl(func() { <-joined })
		}
		return nil, nil, false
	})
	ctx, cancel := context.WithCancel(t.Context())
	var polls sync.WaitGroup
	t.Cleanup(func() { cancel(); polls.Wait() })
	poll := func(r *reader) {
		polls.Go(func() {
			for ctx.Err() == nil {
				_ = r.Poll(ctx, 1<<20, func(sink.Delivery) {})
			}
		})
	}
	poll(first)
	poll(member(t, cfg, "second", 0))
	<-joining
	for i, err := range first.commitAll(t, session, 2) {
		if err != nil {
			t.Errorf("partition %d, which is kept: %v", i, err)
		}
	}
	close(joined)
}

// A commit may arrive while a generation is made, or just after one has begun that the
// member has not heard of.
func TestACommitBetweenTwoGenerationsIsSentAgain(t *testing.T) {
	t.Parallel()
	cluster, cfg := kafkatest.Cluster(t, kfake.SeedTopics(1, record.TopicEvents))
	r := member(t, cfg, "test", 1)
	codes := []*kerr.Error{kerr.RebalanceInProgress, kerr.IllegalGeneration}
	cluster.ControlKey(int16(kmsg.OffsetCommit), func(req kmsg.Request) (kmsg.Response, error, bool) {
		if len(codes) == 0 {
			return nil, nil, false
		}
		cluster.KeepControl()
		commit, ok := req.(*kmsg.OffsetCommitRequest)
		if !ok {
			return nil, nil, false
		}
		resp, _ := commit.ResponseKind().(*kmsg.OffsetCommitResponse)
		resp.Version = commit.Version
		resp.Topics = []kmsg.OffsetCommitResponseTopic{{
			Topic: commit.Topics[0].Topic, TopicID: commit.Topics[0].TopicID,
			Partitions: []kmsg.OffsetCommitResponseTopicPartition{{ErrorCode: codes[0].Code}},
		}}
		codes = codes[1:]
		return resp, nil, true
	})
	if err := r.commitAll(t, r.currentSession(), 1)[0]; err != nil {
		t.Error(err)
	}
	if len(codes) != 0 {
		t.Errorf("%d errors were not met", len(codes))
	}
}

func TestACommitThatNobodyWaitsForIsNotSent(t *testing.T) {
	t.Parallel()
	r := member(t, mustCluster(t), "test", 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Commit(ctx, only, r.currentSession(), sink.Progress{Next: 5}); !errors.Is(err, context.Canceled) {
		t.Errorf("Commit() = %v", err)
	}
	if err := r.commitAll(t, r.currentSession(), 1)[0]; err != nil {
		t.Fatal(err)
	}
	all, err := r.admin.FetchOffsets(t.Context(), r.sink.Group)
	if err != nil {
		t.Fatal(err)
	}
	if o, _ := all.Lookup(record.TopicEvents, 0); o.At != 1 {
		t.Errorf("committed %d, want 1", o.At)
	}
}

func mustCluster(t *testing.T) config.Kafka {
	t.Helper()
	_, cfg := kafkatest.Cluster(t, kfake.SeedTopics(1, record.TopicEvents))
	return cfg
}
