package flagset

import "time"

// entryBytes is about what a set takes besides, of the index and of what is known of it.
const entryBytes = 320

func (h *held) bytes() int64 { return h.set.Bytes + entryBytes }

// hold puts a set in the place of the one that is held, and has others give way. The caller
// has mu.
func (m *Memory) hold(set *Set, right time.Duration) {
	e := m.index.find(set.OrganizationID)
	if e == nil {
		e = &entry{id: set.OrganizationID}
		e.place = m.order.PushBack(e)
	} else {
		m.bytes -= e.is.Load().bytes()
	}
	h := &held{set: set, right: right}
	m.bytes += h.bytes()
	e.is.Store(h)
	if m.index.find(e.id) == nil {
		m.index.put(e)
	}
	m.giveWay(e)
}

// giveWay drops sets that were not asked for lately, until the rest fits; none that is watched,
// nor the one that was just read. The caller has mu.
func (m *Memory) giveWay(but *entry) {
	for left := 2 * m.order.Len(); left > 0 && m.bytes > m.cfg.Bytes; left-- {
		e, _ := m.order.Front().Value.(*entry)
		if e == but || len(m.watches[e.id]) > 0 || e.used.Swap(false) {
			m.order.MoveToBack(e.place)
			continue
		}
		m.remove(e)
		m.metrics.evicted.Inc()
	}
}

// remove lets go of a set. The caller has mu.
func (m *Memory) remove(e *entry) {
	m.index.remove(e.id)
	m.order.Remove(e.place)
	m.bytes -= e.is.Load().bytes()
}

// drop lets go of the set of an organization that is gone.
func (m *Memory) drop(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.index.find(id); e != nil {
		m.remove(e)
		m.tell(id)
	}
}

// doubt has a set be read again that is held or watched; what is held of it serves on, and is
// not known to be right any more. The caller has mu.
func (m *Memory) doubt(id string) {
	e := m.index.find(id)
	switch {
	case e != nil:
		if h := e.is.Load(); !h.doubted {
			e.is.Store(&held{set: h.set, right: m.rightOf(h), doubted: true})
		}
	case len(m.watches[id]) == 0:
		return
	}
	m.again.Add(id, struct{}{})
}

// isWanted reports whether a set is still to be read again.
func (m *Memory) isWanted(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.index.find(id); e != nil {
		return e.is.Load().doubted
	}
	return len(m.watches[id]) > 0
}
