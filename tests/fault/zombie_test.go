package fault

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/pipeline/sink/sinktest"
	"github.com/millrace/millrace/internal/testkit"
)

const (
	zombieFault = "F5 sink stopped"
	rejoinFault = "F5 sink rejoined behind its worker"
)

// A sink that is stopped while another one takes over, and then goes on, changes
// nothing.
func TestASinkThatIsStoppedPastItsSessionAndGoesOnChangesNothing(t *testing.T) {
	t.Parallel()
	tr := trial{fault: zombieFault, on: realToo(), each: 5}
	tr.everywhere(t, sinktest.Failpoints, sinktest.FailpointRecorded,
		func(s *stage, at sinktest.Failpoint) { s.zombie(at, locks{}) })
}

// zombie stops a sink at a point for more than three session timeouts, has
// another one store everything, and lets the first one go on.
func (s *stage) zombie(at sinktest.Failpoint, without locks) {
	s.t.Helper()
	if at == sinktest.FailpointRevoking {
		defer s.keepsMembers()()
	}
	s.send(s.events(backlog()))
	first := s.spawnSink(order{Deed: doStop, At: at, Nth: 1 + s.rng.IntN(2), Locks: without})
	var other *local
	if at == sinktest.FailpointRevoking {
		first.heard("ready")
		s.progress()
		other = s.startSink(watched{locks: without})
	}
	first.heard("at ")
	stopped := time.Now()
	if other == nil {
		other = s.startSink(watched{locks: without})
	}
	s.send(s.events(300))
	s.drained()
	s.took = time.Since(stopped)
	// What is tested is that time passes, so time has to.
	<-time.After(time.Until(stopped.Add(3*s.settings.Sink.Session + 100*time.Millisecond)))
	first.signal(syscall.SIGCONT)
	s.awaitMembers(2)
	s.send(s.events(300))
	s.drained()
	first.stop()
	s.send(s.events(100))
	s.drained()
	other.stop()
}

// keepsMembers has members live through a pause of the machine from now on, until what
// it returns is called: one that was thrown out gives no partition back.
func (s *stage) keepsMembers() (until func()) {
	k := &s.settings.Sink
	before := k.Session
	k.Session = 5 * time.Second
	return func() { k.Session = before }
}

// awaitMembers waits until the live group has so many members and is at rest.
func (s *stage) awaitMembers(n int) {
	s.t.Helper()
	testkit.Eventually(s.t, patience, func() error {
		g, err := s.admin.DescribeGroups(s.t.Context(), s.settings.Sink.Group)
		if err != nil {
			return err
		}
		d := g[s.settings.Sink.Group]
		if d.Err != nil || d.State != "Stable" || len(d.Members) != n {
			return fmt.Errorf("the group has %d members and is %s, %w",
				len(d.Members), d.State, errors.Join(d.Err, errNoProgress))
		}
		return nil
	})
}

// The client joins the group anew behind a worker that stands still, and is let
// in: what the worker then commits would count, although somebody else owns the
// partition.
func TestAWorkerThatOutlivesItsMembershipChangesNothing(t *testing.T) {
	t.Parallel()
	tr := trial{fault: rejoinFault, on: kfakeOnly, each: 5, waits: true}
	tr.everywhere(t, sinktest.Failpoints, "", func(s *stage, at sinktest.Failpoint) { s.rejoin(at, locks{}) })
}

// rejoin blocks a worker at a point, and meanwhile has its client lose its
// membership in the middle of a rebalance, which is the one way in which a client
// is not told; another sink stores everything, then the client is let in again,
// then the worker goes on.
func (s *stage) rejoin(at sinktest.Failpoint, without locks) {
	s.t.Helper()
	// The group waits so long for a member that does not come, which this one does not.
	s.settings.Sink.Rebalance, s.settings.Sink.InsertTimeout = 6*time.Second, 2500*time.Millisecond
	s.send(s.events(backlog()))
	stall := newHold(at, 1+s.rng.IntN(2))
	defer stall.release()
	first := s.startSink(watched{without, stall.reached})
	if at != sinktest.FailpointRevoking {
		stall.wait(s.t)
	} else {
		s.progress()
	}
	var stale string
	testkit.Eventually(s.t, patience, func() error { // a slow one may just be coming back
		group := s.fake.GroupInfo(s.settings.Sink.Group)
		if group == nil || len(group.Members) != 1 {
			return fmt.Errorf("the first sink is not alone in its group: %+v, %w", group, errNoProgress)
		}
		stale = group.Members[0].MemberID
		return nil
	})

	rejected, letIn := make(chan struct{}), make(chan struct{})
	open := true
	let := func() {
		if open {
			open = false
			close(letIn)
		}
	}
	defer let()
	s.expel(stale, rejected, letIn)
	other := make(chan *local, 1)
	go func() { other <- s.startSink(watched{locks: without}) }()
	select {
	case <-rejected:
		s.evict(stale)
	case <-time.After(5 * session):
		// Its client is held up as well: it polls, or gives partitions back, and
		// does not join until that is done. The session ends by itself.
	}
	second := <-other
	s.send(s.events(300))
	s.drained()
	let()
	if err := testkit.WaitFor(4*session, func() error { return s.twoMembers() }); err != nil {
		s.log.Logger().Info("the client is held up", slog.Any("error", err))
	}
	stall.release()
	s.awaitMembers(2)
	s.send(s.events(300))
	s.drained()
	first.stop()
	s.send(s.events(100))
	s.drained()
	second.stop()
}

var errNotTwo = errors.New("the group has not two members")

func (s *stage) twoMembers() error {
	if g := s.fake.GroupInfo(s.settings.Sink.Group); g == nil || len(g.Members) != 2 || g.State != "Stable" {
		return errNotTwo
	}
	return nil
}

// expel answers the next attempt of a member to rejoin that nobody knows it, and
// keeps it from joining as somebody new until it is let in.
func (s *stage) expel(member string, rejected chan<- struct{}, letIn <-chan struct{}) {
	done := false
	s.fake.ControlKey(int16(kmsg.JoinGroup), func(req kmsg.Request) (kmsg.Response, error, bool) {
		s.fake.KeepControl()
		join, ok := req.(*kmsg.JoinGroupRequest)
		if !ok || join.Group != s.settings.Sink.Group || join.MemberID != member || done {
			return nil, nil, false
		}
		done = true
		close(rejected)
		s.fake.SleepControl(func() { <-letIn })
		resp := join.ResponseKind().(*kmsg.JoinGroupResponse) //nolint:forcetypeassert // of its own kind
		resp.ErrorCode = kerr.UnknownMemberID.Code
		return resp, nil, true
	})
}

// evict has the group forget a member.
func (s *stage) evict(member string) {
	s.t.Helper()
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = s.settings.Sink.Group
	m := kmsg.NewLeaveGroupRequestMember()
	m.MemberID = member
	req.Members = append(req.Members, m)
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	if _, err := req.RequestWith(ctx, s.client); err != nil {
		s.t.Fatalf("having the group forget a member: %v", err)
	}
}

// Without the comparison of memberships the same schedule moves an offset back:
// the test above would notice if it were lost.
func TestWithoutTheFenceAnOldWorkerMovesAnOffsetBack(t *testing.T) {
	t.Parallel()
	leaveOutWhenShort(t)
	testkit.OnlyStrict(t, "without the fence")
	defer enter(true)()
	untilSeen(t, "moved back", func(s *stage) {
		s.rejoin(sinktest.FailpointRecorded, locks{WithoutFence: true})
	}, func(v *verdict) int { return v.MovedBack })
}

// Without plans a killed sink's ranges are cut anew, under tokens that the server
// does not know.
func TestWithoutPlansAKilledSinkDoubles(t *testing.T) {
	t.Parallel()
	leaveOutWhenShort(t)
	testkit.OnlyStrict(t, "without plans")
	defer enter(false)()
	without := locks{WithoutPlan: true}
	untilSeen(t, "doubled", func(s *stage) { // a range that was short already is cut as before
		s.send(s.events(200))
		s.store(without) // so that each partition has a committed offset
		s.send(s.events(backlog()))
		s.settings.Sink.Session = session
		s.spawnSink(order{Deed: doKill, At: sinktest.FailpointInserted, Nth: 1, Locks: without}).killed()
		s.settings.Sink.MaxRows = rangeRows / 20 // which plans would not be impressed by
		s.finish(without)
	}, func(v *verdict) int { return v.Doubled })
}
