// Package fair shares a number of slots among owners, so that one who asks for much
// takes nothing from one who asks for little.
//
// It promises that no more slots are held than there are, nor more by one owner than
// its share; that owners who wait get slots in turn, and each owner's claims in the
// order in which they were made; and that what waits is bounded, for each owner and
// for all together. Several claims are given or rejected as one, so that a caller
// never gets half of what it needs.
//
// It refuses to say what a slot is for, and who an owner is: an owner is a name.
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
	ErrOwnerFull = errors.New("too much of this owner is waiting")
	ErrFull      = errors.New("too much is waiting")
)

// Config says how many slots there are, and how many may wait for one. Every figure
// is at least 1.
type Config struct {
	// Slots is how many may be held at the same time, PerOwner how many by one owner.
	Slots, PerOwner int
	// Queue is how many claims may be taken besides, waiting for a slot, and
	// OwnerQueue how many of them by one owner.
	Queue, OwnerQueue int
}

// Scheduler shares slots. It is safe for concurrent use.
type Scheduler struct {
	cfg     Config
	metrics metrics

	mu     sync.Mutex
	taken  int // claims, held slots among them
	held   int // slots
	owners map[string]*owner
	// turns are the owners that wait and may have one more slot, the next one first.
	turns list.List
}

// owner is one of those that have claims.
type owner struct {
	name        string
	taken, held int
	waiting     list.List     // *Claim, oldest first
	turn        *list.Element // its place in turns; nil when it has none
}

// New returns a scheduler of free slots.
func New(cfg Config, reg prometheus.Registerer) *Scheduler {
	return &Scheduler{cfg: cfg, metrics: newMetrics(reg), owners: map[string]*owner{}}
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

// Admit gives an owner n claims, or none: then the error is ErrOwnerFull or ErrFull.
// It does not wait. Every claim has to be released.
func (s *Scheduler) Admit(name string, n int) ([]*Claim, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.owners[name]
	if o == nil {
		o = &owner{name: name}
	}
	switch {
	case o.taken+n > s.cfg.PerOwner+s.cfg.OwnerQueue:
		s.metrics.rejected.WithLabelValues(queueOwner).Inc()
		return nil, ErrOwnerFull
	case s.taken+n > s.cfg.Slots+s.cfg.Queue:
		s.metrics.rejected.WithLabelValues(queueAll).Inc()
		return nil, ErrFull
	case n == 0:
		return nil, nil
	}
	s.owners[name] = o
	s.taken, o.taken = s.taken+n, o.taken+n
	s.gauge()
	claims := make([]*Claim, n)
	for i := range claims {
		claims[i] = &Claim{s: s, owner: o, granted: make(chan struct{})}
	}
	return claims, nil
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
	s.taken, o.taken = s.taken-1, o.taken-1
	if o.taken == 0 {
		delete(s.owners, o.name)
	}
	s.queue(o)
	s.grant()
}

// queue gives an owner a turn when it waits for a slot that it may have, and takes it
// from one that does not.
func (s *Scheduler) queue(o *owner) {
	wants := o.waiting.Len() > 0 && o.held < s.cfg.PerOwner
	switch {
	case wants && o.turn == nil:
		o.turn = s.turns.PushBack(o)
	case !wants && o.turn != nil:
		s.turns.Remove(o.turn)
		o.turn = nil
	}
}

// grant hands out slots, one to each owner in turn.
func (s *Scheduler) grant() {
	for s.held < s.cfg.Slots && s.turns.Len() > 0 {
		o := s.turns.Remove(s.turns.Front()).(*owner) //nolint:forcetypeassert // the list holds nothing else
		o.turn = nil
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
