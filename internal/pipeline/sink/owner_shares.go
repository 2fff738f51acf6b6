package sink

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

const (
	// shareSpan is over how long shares are told.
	shareSpan = time.Minute
	// topOwners is how many of the largest owners are told of.
	topOwners = 10
	// mostOfAll is the share from which on an owner is named.
	mostOfAll = 0.5
)

// ownerShares counts whose records are stored: one website that brings most of
// the load explains a lag that nothing else does. Metrics tell shares by rank, for labels
// are of closed sets; who it is, the log tells.
type ownerShares struct {
	tell   func(ownerShare) // of one that brings most of the load, once a span; nil tells nobody
	mu     sync.Mutex
	since  time.Time
	counts map[string]int64
	total  int64
	top    []ownerShare // of the span before
}

// tellOwner logs which website it is that brings most of the load.
func tellOwner(log *slog.Logger) func(ownerShare) {
	return func(o ownerShare) {
		log.LogAttrs(context.Background(), slog.LevelInfo, "one website sends most of the records",
			slog.String("owner", o.owner), slog.Float64("share", o.share))
	}
}

// ownerShare is the part of the stored records that belongs to one owner.
type ownerShare struct {
	owner string
	share float64
}

// add counts the rows of a range. Only its largest owners are counted one by one:
// an owner's records are all in one partition, so a large one is among the largest
// of each range, and the table stays small.
func (o *ownerShares) add(t *touched) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.turn(time.Now())
	for _, n := range t.rows {
		o.total += int64(n)
	}
	for _, i := range t.largest(topOwners) {
		o.counts[t.last[i].Owner] += int64(t.rows[i])
	}
}

// turn begins a new span when the last one is over.
func (o *ownerShares) turn(now time.Time) {
	if o.counts != nil && now.Sub(o.since) < shareSpan {
		return
	}
	o.top = o.largest()
	if o.tell != nil && len(o.top) > 0 && o.top[0].share > mostOfAll {
		o.tell(o.top[0])
	}
	o.since, o.total, o.counts = now, 0, map[string]int64{}
}

func (o *ownerShares) largest() []ownerShare {
	all := make([]ownerShare, 0, len(o.counts))
	for owner, n := range o.counts {
		all = append(all, ownerShare{owner, min(1, float64(n)/float64(o.total))})
	}
	slices.SortFunc(all, func(a, b ownerShare) int {
		return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.owner, b.owner))
	})
	return all[:min(len(all), topOwners)]
}

// shares returns the largest owners of the last span that is over, or of the
// first one so far.
func (o *ownerShares) shares() []ownerShare {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.turn(time.Now())
	if o.top == nil {
		return o.largest()
	}
	return o.top
}
