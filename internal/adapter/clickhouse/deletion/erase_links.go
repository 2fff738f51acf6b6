package deletion

import (
	"context"
	"fmt"
	"slices"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/privacy/tombstone"
)

// linkErasure stands for the id of an erasure at the tombstones of links, which nobody
// asked for.
const linkErasure = "link purge"

// clickTables are those that have anything of a link.
var clickTables = []*schema.Table{&schema.Clicks, &schema.Clicks15m, &schema.Clicks1d}

// EraseLinks implements link.ClickEraser: it deletes all that is stored of links, and keeps it
// from coming back out of a dead letter. What is on its way is not waited for, since links
// that nobody can restore have had no clicks for long. Links without clicks leave no trace.
func (e *Eraser) EraseLinks(ctx context.Context, ids []string) error {
	stones, err := e.clicked(ctx, stonesOf(ids))
	if err != nil || len(stones) == 0 {
		return err
	}
	if err := e.Bury(ctx, linkErasure, stones); err != nil {
		return err
	}
	for _, t := range clickTables {
		for _, where := range conditions(t, stones, buried) {
			if err := e.deleteFrom(ctx, t, where); err != nil {
				return err
			}
		}
	}
	return nil
}

// stonesOf returns the tombstones of all that owners have.
func stonesOf(ids []string) []tombstone.Tombstone {
	stones := make([]tombstone.Tombstone, len(ids))
	for i, id := range ids {
		stones[i] = tombstone.Tombstone{Owner: id, Kind: tombstone.Website, Before: tombstone.Forever}
	}
	return stones
}

// clicked returns the tombstones of links of which something is stored.
func (e *Eraser) clicked(ctx context.Context, stones []tombstone.Tombstone) ([]tombstone.Tombstone, error) {
	var found []string
	for _, t := range clickTables {
		var owners proto.ColStr
		q, _ := asked("SELECT DISTINCT owner_id FROM "+t.Name, t, stones, buried)
		q.Result = proto.Results{{Name: ownerColumn, Data: &owners}}
		q.OnResult = func(context.Context, proto.Block) error {
			for i := range owners.Rows() {
				found = append(found, owners.Row(i))
			}
			return nil
		}
		if err := e.Read(ctx, t.Name, q); err != nil {
			return nil, fmt.Errorf("finding clicks of %d links in %s: %w", len(stones), t.Name, err)
		}
	}
	slices.Sort(found)
	return stonesOf(slices.Compact(found)), nil
}
