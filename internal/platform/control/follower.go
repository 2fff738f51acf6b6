package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Source reads the topic.
type Source interface {
	// Follow gives do the values of the topic's records in order, until ctx ends
	// or the topic cannot be read; it then returns why, or do's error. The first
	// batch holds the last record that was there when the reading began, or none
	// when there was none; after it come those written since.
	Follow(ctx context.Context, do func(context.Context, Delivery) error) error
}

// Delivery is what was read at one time. It is valid during the call only.
type Delivery struct {
	Values [][]byte
	// First says that the records were there before the reading began.
	First bool
	// End says that nothing was left to read.
	End bool
}

// Cache is somebody who holds answers of the store and can ask again. Its methods
// are called at any time, and several at once.
type Cache interface {
	// Apply drops what the change makes wrong.
	Apply(c Change)
	// Forget says that changes may have been missed: nothing that is held may be
	// used any more without asking.
	Forget()
	// Trust says that every change made until then will have been told of, so
	// that what is held need not be asked for again soon. It is said anew again
	// and again; when it is not, the store is asked as often as without it.
	Trust(until time.Time)
}

// Times of following.
const (
	// lostAfter is how long it takes to notice that no changes arrive any more:
	// three heartbeats, and less than the age at which caches ask again without trust.
	lostAfter = 3 * heartbeatEvery
	// reloadEvery is how often states are loaded while no changes arrive.
	reloadEvery = 4 * time.Second
	// attachPause is the wait before the topic is tried again.
	attachPause = 500 * time.Millisecond
)

// FollowerDeps are the parts of a Follower. Caches and States may be empty; the
// rest is required.
type FollowerDeps struct {
	Source  Source
	Caches  []Cache
	States  []*States
	Log     *slog.Logger
	Metrics prometheus.Registerer
}

// Follower passes the changes of control.v1 on to what a process remembers. It is
// safe for concurrent use.
type Follower struct {
	deps    FollowerDeps
	metrics followerMetrics

	mu       sync.Mutex
	head     Head
	attached bool  // has caught up once
	problem  error // why it has not
	trust    time.Time
	said     string // the last trouble that was logged

	awaiting atomic.Bool // a heartbeat was read that the topic's end has not confirmed
}

var errNotCaughtUp = errors.New("not caught up with topic " + Topic)

// NewFollower returns a Follower that does nothing before Run.
func NewFollower(deps FollowerDeps) *Follower {
	f := &Follower{deps: deps, problem: errNotCaughtUp}
	f.metrics = newFollowerMetrics(deps.Metrics, f.Following, deps.States)
	return f
}

// Ready reports why the process does not know yet that it hears of changes: nil
// from the moment on at which it has caught up for the first time. Losing the
// topic later is no reason not to serve.
func (f *Follower) Ready(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.attached {
		return nil
	}
	return f.problem
}

// Head returns what the topic says that the outbox has come to; known is false
// until the topic was read.
func (f *Follower) Head() (head Head, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.head, f.attached
}

// Following reports whether changes arrive.
func (f *Follower) Following() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Now().Before(f.trust)
}

// Run follows the topic until ctx ends.
func (f *Follower) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { f.watch(ctx) })
	for {
		err := f.deps.Source.Follow(ctx, f.take)
		if ctx.Err() != nil {
			return nil
		}
		f.lost(ctx, err)
		select {
		case <-time.After(attachPause):
		case <-ctx.Done():
			return nil
		}
	}
}

// lost notes why the topic cannot be read, and logs it once.
func (f *Follower) lost(ctx context.Context, err error) {
	f.metrics.losses.Inc()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.problem = fmt.Errorf("%w: %w", errNotCaughtUp, err)
	if f.said != err.Error() {
		f.said = err.Error()
		f.deps.Log.LogAttrs(ctx, slog.LevelWarn,
			"topic control.v1 cannot be read, refreshing cached entries every few seconds", slog.Any("error", err))
	}
}

// take passes a batch on.
func (f *Follower) take(ctx context.Context, b Delivery) error {
	now := time.Now()
	missed := b.First
	for _, value := range b.Values {
		c, head, err := decode(value)
		if err != nil {
			// What it was about is not known, so it may have been about anything.
			f.metrics.unreadable.Inc()
			f.deps.Log.LogAttrs(ctx, slog.LevelError, "change event cannot be decoded", slog.Any("error", err))
			missed = true
			continue
		}
		current, restored := f.learn(head)
		missed = missed || restored
		switch {
		case b.First:
		case c.Kind == heartbeat:
			if current {
				f.awaiting.Store(true)
			}
		default:
			f.apply(c)
		}
	}
	if missed {
		if err := f.reload(ctx, true); err != nil {
			return err
		}
	}
	f.settle(ctx, b, now)
	return nil
}

// learn takes in what a message says of the outbox. current means that the
// message is of the newest epoch that is known; restored that it is the first of
// an epoch, so that whatever was held is of a store that is no more.
func (f *Follower) learn(head Head) (current, restored bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.head
	if known.behind(head) {
		f.head = head
	}
	return head.Epoch >= known.Epoch, known.Epoch != 0 && head.Epoch > known.Epoch
}

func (f *Follower) apply(c Change) {
	f.metrics.changes.Inc()
	for _, cache := range f.deps.Caches {
		cache.Apply(c)
	}
	for _, s := range f.deps.States {
		s.Apply(c)
	}
}

// settle notes that the topic's end was reached, and trusts the topic when a heartbeat
// stood before it.
func (f *Follower) settle(ctx context.Context, b Delivery, now time.Time) {
	if !b.End {
		return
	}
	f.mu.Lock()
	first := !f.attached
	f.attached = true
	f.said = ""
	trusted := f.awaiting.Swap(false)
	if trusted {
		f.trust = now.Add(lostAfter)
	}
	f.mu.Unlock()
	if first {
		f.deps.Log.LogAttrs(ctx, slog.LevelInfo, "caught up with topic control.v1")
	}
	if trusted {
		for _, cache := range f.deps.Caches {
			cache.Trust(now.Add(lostAfter))
		}
		for _, s := range f.deps.States {
			s.confirm(now)
		}
	}
}

// reload loads the states, and has the caches forget when changes were missed.
func (f *Follower) reload(ctx context.Context, missed bool) error {
	if missed {
		for _, cache := range f.deps.Caches {
			cache.Forget()
		}
	}
	var errs []error
	for _, s := range f.deps.States {
		errs = append(errs, s.Load(ctx))
	}
	return errors.Join(errs...)
}

// watch loads the states every few seconds while no changes arrive.
func (f *Follower) watch(ctx context.Context) {
	tick := time.NewTicker(reloadEvery)
	defer tick.Stop()
	for was := true; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		is := f.Following()
		if was != is && f.Ready(ctx) == nil {
			f.tell(ctx, is)
		}
		was = is
		if is || len(f.deps.States) == 0 {
			continue
		}
		if err := f.reload(ctx, false); err != nil && ctx.Err() == nil {
			f.metrics.reloadFailures.Inc()
		}
	}
}

func (f *Follower) tell(ctx context.Context, following bool) {
	if following {
		f.deps.Log.LogAttrs(ctx, slog.LevelInfo, "change events arrive again on topic control.v1")
		return
	}
	f.deps.Log.LogAttrs(ctx, slog.LevelWarn,
		"no change events arrive on topic control.v1, refreshing cached entries every few seconds")
}
