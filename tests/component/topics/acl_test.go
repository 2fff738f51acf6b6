package topics

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/services"
)

// session is a client of one user.
type session struct {
	*kgo.Client
	admin *kadm.Client
}

func signIn(t *testing.T, cfg config.Kafka, opts ...kgo.Opt) session {
	t.Helper()
	ours, err := kafka.ClientOptions(cfg, "test", slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(append(ours, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return session{client, kadm.NewClient(client)}
}

func (s session) write(ctx context.Context, topic string) error {
	return s.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte("{}")}).FirstErr()
}

// read fetches from the start of partition 0, in no group.
func (s session) read(ctx context.Context, topic string) error {
	s.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}})
	defer s.RemoveConsumePartitions(map[string][]int32{topic: {0}})
	fetches := s.PollFetches(ctx)
	if err := fetches.Err(); err != nil {
		return err
	}
	if fetches.NumRecords() == 0 {
		return errors.New("nothing came")
	}
	return nil
}

func (s session) commit(ctx context.Context, group, topic string) error {
	var offsets kadm.Offsets
	offsets.AddOffset(topic, 0, 1, -1)
	committed, err := s.admin.CommitOffsets(ctx, group, offsets)
	return errors.Join(err, committed.Error())
}

// TestATapperReadsWhatItMayAndNothingElse asks Apache Kafka's own authorizer.
func TestATapperReadsWhatItMayAndNothingElse(t *testing.T) {
	t.Parallel()
	server := services.Own(t, services.KindKafkaACL)
	admin, alice := server.KafkaUser("admin"), server.KafkaUser("alice")
	admin.Partitions = 1
	if _, err := kafka.EnsureTopics(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	root := signIn(t, admin)
	for _, topic := range []string{record.TopicEvents, record.TopicEventsBackfill} {
		if err := root.write(ctx, topic); err != nil {
			t.Fatal(err)
		}
	}

	events := record.TopicEvents
	reads := func() error { return signIn(t, alice).read(ctx, events) }
	if err := reads(); !errors.Is(err, kerr.TopicAuthorizationFailed) {
		t.Errorf("before anybody allowed it: reading says %v", err)
	}
	if err := signIn(t, alice).commit(ctx, "alice-1", events); err == nil {
		t.Error("before anybody allowed it: a commit was taken")
	}

	acls, err := kafka.Tapper{Principal: "User:alice", Topics: []string{events}}.ACLs(admin, "millrace-sink")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second time changes nothing
		if err := kafka.CreateACLs(ctx, admin, acls); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Eventually(t, time.Minute, reads) // the broker learns of it in a moment

	for _, tc := range []struct {
		name string
		do   func(session) error
		want error // nil: allowed
	}{
		{"reads her topic", func(s session) error { return s.read(ctx, events) }, nil},
		{"commits in a group of hers", func(s session) error { return s.commit(ctx, "alice-warehouse", events) }, nil},
		{"writes to her topic", func(session) error {
			return signIn(t, alice, kgo.DisableIdempotentWrite()).write(ctx, events)
		}, kerr.TopicAuthorizationFailed},
		{
			"begins to write without doubles", func(s session) error { return s.write(ctx, events) },
			kerr.ClusterAuthorizationFailed,
		},
		{
			"reads another topic", func(s session) error { return s.read(ctx, record.TopicEventsBackfill) },
			kerr.TopicAuthorizationFailed,
		},
		{
			"reads dead letters", func(s session) error { return s.read(ctx, events+kafka.DeadLetterSuffix) },
			kerr.TopicAuthorizationFailed,
		},
		{
			"commits in the sink's group", func(s session) error { return s.commit(ctx, "millrace-sink", events) },
			kerr.GroupAuthorizationFailed,
		},
		{
			"commits in bob's group", func(s session) error { return s.commit(ctx, "bob-1", events) },
			kerr.GroupAuthorizationFailed,
		},
		{"allows herself more", func(s session) error {
			results, err := s.admin.CreateACLs(ctx, kadm.NewACLs().Allow("User:alice").AllowHosts().
				Topics(events).Operations(kadm.OpWrite).ResourcePatternType(kadm.ACLPatternLiteral))
			for _, r := range results {
				err = errors.Join(err, r.Err)
			}
			return err
		}, kerr.ClusterAuthorizationFailed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := tc.do(signIn(t, alice)); !errors.Is(err, tc.want) {
				t.Errorf("%v, want %v", err, tc.want)
			}
		})
	}
	t.Run("reads as a member of a group", func(t *testing.T) {
		member := signIn(t, alice, kgo.ConsumerGroup("alice-members"), kgo.ConsumeTopics(events),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit())
		if err := member.PollFetches(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		if err := member.CommitUncommittedOffsets(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Run("bob still reads nothing", func(t *testing.T) {
		if err := signIn(t, server.KafkaUser("bob")).read(ctx, events); !errors.Is(err, kerr.TopicAuthorizationFailed) {
			t.Errorf("reading says %v", err)
		}
	})
	t.Run("scram signs in too", func(t *testing.T) {
		for _, mechanism := range []string{"scram-sha-256", "scram-sha-512"} {
			alice.SASL.Mechanism = mechanism
			if err := reads(); err != nil {
				t.Errorf("%s: %v", mechanism, err)
			}
		}
	})
}
