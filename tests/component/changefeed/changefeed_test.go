package changefeed_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/contract/record/recordtest"
	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/testkit"
)

func key(id string, version int64) control.Change {
	return control.Change{Kind: control.Key, ID: id, Version: version, Refs: []string{"ref of " + id}, At: time.Now()}
}

func quota(version int64, state string) control.Change {
	return control.Change{Kind: control.Quota, ID: "org_1", Version: version, State: state, At: time.Now()}
}

func TestChangesArriveInTheirOrderAndKeepTheSchema(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := s.follow(t)
	s.relay(t, p.Follower, s.db)
	// The dates are nobody's business: clocks may step.
	early, late := key("b", 2), quota(1, `{"over":true}`)
	early.At, late.At, late.Gone, late.OrganizationID = time.Unix(0, 0), time.Now().AddDate(100, 0, 0), true, "org_1"
	s.announce(t, key("a", 1))
	s.announce(t, early, late)
	p.expectTold(t, "a@1", "b@1", "org_1@1")
	p.awaitFollowing(t)
	s.awaitRelayed(t)
	values := s.values(t)
	if len(values) < 4 {
		t.Errorf("the topic holds %d records, want three changes and a heartbeat at least", len(values))
	}
	for _, v := range values {
		if err := recordtest.CheckValue(control.Topic, []byte(v)); err != nil {
			t.Errorf("%s: %v", v, err)
		}
	}
}

// awaitRelayed waits until what was published is noted as such.
func (s *stage) awaitRelayed(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, patient, func() error {
		pending, err := s.db.Pending(t.Context(), 10)
		if err == nil && len(pending) > 0 {
			err = fmt.Errorf("%d changes are pending", len(pending))
		}
		return err
	})
}

func TestWhatIsNotCommittedIsNotPublished(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := s.follow(t)
	s.relay(t, p.Follower, s.db)
	stop := errors.New("stop")
	if err := s.db.InTx(t.Context(), func(ctx context.Context, tx *store.Store) error {
		if err := tx.Announce(ctx, key("never", 1)); err != nil {
			return err
		}
		p.awaitFollowing(t) // a heartbeat says that the outbox is empty
		return stop
	}); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	s.announce(t, key("a", 1))
	p.expectTold(t, "a@1")
}

func TestChangesWaitWhileKafkaTakesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := s.follow(t)
	s.relay(t, p.Follower, s.db)
	p.awaitFollowing(t)
	var rejecting atomic.Bool
	var rejected atomic.Int64
	rejecting.Store(true)
	s.cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		s.cluster.KeepControl()
		if !rejecting.Load() {
			return nil, nil, false
		}
		rejected.Add(1)
		return nil, errors.New("the broker hangs up"), true
	})
	for i := range 5 {
		s.announce(t, key(strconv.Itoa(i), 1))
	}
	testkit.Eventually(t, patient, func() error {
		if rejected.Load() < 3 || p.Following() {
			return fmt.Errorf("refused %d times, following %t", rejected.Load(), p.Following())
		}
		return nil
	})
	if got := p.told(); len(got) != 0 {
		t.Errorf("told of %v although nothing was taken", got)
	}
	rejecting.Store(false)
	p.expectTold(t, "0@1", "1@1", "2@1", "3@1", "4@1")
	p.awaitFollowing(t)
}

// forgetful is an outbox whose first note of what was published is lost, as when
// the process ends at that moment.
type forgetful struct {
	control.Outbox

	lost atomic.Bool
}

func (f *forgetful) Relayed(ctx context.Context, seqs []int64) error {
	if f.lost.CompareAndSwap(false, true) {
		return errors.New("the process ends")
	}
	return f.Outbox.Relayed(ctx, seqs)
}

func TestChangesThatCameTwiceBringNothingBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	states := control.NewStates(control.Quota,
		func(context.Context) (control.Snapshot, error) { return control.Snapshot{Epoch: 1}, nil })
	p := s.follow(t, states)
	s.announce(t, quota(1, `{"over":true}`), quota(2, `{"over":false}`))
	s.relay(t, p.Follower, &forgetful{Outbox: s.db})
	p.expectTold(t, "org_1@1", "org_1@1", "org_1@1", "org_1@1")
	if c, ok := states.Get("org_1"); !ok || c.Version != 2 {
		t.Errorf("the state is that of version %d, %t, want 2", c.Version, ok)
	}
}

func TestAnotherRelayGoesOnWhereTheFirstStopped(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := s.follow(t)
	first := s.relay(t, p.Follower, s.db)
	s.announce(t, key("a", 1))
	p.expectTold(t, "a@1")
	s.awaitRelayed(t) // else the next one tells of it again
	s.relay(t, p.Follower, s.db)
	first()
	s.announce(t, key("b", 1))
	p.expectTold(t, "a@1", "b@1")
}

func TestStoreThatWasPutBackBeginsAnEpoch(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	states := control.NewStates(control.Quota, func(ctx context.Context) (control.Snapshot, error) {
		head, err := s.db.ControlHead(ctx)
		return control.Snapshot{Epoch: head.Epoch, States: []control.Change{quota(1, `{"over":false}`)}}, err
	})
	p := s.follow(t)
	first := s.relay(t, p.Follower, s.db)
	s.announce(t, quota(7, `{"over":true}`))
	p.expectTold(t, "org_1@1")
	s.awaitClaim(t, 1)
	first()

	s.db = newStore(t) // one that knows nothing of what was announced
	other := s.follow(t, states)
	testkit.Eventually(t, patient, func() error { return other.Ready(t.Context()) })
	forgot := other.forgotten()
	s.relay(t, other.Follower, s.db)
	s.announce(t, quota(1, `{"over":false}`))
	p.expectTold(t, "org_1@1", "org_1@2")
	other.expectTold(t, "org_1@2")
	if c, ok := states.Get("org_1"); !ok || c.Epoch != 2 || c.Version != 1 {
		t.Errorf("the state is %+v, %t, want that of the new epoch", c, ok)
	}
	if got := other.forgotten(); got <= forgot {
		t.Errorf("forgot %d times, before the new epoch %d times", got, forgot)
	}
	s.awaitClaim(t, 1)
	// The relay that comes next has no reason to begin another one.
	s.relay(t, other.Follower, s.db)
	if head, err := s.db.ControlHead(t.Context()); err != nil || head.Epoch != 2 {
		t.Errorf("the head is %+v, %v, want epoch 2", head, err)
	}
}

// awaitClaim waits until the topic's last record says how far the outbox came.
func (s *stage) awaitClaim(t *testing.T, relayed int) {
	t.Helper()
	testkit.Eventually(t, patient, func() error {
		values := s.values(t)
		if last := values[len(values)-1]; !strings.Contains(last, fmt.Sprintf(`"relayed":%d`, relayed)) {
			return fmt.Errorf("the last record is %s", last)
		}
		return nil
	})
}

func TestHeartbeatFromBeforeTheStartIsNotTrusted(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := s.follow(t)
	stop := s.relay(t, p.Follower, s.db)
	p.awaitFollowing(t)
	stop()
	other := s.follow(t)
	testkit.Eventually(t, patient, func() error { return other.Ready(t.Context()) })
	if other.Following() {
		t.Error("a process follows although nobody relays")
	}
	testkit.Eventually(t, patient, func() error {
		if p.Following() {
			return errors.New("it still follows although nobody relays")
		}
		return nil
	})
}

func TestUnreadableRecordMakesEveryoneAskAgain(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"no JSON": "{", "another shape": `{"v":"1"}`, "no kind": `{"v":1,"epoch":1}`, "no epoch": `{"v":1,"kind":"key"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			p := s.follow(t)
			testkit.Eventually(t, patient, func() error { return p.Ready(t.Context()) })
			forgot := p.forgotten()
			s.write(t, value)
			s.write(t, `{"v":99,"kind":"of the future","id":"x","epoch":1,"new":{}}`)
			p.expectTold(t, "x@1")
			if got := p.forgotten(); got != forgot+1 {
				t.Errorf("forgot %d times, want %d", got, forgot+1)
			}
		})
	}
}

func TestFollowerIsNotReadyBeforeItHasCaughtUp(t *testing.T) {
	t.Parallel()
	cluster, cfg := kafkatest.Cluster(t)
	s := &stage{cluster: cluster, kafka: cfg}
	var mended atomic.Bool
	broken := errors.New("the store is down")
	states := control.NewStates(control.Quota, func(context.Context) (control.Snapshot, error) {
		if !mended.Load() {
			return control.Snapshot{}, broken
		}
		return control.Snapshot{Epoch: 1}, nil
	})
	p := s.follow(t, states)
	notReady := func(why string) {
		t.Helper()
		testkit.Eventually(t, patient, func() error {
			if err := p.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), why) {
				return fmt.Errorf("Ready() = %w, want %q", err, why)
			}
			return nil
		})
	}
	notReady(`create it with "millrace topics create"`)
	if err := cluster.CreateTopic(control.Topic, 1, nil); err != nil {
		t.Fatal(err)
	}
	notReady(broken.Error())
	mended.Store(true)
	testkit.Eventually(t, patient, func() error { return p.Ready(t.Context()) })
	cluster.Close()
	if err := p.Ready(t.Context()); err != nil {
		t.Errorf("Ready() without Kafka, after having caught up = %v", err)
	}
}

func TestFollowerWhoseTopicIsLostAsksAgainAndGoesOn(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := s.follow(t)
	s.relay(t, p.Follower, s.db)
	p.awaitFollowing(t)
	forgot := p.forgotten()
	// The broker no longer has what the follower asks for.
	s.cluster.ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		req, ok := kreq.(*kmsg.FetchRequest)
		if !ok || len(req.Topics) == 0 {
			s.cluster.KeepControl()
			return nil, nil, false
		}
		resp, _ := req.ResponseKind().(*kmsg.FetchResponse)
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic, topic.TopicID = req.Topics[0].Topic, req.Topics[0].TopicID
		partition := kmsg.NewFetchResponseTopicPartition()
		partition.ErrorCode = kerr.OffsetOutOfRange.Code
		topic.Partitions = append(topic.Partitions, partition)
		resp.Topics = append(resp.Topics, topic)
		return resp, nil, true
	})
	testkit.Eventually(t, patient, func() error {
		if got := p.forgotten(); got <= forgot {
			return errors.New("nobody was told to ask again")
		}
		return nil
	})
	s.announce(t, key("a", 1))
	p.expectTold(t, "a@1")
}
