package flagset

import (
	"context"
	"maps"
	"slices"
	"time"
)

// waitsForNewer is how long AtLeast waits, and looksAgain how often it has the store be asked
// meanwhile.
const (
	waitsForNewer = time.Second
	looksAgain    = 250 * time.Millisecond
)

// Watch tells of one organization's set. It is to be closed.
type Watch struct {
	memory *Memory
	id     string
	c      chan struct{}
}

// Watch returns a watch of an organization's set, which is held for as long as it is watched;
// where it is not held yet, it is read while Run runs.
func (m *Memory) Watch(organizationID string) *Watch {
	w := &Watch{memory: m, id: organizationID, c: make(chan struct{}, 1)}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.watches[w.id] == nil {
		m.watches[w.id] = make(map[*Watch]struct{})
	}
	m.watches[w.id][w] = struct{}{}
	if m.index.find(w.id) == nil {
		m.again.Add(w.id, struct{}{})
	}
	return w
}

// C has a word after the set was replaced, or dropped. What happens before it is taken is told
// once.
func (w *Watch) C() <-chan struct{} { return w.c }

// Close ends the watch. It may be called again.
func (w *Watch) Close() {
	m := w.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.watches[w.id], w)
	if len(m.watches[w.id]) == 0 {
		delete(m.watches, w.id)
		m.giveWay(nil)
	}
}

// tell tells those who watch an organization. The caller has mu.
func (m *Memory) tell(id string) {
	for w := range m.watches[id] {
		nudge(w.c)
	}
}

// AtLeast is Get, but waits up to a second for a set that is not before a mark, and has the
// store be asked for it; then it returns what there is. Marks that somebody made up cost the
// store one query of versions each tenth of a second, of all callers together.
func (m *Memory) AtLeast(ctx context.Context, organizationID string, mark Mark) (*Set, error) {
	set, err := m.Get(ctx, organizationID)
	if err != nil || !set.Mark.Before(mark) {
		return set, err
	}
	w := m.Watch(organizationID)
	defer w.Close()
	end := time.NewTimer(waitsForNewer)
	defer end.Stop()
	looks := time.NewTicker(looksAgain)
	defer looks.Stop()
	for m.ask(organizationID); ; {
		select {
		case <-ctx.Done():
			return set, nil
		case <-end.C:
			return set, nil
		case <-looks.C:
			m.ask(organizationID)
		case <-w.c:
		}
		if newer := m.peek(organizationID); newer != nil {
			set = newer
		}
		if !set.Mark.Before(mark) {
			return set, nil
		}
	}
}

// peek returns the set that is held; nil for none.
func (m *Memory) peek(id string) *Set {
	if e := m.index.find(id); e != nil {
		return e.is.Load().set
	}
	return nil
}

// ask has the set be compared with the store soon.
func (m *Memory) ask(id string) {
	m.mu.Lock()
	m.asked[id] = true
	m.mu.Unlock()
	nudge(m.askedC)
}

// compareAsked compares the sets of which callers heard that they are newer, all of them
// together and no more often than askedPause says, until ctx ends.
func (m *Memory) compareAsked(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.askedC:
		}
		m.mu.Lock()
		ids := slices.Collect(maps.Keys(m.asked))
		clear(m.asked)
		m.mu.Unlock()
		if len(ids) > 0 && m.compare(ctx, ids) != nil && ctx.Err() == nil {
			m.metrics.failures.Inc()
		}
		if !pause(ctx, askedPause) {
			return
		}
	}
}
