package kafka

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/pipeline/repair"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
)

// A partition that brokers do not tell of is left out, and keeps none of the others from being told.
func TestWhatIsHeldIsToldAsFarAsBrokersDo(t *testing.T) {
	t.Parallel()
	cluster, cfg := kafkatest.Cluster(t, kfake.SeedTopics(2, "x"))
	o, err := NewOffsets(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if err := producerOf(t, cfg).ProduceSync(t.Context(), &kgo.Record{Topic: "x", Partition: 1}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	held, err := o.Held(t.Context(), "x")
	if diff := cmp.Diff(map[int32]repair.Bounds{0: {}, 1: {End: 1}}, held); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	kafkatest.WithholdOffsets(cluster, "x", 0)
	held, err = o.Held(t.Context(), "x")
	if diff := cmp.Diff(map[int32]repair.Bounds{1: {End: 1}}, held); diff != "" || !errors.Is(err, kerr.InvalidRequest) {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, bounds, err := o.Describe(t.Context(), "x"); err == nil {
		t.Errorf("whoever needs all of it is told %v", bounds)
	}
}

func newOffsets(t *testing.T) (*Offsets, config.Kafka) {
	t.Helper()
	_, cfg := kafkatest.Cluster(t, kfake.SeedTopics(2, "x"))
	o, err := NewOffsets(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	return o, cfg
}

func TestOffsetsOfAGroupAreSetAndRead(t *testing.T) {
	t.Parallel()
	o, _ := newOffsets(t)
	committed, err := o.Committed(t.Context(), "nobody", "x")
	if err != nil || len(committed) > 0 {
		t.Errorf("a group that never was has committed %v, %v", committed, err)
	}
	want := map[int32]repair.Committed{1: {Offset: 7, Metadata: `{"v":1}`}}
	if err := o.Commit(t.Context(), "g", "x", want); err != nil {
		t.Fatal(err)
	}
	if committed, err = o.Committed(t.Context(), "g", "x"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, committed); diff != "" {
		t.Errorf("committed (-want +got):\n%s", diff)
	}
}

func TestOffsetsOfAGroupWithMembersAreNotSet(t *testing.T) {
	t.Parallel()
	o, cfg := newOffsets(t)
	if members, err := o.Members(t.Context(), "g"); err != nil || len(members) > 0 {
		t.Errorf("a group that never was has the members %v, %v", members, err)
	}
	member, err := kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...), kgo.ConsumerGroup("g"), kgo.ConsumeTopics("x"),
		kgo.ClientID("somebody"), kgo.InstanceID("sink-0"))
	if err != nil {
		t.Fatal(err)
	}
	defer member.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go member.PollFetches(ctx)
	var members []string
	testkit.Eventually(t, time.Minute, func() error {
		members, err = o.Members(t.Context(), "g")
		if err == nil && len(members) == 0 {
			err = errNotJoined
		}
		return err
	})
	if diff := cmp.Diff([]string{"somebody sink-0 at 127.0.0.1"}, members); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if err := o.Commit(t.Context(), "g", "x", map[int32]repair.Committed{0: {Offset: 1}}); err == nil {
		t.Error("the broker takes an offset from somebody who is not in the group")
	}
}

func TestAPartOfAPartitionIsRead(t *testing.T) {
	t.Parallel()
	o, cfg := newOffsets(t)
	client, err := kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	begin := time.Now().Truncate(time.Second)
	for i := range 5 {
		r := &kgo.Record{
			Topic: "x", Partition: 1, Value: []byte{byte('a' + i)}, Timestamp: begin.Add(time.Duration(i) * time.Second),
		}
		if err := client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	_, bounds, err := o.Describe(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[int32]repair.Bounds{0: {}, 1: {End: 5}}, bounds); diff != "" {
		t.Errorf("bounds (-want +got):\n%s", diff)
	}
	after, err := o.After(t.Context(), "x", begin.Add(2500*time.Millisecond).UnixMilli())
	if err != nil || after[1] != 3 || after[0] != 0 {
		t.Errorf("after 2.5 s come the offsets %v, %v", after, err)
	}
	read := func(from, to int64) (string, error) {
		var got string
		err := o.Values(t.Context(), "x", 1, from, to, func(value []byte) error {
			got += string(value)
			return nil
		})
		return got, err
	}
	for _, tt := range []struct {
		from, to int64
		want     string
	}{{0, 5, "abcde"}, {1, 3, "bc"}, {4, 5, "e"}, {2, 2, ""}, {3, 1, ""}} {
		if got, err := read(tt.from, tt.to); got != tt.want || err != nil {
			t.Errorf("[%d, %d) reads %q, %v; want %q", tt.from, tt.to, got, err, tt.want)
		}
	}
	if _, err := read(4, 6); err == nil {
		t.Error("a range beyond the end is read")
	}
	if _, _, err := o.Describe(t.Context(), "y"); err == nil {
		t.Error("a topic that is not there is described")
	}
}
