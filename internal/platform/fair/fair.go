// Package fair shares a number of slots among tenants and what they own, so that one who
// asks for much takes nothing from one who asks for little, however many owners it has.
//
// It promises that no more slots are held than there are, nor more by one owner than
// its share; that tenants who wait get slots in turn, the owners of each in turn, and
// each owner's claims in the order in which they were made; and that what waits is
// bounded, for each owner, for each tenant and for all together. Several claims are given
// or rejected as one, so that a caller never gets half of what it needs.
//
// It refuses to say what a slot is for, and who an owner is: an owner is two names.
package fair

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Why claims are rejected.
var (
	ErrOwnerFull  = errors.New("too many requests of this owner are waiting")
	ErrTenantFull = errors.New("too many requests of this tenant are waiting")
	ErrFull       = errors.New("too many requests are waiting")
)

// Config says how many slots there are, and how many may wait for one. Every figure
// is at least 1.
type Config struct {
	// Slots is how many may be held at the same time, PerOwner how many by one owner.
	Slots, PerOwner int
	// Queue is how many claims may be taken besides, waiting for a slot, TenantQueue how
	// many of them by the owners of one tenant, and OwnerQueue how many by one owner.
	Queue, TenantQueue, OwnerQueue int
}

// Owner is whose claims are shared: something of a tenant's.
type Owner struct{ Tenant, Name string }

// Scheduler shares slots. It is safe for concurrent use.
type Scheduler struct {
	cfg     Config
	metrics metrics

	mu      sync.Mutex
	taken   int // claims, held slots among them
	held    int // slots
	owners  map[Owner]*owner
	tenants map[string]*tenant
	// turns are the tenants of which an owner waits and may have one more slot, the next
	// one first.
	turns list.List
}

// tenant is one of those whose owners have claims.
type tenant struct {
	taken int
	turns list.List     // *owner, those that wait and may have one more slot, the next one first
	turn  *list.Element // its place among the tenants; nil when it has none
}

// owner is one of those that have claims.
type owner struct {
	name        Owner
	tenant      *tenant
	taken, held int
	waiting     list.List     // *Claim, oldest first
	turn        *list.Element // its place among the tenant's; nil when it has none
}

// New returns a scheduler of free slots. Its metrics are those of statements; a nil reg
// leaves them out.
func New(cfg Config, reg prometheus.Registerer) *Scheduler {
	return &Scheduler{
		cfg: cfg, metrics: newMetrics(reg), owners: map[Owner]*owner{}, tenants: map[string]*tenant{},
	}
}

// Claim is the right to wait for one slot and to hold it. Its methods are called by
// one goroutine at a time.
type Claim struct {
	s       *Scheduler
	owner   *owner
	granted chan struct{} // closed when the slot is held
	waits   *list.Element // in owner.waiting, while it waits
	state   state
}

type state uint8

const (
	idle state = iota
	waiting
	holding
	gone
)

// Admit gives an owner n claims, or none: then the error is ErrOwnerFull, ErrTenantFull or
// ErrFull. It does not wait. Every claim has to be released. A queue that others have filled has as many
// places again, for the first claim of an owner in that of its tenant, and of a tenant in that of all.
func (s *Scheduler) Admit(name Owner, n int) ([]*Claim, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.find(name)
	switch {
	case o.taken+n > s.cfg.PerOwner+s.cfg.OwnerQueue:
		s.metrics.rejected.WithLabelValues(queueOwner).Inc()
		return nil, ErrOwnerFull
	case o.tenant.taken+n > again(o.taken, n)*(s.cfg.Slots+s.cfg.TenantQueue):
		s.metrics.rejected.WithLabelValues(queueTenant).Inc()
		return nil, ErrTenantFull
	case s.taken+n > again(o.tenant.taken, n)*(s.cfg.Slots+s.cfg.Queue):
		s.metrics.rejected.WithLabelValues(queueAll).Inc()
		return nil, ErrFull
	case n == 0:
		return nil, nil
	}
	s.owners[name], s.tenants[name.Tenant] = o, o.tenant
	s.take(o, n)
	s.gauge()
	claims := make([]*Claim, n)
	for i := range claims {
		claims[i] = &Claim{s: s, owner: o, granted: make(chan struct{})}
	}
	return claims, nil
}

// again is how many times a queue may be filled for n claims of somebody who has some already.
func again(taken, n int) int {
	if taken == 0 && n == 1 {
		return 2
	}
	return 1
}

// find returns an owner, which is new where it has no claims.
func (s *Scheduler) find(name Owner) *owner {
	if o := s.owners[name]; o != nil {
		return o
	}
	t := s.tenants[name.Tenant]
	if t == nil {
		t = new(tenant)
	}
	return &owner{name: name, tenant: t}
}

// take counts n claims more of an owner, or less, and forgets who has none.
func (s *Scheduler) take(o *owner, n int) {
	s.taken, o.tenant.taken, o.taken = s.taken+n, o.tenant.taken+n, o.taken+n
	if o.taken == 0 {
		delete(s.owners, o.name)
	}
	if o.tenant.taken == 0 {
		delete(s.tenants, o.name.Tenant)
	}
}

// Acquire waits for a slot, until the context ends. It is called once.
func (p *Claim) Acquire(ctx context.Context) error {
	start := time.Now()
	p.s.mu.Lock()
	p.state, p.waits = waiting, p.owner.waiting.PushBack(p)
	p.s.queue(p.owner)
	p.s.grant()
	p.s.mu.Unlock()
	select {
	case <-p.granted:
		p.s.metrics.waited.Observe(time.Since(start).Seconds())
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Release gives the claim back, and the slot if it is held. Doing it again does
// nothing.
func (p *Claim) Release() {
	s, o := p.s, p.owner
	s.mu.Lock()
	defer s.mu.Unlock()
	switch p.state {
	case gone:
		return
	case waiting:
		o.waiting.Remove(p.waits)
	case holding:
		s.held, o.held = s.held-1, o.held-1
	case idle:
	}
	p.state = gone
	s.take(o, -1)
	s.queue(o)
	s.grant()
}

// queue gives an owner a turn when it waits for a slot that it may have, and its tenant
// one among the tenants, and takes them from those that do not.
func (s *Scheduler) queue(o *owner) {
	o.turn = turn(&o.tenant.turns, o.turn, o, o.waiting.Len() > 0 && o.held < s.cfg.PerOwner)
	o.tenant.turn = turn(&s.turns, o.tenant.turn, o.tenant, o.tenant.turns.Len() > 0)
}

// turn returns the place in a list of one who wants to have one, or not.
func turn(of *list.List, place *list.Element, who any, wants bool) *list.Element {
	switch {
	case wants && place == nil:
		return of.PushBack(who)
	case !wants && place != nil:
		of.Remove(place)
		return nil
	}
	return place
}

// grant hands out slots, one to each tenant in turn.
func (s *Scheduler) grant() {
	for s.held < s.cfg.Slots && s.turns.Len() > 0 {
		t := s.turns.Remove(s.turns.Front()).(*tenant) //nolint:forcetypeassert // the list holds nothing else
		o := t.turns.Remove(t.turns.Front()).(*owner)  //nolint:forcetypeassert // the list holds nothing else
		t.turn, o.turn = nil, nil
		p := o.waiting.Remove(o.waiting.Front()).(*Claim) //nolint:forcetypeassert // the list holds nothing else
		s.held, o.held = s.held+1, o.held+1
		p.state, p.waits = holding, nil
		close(p.granted)
		s.queue(o)
	}
	s.gauge()
}

func (s *Scheduler) gauge() {
	s.metrics.held.Set(float64(s.held))
	s.metrics.waiting.Set(float64(s.taken - s.held))
}
