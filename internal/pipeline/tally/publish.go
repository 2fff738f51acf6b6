package tally

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/millrace/millrace/internal/contract/record"
)

const (
	// interval is how often counts are published.
	interval = time.Minute
	// again is when they are after a failure.
	again = 5 * time.Second
	// lastTries bounds the publication at the end, lastPause is between two attempts of it.
	lastTries = 5 * time.Second
	lastPause = 250 * time.Millisecond
	// atOnce is how many records are published at a time.
	atOnce = 1000
)

// count is what is published as one record.
type count struct {
	owner  Owner
	minute int64
	what   Outcome
	events int64
	batch  int64
}

// id names the count among all of its owner.
func (c *count) id(edge string) string {
	b := append(make([]byte, 0, 96), edge...)
	b = strconv.AppendInt(append(b, '/'), c.minute, 10)
	b = strconv.AppendInt(append(b, '/'), c.batch, 10)
	return string(append(append(b, '/'), c.what.String()...))
}

// Run publishes counts until ctx ends, then those that are left.
func (t *Tally) Run(ctx context.Context) error {
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			t.finish(ctx)
			return nil
		case <-timer.C:
		}
		wait := interval
		if err := t.flush(ctx); err != nil {
			wait = again
			t.deps.Log.LogAttrs(ctx, slog.LevelWarn, "publishing event counts failed, retrying",
				slog.Int("counts", len(t.pending)), slog.Any("error", err))
		}
		timer.Reset(wait)
	}
}

// finish publishes what is left when the process ends: what waits from before, and
// what came since.
func (t *Tally) finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTries)
	defer cancel()
	var err error
	done := 0
	for done < 2 && ctx.Err() == nil {
		if err = t.flush(ctx); err == nil {
			done++
			continue
		}
		pause := time.NewTimer(lastPause)
		select {
		case <-ctx.Done():
			pause.Stop()
		case <-pause.C:
		}
	}
	if done == 2 {
		return
	}
	t.collect()
	lost := int64(0)
	for i := range t.pending {
		lost += t.pending[i].events
	}
	t.metrics.uncounted.Add(float64(lost))
	t.deps.Log.LogAttrs(ctx, slog.LevelError, "event counts lost, the events themselves are unaffected",
		slog.Int64("events", lost),
		slog.Any("error", err))
}

// flush publishes the counts that wait, or else those of now. Those that are not
// acknowledged wait.
func (t *Tally) flush(ctx context.Context) error {
	if len(t.pending) == 0 {
		t.collect()
	}
	for len(t.pending) > 0 {
		some := t.pending[:min(len(t.pending), atOnce)]
		if err := t.deps.Publisher.Publish(ctx, t.records(some)); err != nil {
			t.metrics.failures.Inc()
			return err
		}
		t.metrics.published.Add(float64(len(some)))
		t.pending = t.pending[len(some):]
		t.waiting.Store(int64(len(t.pending)))
	}
	t.pending = nil
	return nil
}

// collect takes what was counted, by organization, because its records share much.
func (t *Tally) collect() {
	t.batch++
	for i := range t.shards {
		for key, c := range t.take(&t.shards[i]) {
			o := Owner{Organization: c.organization}
			if key.owner != c.organization {
				o.Website = key.owner
			}
			for what, n := range c.of {
				if n > 0 {
					t.pending = append(t.pending, count{o, key.minute, Outcome(what), n, t.batch})
				}
			}
		}
	}
	slices.SortFunc(t.pending, func(a, b count) int {
		return cmp.Or(cmp.Compare(a.owner.Organization, b.owner.Organization), cmp.Compare(a.owner.Website, b.owner.Website))
	})
	t.waiting.Store(int64(len(t.pending)))
}

// records makes the records of counts, in memory that nobody uses again: a
// publisher that failed may still read it.
func (t *Tally) records(some []count) []record.Record {
	// a record as old as an outage would not be sent any more
	all, now := make([]record.Record, 0, len(some)), t.deps.Now()
	for len(some) > 0 {
		of := some[0].owner.Organization
		n := 1
		for n < len(some) && some[n].owner.Organization == of {
			n++
		}
		var b record.Batch
		b.Reset(record.Receipt{Organization: of, RequestID: t.edge, At: now})
		for i := range some[:n] {
			c := &some[i]
			b.AddCount(&record.Count{
				ID: c.id(t.edge), Outcome: c.what.String(), Edge: t.edge,
				Minute: time.Unix(c.minute*secondsPerMinute, 0), Events: c.events,
			}, record.Target{Website: c.owner.Website})
		}
		all, some = append(all, b.Records()...), some[n:]
	}
	return all
}
