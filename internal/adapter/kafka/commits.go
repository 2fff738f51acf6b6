package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/pipeline/sink"
)

const (
	// commitTimeout bounds one request. It is not cut short by those who wait: that would
	// end the connection, and the broker could work off the next request, on another one,
	// before this one.
	commitTimeout = 10 * time.Second
	// commitPause is how long commits wait that came in the moment between two
	// generations.
	commitPause = 20 * time.Millisecond
)

// fencing are the responses to a commit by a member that the group does not know. One of a
// generation that has passed is not among them: see passing.
var fencing = []error{kerr.UnknownMemberID, kerr.FencedInstanceID, kerr.StaleMemberEpoch, kerr.FencedMemberEpoch}

// commits gathers the commits that wait: one request is under way at a time, and the next
// one takes all that came meanwhile.
type commits struct {
	mu      sync.Mutex
	waiting []*commit
	sending bool
	ids     map[string][16]byte // of topics, by the name on the broker
}

// commit is one partition's.
type commit struct {
	sink.Progress

	partition sink.Partition
	session   sink.Session
	ctx       context.Context //nolint:containedctx // of who waits: what nobody waits for is not sent
	done      chan error
}

// Commit implements sink.Source. It does not go through the client's own commits, which
// wait for one another, and for as long as other members need to join the group: while the
// group gathers its members, it takes commits of the generation before.
//
// Brokers accept a commit even from a member that does not own the partition. So ownership,
// and the membership under which the records were read, are looked at in the last moment
// before the request goes out, and the request names the generation of that moment: nobody
// else is given the partition before the next one begins, and then the broker rejects it.
func (c *Consumer) Commit(ctx context.Context, p sink.Partition, s sink.Session, progress sink.Progress) error {
	one := &commit{Progress: progress, partition: p, session: s, ctx: ctx, done: make(chan error, 1)}
	if c.commits.add(one) {
		go c.sendCommits()
	}
	var err error
	select {
	case err = <-one.done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("committing %s/%d at %d: %w", p.Topic, p.Index, progress.Next, err)
	}
	return nil
}

// add puts a commit behind those that wait, and reports whether somebody has to send them.
func (q *commits) add(all ...*commit) (send bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, all...)
	send = !q.sending
	q.sending = true
	return send
}

// take returns all that wait, and nothing when that is all.
func (q *commits) take() []*commit {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.waiting
	q.waiting = nil
	q.sending = len(all) > 0
	return all
}

func (q *commits) knows(topic string, id [16]byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ids == nil {
		q.ids = map[string][16]byte{}
	}
	q.ids[topic] = id
}

func (q *commits) idOf(topic string) [16]byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ids[topic]
}

// sendCommits sends what waits, until nothing does.
func (c *Consumer) sendCommits() {
	for {
		all := c.commits.take()
		if len(all) == 0 {
			return
		}
		if again := c.commitTogether(all); len(again) > 0 {
			<-time.After(commitPause)
			c.commits.add(again...)
		}
	}
}

// commitTogether commits what may be, in one request, and returns what has to be sent
// again. One that is fenced keeps no other from being committed.
func (c *Consumer) commitTogether(all []*commit) (again []*commit) {
	member, generation := c.client.GroupMetadata()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.Generation = c.sink.Group, member, generation
	if c.sink.InstanceID != "" {
		req.InstanceID = &c.sink.InstanceID
	}
	sent := map[sink.Partition]*commit{}
	for _, one := range all {
		if err := one.ctx.Err(); err != nil {
			continue // nobody waits for it
		}
		if err := c.mayCommit(one, sink.Session{Member: member, Generation: generation}); err != nil {
			one.done <- err
			continue
		}
		if sent[one.partition] != nil { // of a worker that has ended, or of one that has just begun
			again = append(again, one)
			continue
		}
		sent[one.partition] = one
		c.addTo(req, one)
	}
	if len(sent) == 0 {
		return again
	}
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	resp, err := req.RequestWith(ctx, c.client)
	responses := c.responses(resp)
	for p, one := range sent {
		response, ok := responses[p]
		switch failed := errors.Join(err, response); {
		case failed == nil && !ok:
			one.done <- errNotCommitted
		case passing(failed):
			again = append(again, one)
		default:
			one.done <- commitError(failed)
		}
	}
	return again
}

var errNotCommitted = errors.New("the broker's response does not name the partition")

// addTo adds a partition to a request.
func (c *Consumer) addTo(req *kmsg.OffsetCommitRequest, one *commit) {
	name := TopicName(c.cfg, one.partition.Topic)
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = one.partition.Index, one.Next, one.LeaderEpoch, &one.Metadata
	for i := range req.Topics {
		if t := &req.Topics[i]; t.Topic == name {
			t.Partitions = append(t.Partitions, p)
			return
		}
	}
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic, t.TopicID, t.Partitions = name, c.commits.idOf(name), []kmsg.OffsetCommitRequestTopicPartition{p}
	req.Topics = append(req.Topics, t)
}

// responses returns what the broker says of each partition, which it names by the topic's id
// or by its name.
func (c *Consumer) responses(resp *kmsg.OffsetCommitResponse) map[sink.Partition]error {
	all := map[sink.Partition]error{}
	if resp == nil {
		return all
	}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		name := t.Topic
		if name == "" {
			name = c.commits.nameOf(t.TopicID)
		}
		for _, p := range t.Partitions {
			all[c.partition(name, p.Partition)] = kerr.ErrorForCode(p.ErrorCode)
		}
	}
	return all
}

func (q *commits) nameOf(id [16]byte) string {
	q.mu.Lock()
	defer q.mu.Unlock()
	for name, known := range q.ids {
		if known == id {
			return name
		}
	}
	return ""
}

func (c *Consumer) mayCommit(one *commit, now sink.Session) error {
	c.mu.Lock()
	_, rewinds := c.rewinds[one.partition]
	owned := c.owned[one.partition] && !rewinds
	c.mu.Unlock()
	fence := c.deps.Fence
	if fence == nil {
		fence = membership
	}
	return fence(owned, one.session, now)
}

// Fence says whether a commit of a partition may go out: whether the partition is owned,
// in which session its records were read, and which one the client is in now. Its error
// wraps sink.ErrFenced.
type Fence func(owned bool, read, now sink.Session) error

// membership is the Fence by which nobody commits for a partition that may be somebody
// else's: it is owned, under the membership in which its records were read.
func membership(owned bool, read, now sink.Session) error {
	if !owned || now.Member != read.Member || now.Generation < read.Generation {
		return fmt.Errorf("%w: read in generation %d, now in %d", sink.ErrFenced, read.Generation, now.Generation)
	}
	return nil
}

// passing reports whether a commit came in the moment in which one generation ends and the
// next one begins. A member that the group knows is in the next one, and hears of it soon;
// one that it does not know is told so.
func passing(err error) bool {
	return errors.Is(err, kerr.RebalanceInProgress) || errors.Is(err, kerr.IllegalGeneration)
}

func commitError(err error) error {
	for _, fence := range fencing {
		if errors.Is(err, fence) {
			return fmt.Errorf("%w: %w", sink.ErrFenced, err)
		}
	}
	return err
}
