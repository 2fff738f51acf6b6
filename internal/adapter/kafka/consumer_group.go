package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/pipeline/sink"
)

// assigned is called by the client at the start of every session, also when
// nothing is new. With the member's old id, partitions that are kept go on under
// the new generation. A new id means that somebody else may have owned them
// meanwhile: they are given up and read again.
func (c *Consumer) assigned(ctx context.Context, client *kgo.Client, added map[string][]int32) {
	<-c.opened // the first call may come before that
	member, generation := client.GroupMetadata()
	c.mu.Lock()
	changed := c.session.Member != "" && c.session.Member != member
	c.session = sink.Session{Member: member, Generation: generation}
	if changed {
		for p := range c.owned {
			c.giveUp(p)
		}
	}
	c.mu.Unlock()

	c.moves.WithLabelValues("session").Inc()
	c.moves.WithLabelValues("assigned").Add(float64(count(added)))
	fresh := c.partitions(added)
	assignments, err := c.assignments(ctx, c.admin, fresh)
	if err != nil {
		c.deps.Log.LogAttrs(ctx, slog.LevelWarn, "looking up assigned partitions failed, trying again",
			slog.Any("error", err))
		c.mu.Lock()
		for _, p := range fresh {
			c.rewinds[p] = time.Now()
		}
		c.mu.Unlock()
		return
	}
	c.own(fresh, true)
	c.fetch(assignments)
	c.listener.Assigned(ctx, assignments)
}

// anywhere has the client look nothing up for offsets that it does not fetch from.
func anywhere(_ context.Context, fetched map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	for _, partitions := range fetched {
		for p := range partitions {
			partitions[p] = kgo.NewOffset().At(0)
		}
	}
	return fetched, nil
}

func count(m map[string][]int32) (n int) {
	for _, ps := range m {
		n += len(ps)
	}
	return n
}

// revoked is called before the partitions go to somebody else; commits are still
// accepted until it returns.
func (c *Consumer) revoked(ctx context.Context, _ *kgo.Client, gone map[string][]int32) {
	c.moves.WithLabelValues("revoked").Add(float64(count(gone)))
	if ps := c.partitions(gone); len(ps) > 0 {
		c.listener.Revoked(ctx, ps)
		c.own(ps, false)
	}
}

// lost is called when the partitions may be somebody else's already.
func (c *Consumer) lost(ctx context.Context, _ *kgo.Client, gone map[string][]int32) {
	c.moves.WithLabelValues("lost").Add(float64(count(gone)))
	if ps := c.partitions(gone); len(ps) > 0 {
		c.own(ps, false)
		c.listener.Lost(ctx, ps)
	}
}

func (c *Consumer) own(ps []sink.Partition, owned bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range ps {
		delete(c.rewinds, p)
		if owned {
			c.owned[p] = true
		} else {
			delete(c.owned, p)
			c.fetcher.stop(p)
		}
	}
}

func (c *Consumer) partitions(m map[string][]int32) []sink.Partition {
	var ps []sink.Partition
	for topic, indexes := range m {
		for _, i := range indexes {
			ps = append(ps, c.partition(topic, i))
		}
	}
	return ps
}

// assignments adds to each partition the UUID of its topic, where its log begins,
// and what was committed for it.
func (c *Consumer) assignments(
	ctx context.Context, admin *kadm.Client, ps []sink.Partition,
) ([]sink.Assignment, error) {
	var names []string
	for _, p := range ps {
		if name := TopicName(c.cfg, p.Topic); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	metadata, err := admin.Metadata(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("reading topic ids: %w", err)
	}
	committed, err := admin.FetchOffsets(ctx, c.sink.Group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) { // nobody has committed yet
		return nil, fmt.Errorf("reading committed offsets: %w", err)
	}
	starts, err := admin.ListStartOffsets(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("reading log start offsets: %w", err)
	}
	all := make([]sink.Assignment, 0, len(ps))
	for _, p := range ps {
		name := TopicName(c.cfg, p.Topic)
		detail, start := metadata.Topics[name], starts[name][p.Index]
		if err := errors.Join(detail.Err, start.Err); err != nil {
			return nil, fmt.Errorf("looking up %s/%d: %w", p.Topic, p.Index, err)
		}
		c.commits.knows(name, detail.ID)
		a := sink.Assignment{Partition: p, TopicID: detail.ID, Committed: -1, LeaderEpoch: -1, LogStart: start.Offset}
		if o, ok := committed.Lookup(name, p.Index); ok && o.At >= 0 {
			if o.Err != nil {
				return nil, fmt.Errorf("reading the committed offset of %s/%d: %w", p.Topic, p.Index, o.Err)
			}
			a.Committed, a.LeaderEpoch, a.Metadata = o.At, o.LeaderEpoch, o.Metadata
		}
		all = append(all, a)
	}
	return all, nil
}

// fetch has partitions fetched from where they begin: from the committed offset, or from
// the start of the log where nothing was committed.
func (c *Consumer) fetch(all []sink.Assignment) {
	for _, a := range all {
		at := mark{a.Committed, a.LeaderEpoch}
		if a.Committed < 0 {
			at = mark{a.LogStart, -1}
		}
		c.fetcher.begin(a.Partition, TopicName(c.cfg, a.Partition.Topic), a.TopicID, at)
	}
}

// Rewind implements sink.Source.
func (c *Consumer) Rewind(p sink.Partition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owned[p] {
		c.giveUp(p)
	}
	if c.wake != nil {
		c.wake()
	}
}

// giveUp has a partition read again. mu is held.
func (c *Consumer) giveUp(p sink.Partition) {
	if _, rewinds := c.rewinds[p]; !rewinds {
		c.rewinds[p] = time.Now()
	}
	c.fetcher.stop(p)
}

// rewind sets partitions back to their committed offsets and starts them anew.
// It runs at the end of a poll, when no rebalance can come between. What fails is
// left for the next poll.
func (c *Consumer) rewind(ctx context.Context) {
	c.mu.Lock()
	ps := make([]sink.Partition, 0, len(c.rewinds))
	for p := range c.rewinds {
		ps = append(ps, p)
	}
	c.mu.Unlock()
	if len(ps) == 0 {
		return
	}
	c.listener.Lost(ctx, ps)
	assignments, err := c.assignments(ctx, c.admin, ps)
	if err != nil {
		c.deps.Log.LogAttrs(ctx, slog.LevelWarn, "rewinding partitions failed, trying again", slog.Any("error", err))
		return
	}
	c.own(ps, true)
	c.fetch(assignments)
	c.listener.Assigned(ctx, assignments)
}
