package ratelimit

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
)

// Shared settles requests for several processes. An error means that it could not
// be asked, whether or not it has counted the request.
type Shared interface {
	// Settle counts a request against all of its windows and gives it a slot, or
	// does neither.
	Settle(ctx context.Context, q Question) (Verdict, error)
	// Release gives a slot back.
	Release(ctx context.Context, account, lease string) error
	// Ping reports whether it can be asked.
	Ping(ctx context.Context) error
}

// Question is what a Shared needs to know of a request.
type Question struct {
	Account string // who is counted
	Windows []NamedLimit
	// Slots is how many requests of the account may be under way; 0 for any
	// number, and then there is no lease.
	Slots    int
	Lease    string        // names this request's slot
	LeaseFor time.Duration // after which a slot is free whatever has become of its request
}

// NamedLimit is one window of an account.
type NamedLimit struct {
	Name string
	Limit
}

// Verdict is the response to a Question.
type Verdict struct {
	// Rejected says what stood against the request: the index of a window, or
	// len(Windows) for the slots; Admitted when nothing did.
	Rejected int
	// Wait is how long until the window has room.
	Wait time.Duration
}

// Admitted is the Verdict.Rejected of a request that was counted.
const Admitted = -1

// Times of settlers that fail.
const (
	breakerTrips = 3 // questions failed one after the other
	retryPause   = 250 * time.Millisecond
	// defaultLease is longer than a request takes that nobody gives another limit.
	defaultLease = time.Minute
)

// sharing asks other processes. Once they have failed to answer a few times,
// nobody asks any more until Limiter.Run has found them back, so that no request
// pays for finding out.
type sharing struct {
	with     Shared
	metrics  *metrics
	salt     func() []byte
	leaseFor time.Duration
	process  string // tells leases of this process from others'
	leases   atomic.Uint64
	breaker  *gobreaker.CircuitBreaker[Verdict]
}

func newSharing(deps Deps, m *metrics) *sharing {
	s := &sharing{
		with: deps.Shared, metrics: m, salt: deps.Salt, leaseFor: deps.LeaseFor,
		process: strconv.FormatUint(rand.Uint64(), 36) + "-", //nolint:gosec // a name, no secret
	}
	if s.leaseFor <= 0 {
		s.leaseFor = defaultLease
	}
	m.up.Set(1)
	s.breaker = gobreaker.NewCircuitBreaker[Verdict](gobreaker.Settings{
		Name: "shared limits", Timeout: retryPause,
		ReadyToTrip: func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= breakerTrips },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			switch {
			case to == gobreaker.StateClosed:
				m.up.Set(1)
				deps.Log.LogAttrs(context.Background(), slog.LevelInfo, "rate limits are shared through Redis again")
			case from == gobreaker.StateClosed:
				m.up.Set(0)
				deps.Log.LogAttrs(context.Background(), slog.LevelWarn,
					"Redis does not respond, rate limits are counted per process")
			}
		},
	})
	return s
}

func (s *sharing) up() bool { return s.breaker.State() == gobreaker.StateClosed }

// settle asks about a request.
func (s *sharing) settle(ctx context.Context, q Question) (Verdict, error) {
	start := time.Now()
	v, err := s.breaker.Execute(func() (Verdict, error) { return s.with.Settle(ctx, q) })
	s.metrics.seconds.Observe(time.Since(start).Seconds())
	if err == nil && v.Rejected > len(q.Windows) {
		err = fmt.Errorf("settling a request: window %d of %d", v.Rejected, len(q.Windows))
	}
	return v, err
}

func (s *sharing) ping(ctx context.Context) error {
	_, err := s.breaker.Execute(func() (Verdict, error) { return Verdict{}, s.with.Ping(ctx) })
	return err
}

// release gives a slot back. What cannot be told is freed by Question.LeaseFor.
func (s *sharing) release(ctx context.Context, who Identity, lease string) {
	if !s.up() {
		return
	}
	ctx = context.WithoutCancel(ctx)
	account, ok := s.account(who)
	if !ok {
		return
	}
	_, _ = s.breaker.Execute(func() (Verdict, error) {
		return Verdict{}, s.with.Release(ctx, account, lease)
	})
}

// account is what others know a caller by; ok is false where there is nothing to hash
// its address with.
func (s *sharing) account(who Identity) (name string, ok bool) {
	if who.Kind != Client {
		return who.name(nil), true
	}
	salt := s.salt()
	return who.name(salt), len(salt) > 0
}

// admitShared decides together with other processes. What this process can tell
// by itself costs no question: its own admissions are never more than everybody's,
// and what the others have once rejected for a while stays rejected.
func (l *Limiter) admitShared(ctx context.Context, r Request) (Lease, *Rejection) {
	if !l.shared.up() {
		return l.admitAlone(r)
	}
	asked := l.now()
	if _, rejected := l.admit(r, look); rejected != nil {
		return Lease{}, rejected
	}
	q, ok := l.question(r)
	if !ok {
		return l.admitAlone(r)
	}
	v, err := l.shared.settle(ctx, q)
	switch {
	case err != nil:
		return l.admitAlone(r)
	case v.Rejected == Admitted:
		lease, _ := l.admit(r, note)
		if lease.account != nil {
			lease.shared = q.Lease
		}
		return lease, nil
	case v.Rejected == len(q.Windows):
		return Lease{}, &Rejection{Concurrent: true, Limit: q.Slots, Wait: concurrencyWait}
	}
	l.block(r, v.Rejected, asked+int64(v.Wait))
	return Lease{}, &Rejection{Limit: q.Windows[v.Rejected].Requests, Wait: v.Wait}
}

// admitAlone decides while others do not answer, and counts what they may not know of.
func (l *Limiter) admitAlone(r Request) (Lease, *Rejection) {
	lease, rejected := l.admit(r, settle)
	if rejected == nil {
		l.metrics.local.Inc()
	}
	return lease, rejected
}

// question is the request as others see it, unless they cannot be told who asks.
// Windows are in the order of a claim.
func (l *Limiter) question(r Request) (q Question, ok bool) {
	account, ok := l.shared.account(r.Who)
	q = Question{
		Account: account, Slots: l.slotsOf(r.Who),
		Windows: append(make([]NamedLimit, 0, 2), NamedLimit{r.Family.String(), l.limit(r)}),
	}
	if r.Custom.Requests > 0 {
		q.Windows = append(q.Windows, NamedLimit{"all", r.Custom})
	}
	if q.Slots > 0 {
		q.Lease = l.shared.process + strconv.FormatUint(l.shared.leases.Add(1), 36)
		q.LeaseFor = l.shared.leaseFor
	}
	return q, ok
}

// Run finds out when other processes can be asked again, until ctx ends. Without
// it they never are, once they have failed.
func (l *Limiter) Run(ctx context.Context) error {
	if l.shared == nil {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(retryPause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if !l.shared.up() {
			_ = l.shared.ping(ctx) // the breaker takes note
		}
	}
}

// Probe finds out whether other processes can be asked, so that the first requests
// need not.
func (l *Limiter) Probe(ctx context.Context) {
	if l.shared == nil {
		return
	}
	for range breakerTrips {
		if l.shared.ping(ctx) == nil {
			return
		}
	}
}

// Shares reports whether other processes count together with this one.
func (l *Limiter) Shares() bool { return l != nil && l.shared != nil }

// Ping reports why what they count through cannot be asked now; nil when it can, and
// where there is nothing of the kind.
func (l *Limiter) Ping(ctx context.Context) error {
	if l.shared == nil {
		return nil
	}
	return l.shared.ping(ctx)
}

// Detail says in a sentence what an operator should know about the limiter; empty
// when there is nothing.
func (l *Limiter) Detail() string {
	switch {
	case l.off:
		return "limits.enabled is false, rate limits are off"
	case l.shared != nil && !l.shared.up():
		return "Redis does not respond, rate limits are counted per process"
	}
	return ""
}
