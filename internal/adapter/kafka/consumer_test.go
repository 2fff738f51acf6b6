package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/internal/pipeline/sink/buffer"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
)

var only = sink.Partition{Topic: record.TopicEvents, Index: 0}

// reader is an owner of one partition that notes what happens to it.
type reader struct {
	*Consumer

	client  *kgo.Client
	cluster *kfake.Cluster
	mu      sync.Mutex
	calls   []string
	topic   [16]byte
}

func (r *reader) note(call string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, call)
}

func (r *reader) Assigned(_ context.Context, as []sink.Assignment) {
	for _, a := range as {
		r.note("assigned")
		r.topic = a.TopicID
	}
}

func (r *reader) Revoked(_ context.Context, ps []sink.Partition) {
	for range ps {
		r.note("revoked")
	}
}

func (r *reader) Lost(_ context.Context, ps []sink.Partition) {
	for range ps {
		r.note("lost")
	}
}

func (r *reader) Gone(_ context.Context, _ sink.Partition, err error) {
	switch {
	case errors.Is(err, sink.ErrPanicked) && errors.Is(err, buffer.ErrUnreadable):
		r.note("panicked")
	case errors.Is(err, buffer.ErrUnreadable):
		r.note("unreadable")
	case errors.Is(err, sink.ErrTruncated):
		r.note("truncated")
	default:
		r.note("gone")
	}
}

func (r *reader) noted() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.calls...)
}

// newReader opens a consumer of a topic with one partition that holds n records,
// whose values are their offsets.
func newReader(t *testing.T, n int) *reader {
	t.Helper()
	cluster, cfg := kafkatest.Cluster(t, kfake.SeedTopics(1, record.TopicEvents))
	producer, err := kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(producer.Close)
	r := &reader{client: producer, cluster: cluster}
	r.produce(t, 0, n)

	r.Consumer, err = NewConsumer(cfg, config.Default().Sink, []string{record.TopicEvents}, ConsumerDeps{
		Client: "test", Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Open(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func (r *reader) produce(t *testing.T, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		rec := &kgo.Record{Topic: record.TopicEvents, Value: fmt.Append(nil, n)}
		if err := r.client.ProduceSync(t.Context(), rec).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// read polls until n records came, and returns their offsets and the last
// session.
func (r *reader) read(t *testing.T, n int) (offsets []int64, s sink.Session) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for len(offsets) < n {
		if err := r.Poll(ctx, 1<<20, func(b sink.Delivery) {
			s = b.Session
			for _, rec := range b.Records {
				if string(rec.Value) != strconv.FormatInt(rec.Offset, 10) {
					t.Errorf("offset %d reads %q", rec.Offset, rec.Value)
				}
				offsets = append(offsets, rec.Offset)
			}
		}); err != nil {
			t.Fatal(err)
		}
		if ctx.Err() != nil {
			t.Fatalf("%d records came, want %d", len(offsets), n)
		}
	}
	return offsets, s
}

// committed returns the group's offset and its metadata; -1 for none.
func (r *reader) committed(t *testing.T) (int64, string) {
	t.Helper()
	all, err := kadm.NewClient(r.client).FetchOffsets(t.Context(), r.sink.Group)
	if err != nil {
		return -1, ""
	}
	o, ok := all.Lookup(record.TopicEvents, 0)
	if !ok {
		return -1, ""
	}
	return o.At, o.Metadata
}

func TestACommitCarriesOffsetAndMetadata(t *testing.T) {
	t.Parallel()
	r := newReader(t, 3)
	_, s := r.read(t, 3)
	if err := r.Commit(t.Context(), only, s, sink.Progress{Next: 2, Metadata: `{"p":[2,3]}`}); err != nil {
		t.Fatal(err)
	}
	if at, metadata := r.committed(t); at != 2 || metadata != `{"p":[2,3]}` {
		t.Errorf("committed %d with %q", at, metadata)
	}
	if r.topic == ([16]byte{}) {
		t.Error("the assignment has no topic id")
	}
}

// The epoch of a record's leader is known with the record, and what was committed comes
// with the next assignment.
func TestACommitCarriesTheLeaderEpoch(t *testing.T) {
	t.Parallel()
	r := newReader(t, 1)
	// to the same broker, which is another term
	if err := r.cluster.MoveTopicPartition(record.TopicEvents, 0, 0); err != nil {
		t.Fatal(err)
	}
	r.produce(t, 1, 2)
	var epochs []int32
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var s sink.Session
	for len(epochs) < 2 && ctx.Err() == nil {
		if err := r.Poll(ctx, 1<<20, func(b sink.Delivery) {
			s = b.Session
			for _, rec := range b.Records {
				epochs = append(epochs, rec.LeaderEpoch)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	if len(epochs) != 2 || epochs[0] >= epochs[1] {
		t.Fatalf("the records' epochs are %v, want the second one higher", epochs)
	}
	if err := r.Commit(ctx, only, s, sink.Progress{Next: 2, LeaderEpoch: epochs[1]}); err != nil {
		t.Fatal(err)
	}
	all, err := kadm.NewClient(r.client).FetchOffsets(ctx, r.sink.Group)
	if err != nil {
		t.Fatal(err)
	}
	if o, _ := all.Lookup(record.TopicEvents, 0); o.LeaderEpoch != epochs[1] {
		t.Errorf("committed with epoch %d, want %d", o.LeaderEpoch, epochs[1])
	}
	as, err := r.assignments(ctx, []sink.Partition{only})
	if err != nil || as[0].LeaderEpoch != epochs[1] {
		t.Errorf("assigned %+v, %v", as, err)
	}
}

func TestWhoMayCommit(t *testing.T) {
	t.Parallel()
	r := newReader(t, 3)
	_, s := r.read(t, 3)
	other := sink.Partition{Topic: record.TopicEvents, Index: 7}
	for _, tc := range []struct {
		name      string
		partition sink.Partition
		session   sink.Session
		fenced    bool
	}{
		{"the reader", only, s, false},
		{
			"the reader of an older generation, the partition kept", only,
			sink.Session{Member: s.Member, Generation: s.Generation - 1},
			false,
		},
		{"a generation that has not come", only, sink.Session{Member: s.Member, Generation: s.Generation + 1}, true},
		{"another member", only, sink.Session{Member: "gone", Generation: s.Generation}, true},
		{"no member", only, sink.Session{}, true},
		{"a partition that is not owned", other, s, true},
	} {
		before, _ := r.committed(t)
		next := before + 2
		err := r.Commit(t.Context(), tc.partition, tc.session, sink.Progress{Next: next})
		if fenced := errors.Is(err, sink.ErrFenced); fenced != tc.fenced || !fenced && err != nil {
			t.Errorf("%s: %v, want fenced %v", tc.name, err, tc.fenced)
		}
		if after, _ := r.committed(t); (after == next) == tc.fenced {
			t.Errorf("%s: committed %d after %d", tc.name, after, before)
		}
	}
}

func TestARewoundPartitionBeginsAtItsCommit(t *testing.T) {
	t.Parallel()
	r := newReader(t, 5)
	_, s := r.read(t, 5)
	if err := r.Commit(t.Context(), only, s, sink.Progress{Next: 3}); err != nil {
		t.Fatal(err)
	}
	r.Rewind(only)
	if err := r.Commit(t.Context(), only, s, sink.Progress{Next: 5}); !errors.Is(err, sink.ErrFenced) {
		t.Errorf("Commit() = %v while a rewind is due, want ErrFenced", err)
	}
	again, _ := r.read(t, 2)
	if diff := cmp.Diff([]int64{3, 4}, again); diff != "" {
		t.Errorf("offsets (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"assigned", "lost", "assigned"}, r.noted()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestAPartitionRewoundBeforeAnyCommitBeginsAtTheStart(t *testing.T) {
	t.Parallel()
	r := newReader(t, 2)
	r.read(t, 2)
	r.Rewind(only)
	again, _ := r.read(t, 2)
	if diff := cmp.Diff([]int64{0, 1}, again); diff != "" {
		t.Errorf("offsets (-want +got):\n%s", diff)
	}
}

func TestAPausedPartitionStaysOwnedAndGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	r := newReader(t, 2)
	r.read(t, 2)
	r.Pause(only)
	r.produce(t, 2, 4)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := r.Poll(ctx, 1<<20, func(sink.Delivery) { t.Error("a paused partition was delivered") }); err != nil {
		t.Fatal(err)
	}
	r.Resume(only)
	more, _ := r.read(t, 2)
	if diff := cmp.Diff([]int64{2, 3}, more); diff != "" {
		t.Errorf("offsets (-want +got):\n%s", diff)
	}
}

func TestDataThatIsGoneStopsAPartition(t *testing.T) {
	t.Parallel()
	r := newReader(t, 5)
	_, s := r.read(t, 5)
	if err := r.Commit(t.Context(), only, s, sink.Progress{Next: 2}); err != nil {
		t.Fatal(err)
	}
	admin := kadm.NewClient(r.client)
	var gone kadm.Offsets
	gone.Add(kadm.Offset{Topic: record.TopicEvents, Partition: 0, At: 4})
	if _, err := admin.DeleteRecords(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	r.Rewind(only)
	poll := func() { // for pollWait at most: a context that ends with it would end the rewinding too
		t.Helper()
		if err := r.Poll(t.Context(), 1<<20, func(b sink.Delivery) {
			t.Errorf("jumped over lost data to offset %d", b.Records[0].Offset)
		}); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Eventually(t, time.Minute, func() error {
		poll()
		if !slices.Contains(r.noted(), "gone") {
			return fmt.Errorf("the owner was not told: %q", r.noted())
		}
		return nil
	})
	for next := 5; next < 8; next++ {
		r.produce(t, next, next+1) // for a client that has jumped to the end
		for began := time.Now(); time.Since(began) < time.Second; {
			poll()
		}
	}
}

func TestAPollIsBoundedByBytes(t *testing.T) {
	t.Parallel()
	r := newReader(t, 200)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for got := 0; got < 200; {
		before := got
		if err := r.Poll(ctx, 10*inHand, func(b sink.Delivery) { got += len(b.Records) }); err != nil || ctx.Err() != nil {
			t.Fatal(err, ctx.Err())
		}
		if got-before > 10 {
			t.Errorf("%d records in one poll, asked for 10 at most", got-before)
		}
	}
}

func TestAConsumerIsReadyOnceItHasJoined(t *testing.T) {
	t.Parallel()
	r := newReader(t, 1)
	r.read(t, 1)
	if err := r.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	idle, err := NewConsumer(r.cfg, r.sink, []string{record.TopicEvents}, ConsumerDeps{
		Client: "idle", Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if idle.Ready(t.Context()) == nil {
		t.Error("ready before it was opened")
	}
}

// A second member takes a share; the first keeps the other and goes on.
func TestAJoiningMemberInterruptsNothingThatIsKept(t *testing.T) {
	t.Parallel()
	_, cfg := kafkatest.Cluster(t, kfake.SeedTopics(2, record.TopicEvents))
	client, err := kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	open := func(name string) *reader {
		r := &reader{client: client}
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
		return r
	}
	await := func(r *reader, want []string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		for !cmp.Equal(want, r.noted()) {
			if err := r.Poll(ctx, 1<<20, func(sink.Delivery) {}); err != nil || ctx.Err() != nil {
				t.Fatalf("calls %q, want %q: %v", r.noted(), want, err)
			}
		}
	}
	first := open("first")
	await(first, []string{"assigned", "assigned"})
	session := first.currentSession()
	second := open("second")
	await(first, []string{"assigned", "assigned", "revoked"})
	await(second, []string{"assigned"})

	kept := sink.Partition{Topic: record.TopicEvents, Index: 0}
	if !first.owned[kept] {
		kept.Index = 1
	}
	if err := first.Commit(t.Context(), kept, session, sink.Progress{Next: 1}); err != nil {
		t.Errorf("committing what was kept, under the generation it was read in: %v", err)
	}
	taken := sink.Partition{Topic: record.TopicEvents, Index: 1 - kept.Index}
	if err := first.Commit(t.Context(), taken, session, sink.Progress{Next: 1}); !errors.Is(err, sink.ErrFenced) {
		t.Errorf("committing what was taken away: %v, want ErrFenced", err)
	}
}

// The group forgets the member while a poll waits: within that one call the client
// loses its partitions, joins anew, gets them back, and reads records of the new
// assignment, which must not be taken for those of the old one and dropped.
func TestWhatIsReadRightAfterAMembershipWasLostIsDelivered(t *testing.T) {
	t.Parallel()
	r := newReader(t, 5)
	_, old := r.read(t, 5)
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = r.sink.Group
	member := kmsg.NewLeaveGroupRequestMember()
	member.MemberID = old.Member
	req.Members = append(req.Members, member)
	if _, err := req.RequestWith(t.Context(), r.client); err != nil {
		t.Fatal(err)
	}
	offsets, s := r.read(t, 5)
	if diff := cmp.Diff([]int64{0, 1, 2, 3, 4}, offsets); diff != "" {
		t.Errorf("offsets, nothing of which was committed (-want +got):\n%s", diff)
	}
	if s.Member == old.Member {
		t.Error("the member is still the one that was forgotten")
	}
}
