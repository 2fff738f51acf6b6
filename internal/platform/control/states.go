package control

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// loadTimeout bounds one loading of states.
const loadTimeout = 3 * time.Second

// Snapshot is every state of a kind as the store has them.
type Snapshot struct {
	Epoch  int64 // the store's, from ControlHead
	States []Change
}

// States remembers the newest state of each record of one kind, such as the
// quotas of organizations: what readers cannot ask the store for each time. Its
// memory is bounded by the number of records that the store has of the kind. It
// is safe for concurrent use.
type States struct {
	kind     Kind
	snapshot func(ctx context.Context) (Snapshot, error)

	mu    sync.RWMutex
	known map[string]Change // by id
	told  map[string]bool   // changed while a snapshot is being read; nil otherwise
	asOf  time.Time         // when known was all there was

	loading sync.Mutex
}

// NewStates returns States without any. snapshot reads all of them from the
// store; it is called when a process starts, when changes may have been missed,
// and every few seconds while none arrive. What is not in a snapshot is
// forgotten.
func NewStates(kind Kind, snapshot func(ctx context.Context) (Snapshot, error)) *States {
	return &States{kind: kind, snapshot: snapshot, known: map[string]Change{}, asOf: time.Now()}
}

// Get returns the newest state of a record; ok is false when it has none. It does
// not allocate.
func (s *States) Get(id string) (c Change, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c, ok = s.known[id]
	return c, ok && !c.Gone
}

// Apply replaces the state of a record, unless a newer one is known, and reports
// whether it did. That a record is gone is remembered, so that older change events do not
// bring it back.
func (s *States) Apply(c Change) bool {
	if c.Kind != s.kind {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put(c)
}

func (s *States) put(c Change) bool {
	if old, ok := s.known[c.ID]; ok && !c.Newer(old.Epoch, old.Version) {
		return false
	}
	s.known[c.ID] = c
	if s.told != nil {
		s.told[c.ID] = true
	}
	return true
}

// Load takes over a snapshot. The Follower calls it; whoever has reason to doubt the
// states may too.
func (s *States) Load(ctx context.Context) error {
	s.loading.Lock()
	defer s.loading.Unlock()
	s.mu.Lock()
	s.told = map[string]bool{}
	s.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	begun := time.Now()
	snapshot, err := s.snapshot(ctx)

	s.mu.Lock()
	defer s.mu.Unlock()
	told := s.told
	s.told = nil
	if err != nil {
		return fmt.Errorf("loading the states of every %s: %w", s.kind, err)
	}
	s.merge(snapshot, told)
	s.asOf = begun
	return nil
}

// confirm notes that every change made before a time was applied.
func (s *States) confirm(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.After(s.asOf) {
		s.asOf = at
	}
}

// age is how long ago what is known was all there was; before the first loading,
// how long the States are there.
func (s *States) age() time.Duration {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return time.Since(s.asOf)
}

// merge replaces what is known by the snapshot, but for what has changed since
// the snapshot was begun, or is newer than it.
func (s *States) merge(snapshot Snapshot, told map[string]bool) {
	there := make(map[string]bool, len(snapshot.States))
	for _, c := range snapshot.States {
		c.Epoch = snapshot.Epoch
		there[c.ID] = true
		s.put(c)
	}
	for id, c := range s.known {
		if !there[id] && !told[id] && c.Epoch <= snapshot.Epoch {
			delete(s.known, id)
		}
	}
}
