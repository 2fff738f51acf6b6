package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/millrace/millrace/internal/pipeline/sink"
)

const (
	// beginTimeout is how long brokers have to say where partitions begin. No partition comes or
	// goes meanwhile, and nothing is delivered: those that answered are not to wait for one that hangs.
	beginTimeout = 3 * time.Second
	// beginRetry is how long after one attempt that left something out the next one comes; it
	// doubles each time, up to maxBeginRetry, so that a broker that hangs for hours holds the
	// others up for a sixth of the time.
	beginRetry    = time.Second
	maxBeginRetry = 15 * time.Second
)

// rewind is a partition that is to be read again, or for the first time.
type rewind struct {
	since time.Time
	tried bool // and where it begins could not be looked up
}

// begin has partitions worked on that this process owns from now on. Those of which it cannot be
// looked up where they begin are tried again at a later poll; the others do not wait for them.
func (c *Consumer) begin(ctx context.Context, ps []sink.Partition) {
	if len(ps) == 0 {
		return
	}
	assignments, err := c.assignments(ctx, ps)
	begun := make([]sink.Partition, 0, len(assignments))
	for i := range assignments {
		begun = append(begun, assignments[i].Partition)
	}
	c.own(begun, true)
	c.again(ps, begun)
	if err != nil {
		c.deps.Log.LogAttrs(ctx, slog.LevelWarn, "looking up partition start offsets failed, retrying",
			slog.Int("partitions", len(ps)-len(begun)), slog.Any("error", err))
	}
	if len(assignments) > 0 {
		c.fetch(assignments)
		c.listener.Assigned(ctx, assignments)
	}
}

// again notes which partitions of an attempt did not begin, and when the next one comes.
func (c *Consumer) again(tried, begun []sink.Partition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	done := make(map[sink.Partition]bool, len(begun))
	for _, p := range begun {
		done[p] = true
	}
	for _, p := range tried {
		if done[p] {
			continue
		}
		since := now
		if r, waits := c.rewinds[p]; waits {
			since = r.since
		}
		c.rewinds[p] = rewind{since: since, tried: true}
	}
	switch {
	case len(begun) < len(tried):
		c.beginWait = min(maxBeginRetry, max(beginRetry, 2*c.beginWait))
		c.beginAgain = now.Add(c.beginWait)
	case len(c.rewinds) == 0:
		c.beginWait = 0
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
		c.rewinds[p] = rewind{since: time.Now()}
	}
	c.fetcher.stop(p)
}

// rewind sets partitions back to their committed offsets and starts them anew.
// It runs at the end of a poll, when no rebalance can come between. What fails is
// left for a later poll.
func (c *Consumer) rewind(ctx context.Context) {
	ps := c.dueRewinds(time.Now())
	if len(ps) == 0 {
		return
	}
	c.listener.Lost(ctx, ps)
	c.begin(ctx, ps)
}

// dueRewinds returns what is to be read again now: that which was not tried yet, and from time to
// time what was.
func (c *Consumer) dueRewinds(now time.Time) []sink.Partition {
	c.mu.Lock()
	defer c.mu.Unlock()
	due := !now.Before(c.beginAgain)
	ps := make([]sink.Partition, 0, len(c.rewinds))
	for p, r := range c.rewinds {
		if due || !r.tried {
			ps = append(ps, p)
		}
	}
	return ps
}

// assignments adds to each partition the UUID of its topic, where its log begins,
// and what was committed for it. Those of which one of these is not known are left
// out, and the error says why.
func (c *Consumer) assignments(ctx context.Context, ps []sink.Partition) ([]sink.Assignment, error) {
	ctx, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	metadata, err := c.admin.Metadata(ctx, c.names(ps)...)
	if err != nil {
		return nil, fmt.Errorf("reading topic ids: %w", err)
	}
	committed, err := c.admin.FetchOffsets(ctx, c.sink.Group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) { // nobody has committed yet
		return nil, fmt.Errorf("reading committed offsets: %w", err)
	}
	var errs []error
	all := make([]sink.Assignment, 0, len(ps))
	led := make([]sink.Partition, 0, len(ps))
	for _, p := range ps {
		a, err := c.assignment(p, metadata.Topics, committed)
		if err != nil {
			errs = append(errs, fmt.Errorf("reading %s/%d: %w", p.Topic, p.Index, err))
			continue
		}
		all, led = append(all, a), append(led, p)
	}
	starts, err := c.offsetsAt(ctx, led, startOfLog)
	if err != nil {
		errs = append(errs, fmt.Errorf("reading log start offsets: %w", err))
	}
	all = slices.DeleteFunc(all, func(a sink.Assignment) bool {
		_, known := starts[a.Partition]
		if !known && err == nil {
			errs = append(errs, fmt.Errorf("reading %s/%d: the broker's response lacks the partition",
				a.Partition.Topic, a.Partition.Index))
		}
		return !known
	})
	for i := range all {
		all[i].LogStart = starts[all[i].Partition]
	}
	return all, errors.Join(errs...)
}

// assignment returns what topic and group say of a partition.
func (c *Consumer) assignment(
	p sink.Partition, topics kadm.TopicDetails, committed kadm.OffsetResponses,
) (sink.Assignment, error) {
	name := TopicName(c.cfg, p.Topic)
	detail, known := topics[name]
	partition, has := detail.Partitions[p.Index]
	switch {
	case detail.Err != nil:
		return sink.Assignment{}, detail.Err
	case !known || !has || partition.Leader < 0: // to be asked for would hold up all others
		return sink.Assignment{}, cmp.Or(partition.Err, error(kerr.LeaderNotAvailable))
	}
	c.commits.knows(name, detail.ID)
	a := sink.Assignment{Partition: p, TopicID: detail.ID, Committed: -1, LeaderEpoch: -1}
	o, ok := committed.Lookup(name, p.Index)
	switch {
	case ok && o.Err != nil: // and At is -1: to begin without what was committed would be to begin at the start
		return a, fmt.Errorf("reading the committed offset: %w", o.Err)
	case ok && o.At >= 0:
		a.Committed, a.LeaderEpoch, a.Metadata = o.At, o.LeaderEpoch, o.Metadata
	}
	return a, nil
}

// names returns the topics of partitions, as the brokers know them.
func (c *Consumer) names(ps []sink.Partition) []string {
	var names []string
	for _, p := range ps {
		if name := TopicName(c.cfg, p.Topic); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
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
