package admission

import (
	"context"
	"log/slog"
	"time"
)

const (
	// lookEvery is how often the queue is looked at.
	lookEvery = 100 * time.Millisecond
	// tellEvery bounds how often the log is told; the metrics tell all of it.
	tellEvery = 10 * time.Second
	// smoothing is the weight of the latest look at how fast work goes.
	smoothing = 0.2
	// steepest is how many times as much as at the last look may be let in at the most.
	// A look later it shows what came of it, so the queue can not grow far beyond.
	steepest = 1.25
	// enough is the part of the target that those who were let in wait for when no more
	// are. What a rise does to the wait shows later; were it to overshoot the target, then
	// a caller who sends little would hold too much to be told from who makes the queue.
	enough = 0.75
	// usedPart is the part of the limit that is in use where one caller holds all that a
	// share lets it, which is half of it, and some more have just gone.
	usedPart = 4
)

// queue is what Run remembers between two looks.
type queue struct {
	rate    float64       // requests a second that were finished lately
	held    int64         // requests that were at work at the last look
	stalled time.Duration // for which some were there, and none was finished
	crowded bool
	limit   float64   // requests that may be at work, while it is crowded
	told    time.Time // when the log was told that it is crowded
}

// Run watches how long work waits, until ctx ends.
func (g *Gate) Run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			now := time.Now()
			g.look(now, now.Sub(last))
			last = now
		}
	}
}

// look estimates the queue time and sets how much may be let in.
func (g *Gate) look(at time.Time, passed time.Duration) {
	if g.target <= 0 || passed <= 0 {
		return
	}
	q := &g.queue
	done, turned, now := g.done.Swap(0), g.turned.Swap(0), g.requests()
	g.pause.Store(int64(paused(g.Pause(), turned, done, passed)))
	lately := float64(done) / passed.Seconds()
	q.rate += smoothing * (lately - q.rate)
	// The faster of both: lately alone falls behind while work comes in bursts, and the
	// average after a rest. Only what was here at the last look too: of what came since
	// then, perhaps just now, nothing can be finished yet.
	rate, held := max(lately, q.rate), min(now, q.held)
	q.held = now
	wait := waitOf(held, rate)
	if q.stalled += passed; done > 0 || held == 0 {
		q.stalled = 0
	} else {
		// What was finished before says nothing about how fast work goes now, and
		// nobody has waited longer than this.
		wait = min(wait, 2*q.stalled)
	}
	g.metrics.observe(wait, held)
	switch {
	case wait > g.target && !q.crowded:
		q.crowded, q.limit = true, rate*g.target.Seconds()
		if at.Sub(q.told) > tellEvery {
			q.told = at
			g.log.LogAttrs(context.Background(), slog.LevelWarn, "requests wait too long, rejecting new ones",
				slog.Duration("wait", wait), slog.Int64("requests", held))
		}
	case wait < g.target/2 && turned == 0:
		// Not while somebody is rejected, who would fill the queue again at once.
		q.crowded = false
	}
	limit := int64(unlimited)
	if q.crowded {
		q.limit = max(q.next(held, wait, rate, g.target), leastLimit)
		limit = int64(q.limit)
	}
	g.limit.Store(limit)
}

// next is how many requests may be at work until the next look, where so many were and
// waited so long. It falls to what can be finished within the target, and rises while what
// is let in waits for clearly less. Without the rise a limit that was too low would stay so: what
// is finished then is no more than what was let in.
func (q *queue) next(held int64, wait time.Duration, rate float64, target time.Duration) float64 {
	switch {
	case wait > target:
		return min(q.limit, max(rate*target.Seconds(), q.limit/2))
	case usedPart*float64(held) < q.limit:
		return q.limit // it keeps hardly anybody out: nothing shows what more would do
	case wait == 0:
		return steepest * q.limit
	}
	return q.limit * max(1, min(steepest, enough*target.Seconds()/wait.Seconds()))
}

// waitOf is the time that a request spends here when so many are at work and so
// many are finished a second. What leastLimit would let in is no queue.
func waitOf(held int64, rate float64) time.Duration {
	if held <= leastLimit {
		return 0
	}
	const longest = time.Hour
	if rate < 1 {
		return longest
	}
	return time.Duration(min(float64(held)/rate, longest.Seconds()) * float64(time.Second))
}
