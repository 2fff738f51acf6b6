package kafka

import (
	"context"

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
	c.begin(ctx, c.partitions(added))
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
