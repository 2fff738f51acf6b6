package flagset

import (
	"time"

	"github.com/millrace/millrace/internal/platform/control"
)

// Apply implements control.Cache: a set that is held is read again in the background, unless it
// has the change in it; one of an organization that has ended is dropped.
func (m *Memory) Apply(c control.Change) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case c.Kind == control.Flags:
		m.metrics.changes.Inc()
		m.hear(c.ID, Mark{Epoch: c.Epoch, Version: c.Version})
	case c.Kind == control.Organization && c.Gone:
		m.metrics.changes.Inc()
		m.end(c.ID)
	}
}

// hear notes that there is a set of a mark. The caller has mu.
func (m *Memory) hear(id string, mark Mark) {
	if e := m.index.find(id); e != nil && !e.is.Load().set.Mark.Before(mark) {
		return
	}
	m.lowWatermarks.raise(id, mark)
	m.doubt(id)
}

// end drops the set of an organization. The caller has mu.
func (m *Memory) end(id string) {
	m.ended++ // what is being read may be its
	if e := m.index.find(id); e != nil {
		m.remove(e)
	}
	m.tell(id)
}

// Forget implements control.Cache: changes may have been missed, and are looked for at once.
// Until then nothing more is taken for right.
func (m *Memory) Forget() {
	m.mu.Lock()
	m.doubts++
	m.mu.Unlock()
	nudge(m.wake)
}

// Trust implements control.Cache: changes are told of, so what is held is right but where one
// is left to be read, and need not be looked for until then.
func (m *Memory) Trust(until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trusted = until
	if m.doubts == m.settled {
		m.advance(m.now())
	}
}

// advance notes that all that is held and not doubted was right at an age of the memory. The
// caller has mu.
func (m *Memory) advance(to time.Duration) {
	m.right.Store(max(m.right.Load(), int64(to)))
}

// nudge sends a word that nobody needs twice.
func nudge(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}
