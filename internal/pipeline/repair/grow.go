package repair

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/pipeline/ledger"
)

// Partitions changes how many partitions a topic has.
type Partitions interface {
	// PartitionOf returns the partition that producers choose for a key.
	PartitionOf(key string, partitions int) int32
	// Grow gives a topic more partitions. It returns when clients can see them.
	Grow(ctx context.Context, topic string, partitions int) error
}

// Touches tells which days of owners were stored lately.
type Touches interface {
	// TouchedSince returns the days of owners that ranges of a topic have touched
	// which hold records that were received at or after a time in Unix milliseconds.
	TouchedSince(ctx context.Context, topicID [16]byte, millis int64) ([]ledger.Touched, error)
}

// GrowOptions say how far a topic grows.
type GrowOptions struct {
	Pipeline   Pipeline
	Partitions int
	// Since is how far back event ids are remembered: what was received since then may
	// come once more, in another partition.
	Since time.Time
	// DryRun changes nothing.
	DryRun bool
}

// GrowDeps are the parts that Grow needs; all are required.
type GrowDeps struct {
	Groups     Groups
	Log        Log
	Partitions Partitions
	Touches    Touches
	Store      Store
}

// Growth is what Grow did, or would do.
type Growth struct {
	From, To int
	// Days are those that are listed as dirty.
	Days []ledger.Touched
}

// Grow gives a topic more partitions while everything runs.
//
// An owner whose partition changes meets a window of event ids there that has not
// seen what the old one has. A resend of what came lately is stored again then;
// the base hides it by its key, and the rollups would count it. So the days that
// the last window has touched, of the owners that move, are listed as dirty before
// the topic grows, and are answered from the base until a rebuild. What edges send
// to the old partitions while they have not heard of the new ones is left to the
// reconciler.
//
// Whoever stops it in between has listed some days too many; the same command again
// completes it.
func Grow(ctx context.Context, d GrowDeps, o GrowOptions) (Growth, error) {
	id, bounds, err := d.Log.Describe(ctx, o.Pipeline.Topic)
	if err != nil {
		return Growth{}, err
	}
	g := Growth{From: len(bounds), To: o.Partitions}
	if g.To <= g.From {
		return g, fmt.Errorf("topic %s has %d partitions; the new number must be larger",
			o.Pipeline.Topic, g.From)
	}
	if g.Days, err = d.days(ctx, o, id, bounds); err != nil || o.DryRun {
		return g, err
	}
	listed := make([]ledger.Listed, len(g.Days))
	for i, t := range g.Days {
		listed[i] = ledger.Listed{Touched: t, Reason: ledger.ReasonGrowth}
	}
	if len(listed) > 0 {
		if err := d.Store.List(ctx, listed); err != nil {
			return g, fmt.Errorf("listing the days as dirty, before any partition was added: %w", err)
		}
	}
	return g, d.Partitions.Grow(ctx, o.Pipeline.Topic, o.Partitions)
}

// days returns what was touched since the beginning of the window, by what is
// stored and by what still waits, of owners that move.
func (d *GrowDeps) days(
	ctx context.Context, o GrowOptions, id [16]byte, bounds map[int32]Bounds,
) ([]ledger.Touched, error) {
	stored, err := d.Touches.TouchedSince(ctx, id, o.Since.UnixMilli())
	if err != nil {
		return nil, err
	}
	days := map[ledger.Touched]struct{}{}
	for _, t := range stored {
		days[t] = struct{}{}
	}
	committed, err := d.Groups.Committed(ctx, o.Pipeline.Group, o.Pipeline.Topic)
	if err != nil {
		return nil, err
	}
	for p, b := range bounds {
		from := b.Start
		if c, ok := committed[p]; ok {
			from = max(from, c.Offset)
		}
		if err := collect(ctx, d.Log, o.Pipeline.Topic, p, from, b.End, days); err != nil {
			return nil, err
		}
	}
	for t := range days {
		if d.Partitions.PartitionOf(t.Owner, len(bounds)) == d.Partitions.PartitionOf(t.Owner, o.Partitions) {
			delete(days, t)
		}
	}
	return slices.SortedFunc(maps.Keys(days), compareTouched), nil
}
