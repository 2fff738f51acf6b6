package ledger

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// due is a pair whose turn it is.
type due struct {
	Touched

	*pair
	of *partition
}

// turn reports whether it is time to look at a pair: when it has been quiet for the settle
// time. Where that never comes, two looks are made now and then, no further apart than they
// have to be: what comes between them hides a difference of as much. The first two are made
// soon, and the others after busyEvery.
func (p *pair) turn(now time.Time, settle time.Duration) bool {
	looked := now.Sub(p.looked)
	switch {
	case p.looked.IsZero():
		return now.Sub(p.touched) >= settle || now.Sub(p.since) >= busyFirst
	case p.again, now.Sub(p.touched) >= settle:
		return looked >= settle
	}
	return looked >= busyEvery
}

// agree looks at the pairs whose turn it is: those first that were looked at once, for what
// comes between the two looks hides a difference, then those that wait longest.
func (r *Reconciler) agree(ctx context.Context) error {
	now := time.Now()
	var all []due
	for _, s := range r.partitions {
		for t, p := range s.pairs {
			if p.turn(now, r.cfg.Settle) {
				all = append(all, due{t, p, s})
			}
		}
	}
	slices.SortFunc(all,
		func(a, b due) int { return cmp.Or(cmp.Compare(b.first(), a.first()), a.waited().Compare(b.waited())) })
	turns := len(all)
	defer func() { r.metrics.overdue.Set(float64(turns)) }()
	all = all[:min(len(all), r.cfg.Pairs)]
	for len(all) > 0 && time.Since(now) < r.cfg.Interval/2 {
		var some []due
		some, all = ofOneTopic(all)
		if err := r.observe(ctx, some); err != nil {
			return err
		}
		turns -= len(some)
	}
	return nil
}

// ofOneTopic takes pairs of the first one's topic, as many as one statement asks
// about. The order of the others stays.
func ofOneTopic(all []due) (some, rest []due) {
	for _, d := range all {
		if d.of.topic == all[0].of.topic && len(some) < pairsAtOnce {
			some = append(some, d)
		} else {
			rest = append(rest, d)
		}
	}
	return some, rest
}

// first is 1 for a pair that was looked at once and is to be looked at again, else 0.
func (d *due) first() int {
	if d.again {
		return 1
	}
	return 0
}

// waited is since when nobody has looked at the pair.
func (d *due) waited() time.Time {
	if d.looked.IsZero() {
		return d.since
	}
	return d.looked
}

// observe looks at pairs, and judges those that were looked at before. Two looks
// that agree settle a pair: whatever entry was read before the second one had been
// inserted by then, and had it come between the looks, they would not agree.
func (r *Reconciler) observe(ctx context.Context, pairs []due) error {
	names := make([]Touched, len(pairs))
	for i := range pairs {
		names[i] = pairs[i].Touched
	}
	begin := time.Now() // the counts are of this moment or later
	counts, err := r.deps.Store.Count(ctx, pairs[0].of.topic, names)
	if err != nil {
		return fmt.Errorf("counting %d pairs: %w", len(pairs), err)
	}
	end := time.Now()
	verdicts := make([]Verdict, len(pairs))
	var differ []Listed
	for i, d := range pairs {
		verdicts[i] = Unsettled
		if !d.looked.IsZero() && begin.Sub(d.looked) >= r.cfg.Settle {
			verdicts[i] = Judge(d.counts, counts[i])
		}
		if v := verdicts[i]; v == Over || v == Under {
			differ = append(differ, Listed{Touched: d.Touched, Counts: counts[i], Reason: Reason(v)})
		}
	}
	if err := r.list(ctx, differ); err != nil {
		return err
	}
	for i, d := range pairs {
		if verdicts[i] == Unsettled {
			d.looked, d.counts, d.again = end, counts[i], !d.again
		} else {
			delete(d.of.pairs, d.Touched)
		}
	}
	return nil
}

// list puts days on the list, before anything forgets that they differ.
func (r *Reconciler) list(ctx context.Context, days []Listed) error {
	if len(days) == 0 {
		return nil
	}
	if err := r.deps.Store.List(ctx, days); err != nil {
		return fmt.Errorf("listing %d dirty days: %w", len(days), err)
	}
	for _, d := range days {
		r.deps.Log.LogAttrs(ctx, slog.LevelWarn, "rollups of a day differ from the base, day listed as dirty",
			slog.String("owner", d.Owner), slog.String("day", Date(d.Day)), slog.String("reason", string(d.Reason)),
			slog.Uint64("base", d.Base), slog.Uint64("rollup_15m", d.Quarters), slog.Uint64("rollup_1d", d.Days))
	}
	return nil
}

// clearEqual takes days off the list that have become equal: a view that failed
// was healed by a retry after the day had been found to differ.
//
// That is safe because it does not go by sums, in which a surplus may hide what is
// missing: each cell of owner, time and name has to answer as the base does, in
// events, visitors and sessions, at two looks a settle time apart. A query cannot
// tell such rollups from the base. Days that a replay listed are left alone, for
// what will make them differ may be still to come.
func (r *Reconciler) clearEqual(ctx context.Context) error {
	asked, err := r.deps.Store.Found(ctx, clearsPerRound)
	if err != nil {
		return fmt.Errorf("reading dirty days: %w", err)
	}
	for t := range r.equal {
		if !slices.Contains(asked, t) {
			asked = append(asked, t)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	now := time.Now()
	differing, err := r.deps.Store.Differing(ctx, asked)
	if err != nil {
		return fmt.Errorf("comparing dirty days: %w", err)
	}
	var equal []Touched
	for _, t := range asked {
		since, before := r.equal[t]
		switch {
		case slices.Contains(differing, t):
			delete(r.equal, t)
		case !before:
			r.equal[t] = time.Now()
		case now.Sub(since) >= r.cfg.Settle:
			equal = append(equal, t)
		}
	}
	if len(equal) == 0 {
		return nil
	}
	if err := r.deps.Store.Clear(ctx, equal); err != nil {
		return fmt.Errorf("clearing %d dirty days: %w", len(equal), err)
	}
	for _, t := range equal {
		delete(r.equal, t)
	}
	return nil
}

// Date returns a day as YYYY-MM-DD.
func Date(day int32) string {
	return time.Unix(int64(day)*24*60*60, 0).UTC().Format(time.DateOnly)
}
