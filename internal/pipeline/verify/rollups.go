package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ledger"
)

const (
	// pairsAtOnce is how many days of owners one statement compares.
	pairsAtOnce = 500
	// maxPairs wait for a comparison at most.
	maxPairs = 50_000
	// looks is how often a day that changes is looked at again.
	looks = 3
)

// rollups compares the rollups of every day of the time, and of the days before
// and after it that records touch.
func (v *verifier) rollups(ctx context.Context) error {
	for day := record.Day(v.o.Since.UnixMilli()); int64(day)*record.MillisPerDay < v.o.Until.UnixMilli(); day++ {
		differ, err := v.base.DifferingOn(ctx, day)
		if err != nil {
			return err
		}
		if err := v.differing(ctx, differ); err != nil {
			return err
		}
	}
	return v.compare(ctx)
}

// pairsInTime keeps the pairs that wait from becoming too many.
func (v *verifier) pairsInTime(ctx context.Context) error {
	if len(v.pairs) < maxPairs {
		return nil
	}
	return v.compare(ctx)
}

// compare compares the pairs outside of the time that wait.
func (v *verifier) compare(ctx context.Context) error {
	first, last := record.Day(v.o.Since.UnixMilli()), record.Day(v.o.Until.UnixMilli()-1)
	maps.DeleteFunc(v.pairs, func(t ledger.Touched, _ struct{}) bool { return t.Day >= first && t.Day <= last })
	for part := range slices.Chunk(slices.SortedFunc(maps.Keys(v.pairs), compareTouched), pairsAtOnce) {
		differ, err := v.base.Differing(ctx, part)
		if err != nil {
			return err
		}
		if err := v.differing(ctx, differ); err != nil {
			return err
		}
	}
	clear(v.pairs)
	return nil
}

// differing tells of pairs that differ, once it is certain that no insert is
// under way: see ledger.Judge.
func (v *verifier) differing(ctx context.Context, pairs []ledger.Touched) error {
	if len(pairs) == 0 {
		return nil
	}
	first, err := v.base.Count(ctx, "", pairs)
	if err != nil || !v.running {
		v.tell(pairs, first)
		return err
	}
	for range looks {
		select {
		case <-time.After(v.o.Settle):
		case <-ctx.Done():
			return ctx.Err()
		}
		// Before the numbers: where those have stayed what they were, no insert was under
		// way when the cells were read.
		still, err := v.base.Differing(ctx, pairs)
		if err != nil {
			return err
		}
		second, err := v.base.Count(ctx, "", pairs)
		if err != nil {
			return err
		}
		var rest []ledger.Touched
		var counts []ledger.Counts
		for i, p := range pairs {
			verdict := ledger.Judge(first[i], second[i])
			switch {
			case verdict == ledger.Over || verdict == ledger.Under,
				verdict == ledger.Agree && slices.Contains(still, p): // in a cell, not in the sums
				v.tell([]ledger.Touched{p}, second[i:i+1])
			case verdict == ledger.Unsettled && slices.Contains(still, p):
				rest, counts = append(rest, p), append(counts, second[i])
			}
		}
		if pairs, first = rest, counts; len(pairs) == 0 {
			return nil
		}
	}
	for _, p := range pairs {
		v.report.day(p.Day).Changing++
	}
	return nil
}

func (v *verifier) tell(pairs []ledger.Touched, counts []ledger.Counts) {
	for i, p := range pairs {
		v.report.day(p.Day).Rollups++
		e := Example{
			Kind: RollupDiffers, Owner: p.Owner, Day: ledger.Date(p.Day),
			Why: "a cell of a rollup differs from the events",
		}
		if i < len(counts) {
			c := counts[i]
			e.Why = fmt.Sprintf("%d events, %d in the 15-minute rollup, %d in the daily rollup", c.Base, c.Quarters, c.Days)
		}
		v.report.example(e)
	}
}
