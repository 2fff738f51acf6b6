package readcache

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sony/gobreaker/v2"
	"golang.org/x/sync/singleflight"
)

var (
	errHangs = errors.New("the read did not return by its deadline")
	errFlood = errors.New("too many lookups of unknown keys are in progress")
)

// Reads are reads of the metadata store within bounds: one for all who want the same thing
// at a time, Config.MaxLoads of unknown things at a time with MaxWaiting behind them, each no
// longer than Config.LoadTimeout, and none for a moment after several that failed. They keep
// nothing. They are safe for concurrent use.
type Reads[V any] struct {
	cfg      Config
	isResult func(error) bool // errors that are results, such as that there is no such thing

	flights singleflight.Group
	breaker *gobreaker.CircuitBreaker[V]
	slots   chan struct{} // one for each read of an unknown thing
	waiting atomic.Int64  // for a slot
	metrics metrics
}

// NewReads returns reads that count under Config.Name. Errors for which answers is true are no
// failures of the store; reg may be nil.
func NewReads[V any](cfg Config, isResult func(error) bool, reg prometheus.Registerer) *Reads[V] {
	cfg = cfg.withDefaults()
	r := &Reads[V]{
		cfg: cfg, isResult: isResult, slots: make(chan struct{}, cfg.MaxLoads), metrics: newMetrics(reg, cfg.Name),
	}
	r.breaker = gobreaker.NewCircuitBreaker[V](gobreaker.Settings{
		Name: cfg.Name, Timeout: retryPause,
		ReadyToTrip:  func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= breakerTrips },
		IsSuccessful: func(err error) bool { return err == nil || isResult(err) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			r.metrics.breaker(to != gobreaker.StateClosed)
		},
	})
	return r
}

// Join joins or starts the one read that may be under way under a name, and waits for it, no
// longer than ctx and Config.LoadTimeout allow. The context that do gets ends with the latter
// only: the read goes on when the caller who started it has left, since others wait for it.
func (r *Reads[V]) Join(ctx context.Context, name string, do func(context.Context) (V, error)) (V, error) {
	done := r.flights.DoChan(name, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.cfg.LoadTimeout)
		defer cancel()
		return do(ctx)
	})
	// A read that ignores its deadline must not hold its callers.
	patience := time.NewTimer(r.cfg.LoadTimeout + r.cfg.LoadTimeout/10)
	defer patience.Stop()
	var zero V
	select {
	case got := <-done:
		v, _ := got.Val.(V)
		return v, got.Err
	case <-patience.C:
		return zero, errHangs
	case <-ctx.Done():
		return zero, context.Cause(ctx)
	}
}

// Forget has those who join from here on begin another read.
func (r *Reads[V]) Forget(name string) { r.flights.Forget(name) }

// Enter waits for its turn to read something unknown, behind no more than MaxWaiting others.
// leave ends the turn.
func (r *Reads[V]) Enter(ctx context.Context) (leave func(), err error) {
	defer r.waiting.Add(-1)
	if r.waiting.Add(1) > MaxWaiting {
		return nil, errFlood
	}
	select {
	case r.slots <- struct{}{}:
		return func() { <-r.slots }, nil
	case <-ctx.Done():
		return nil, errFlood
	}
}

// Ask has load ask the store, unless the store failed a moment ago.
func (r *Reads[V]) Ask(load func() (V, error)) (V, error) {
	return r.breaker.Execute(func() (V, error) {
		r.metrics.loads.Inc()
		began := time.Now()
		v, err := load()
		r.metrics.seconds.Observe(time.Since(began).Seconds())
		if err != nil && !r.isResult(err) {
			r.metrics.failures.Inc()
		}
		return v, err
	})
}
