package flagset

import "time"

// maxLowWatermarks is how many organizations are known of which changes were heard. Beyond it the
// earliest are forgotten; that matters only to a store whose replicas lag.
const maxLowWatermarks = 1 << 14

// lowWatermark is how new the set of an organization is at least.
type lowWatermark struct {
	mark Mark
	// behind says that the store said something older when it was last asked, and since when.
	behind bool
	since  time.Duration // age of the memory
}

// lowWatermarks are those of many organizations, whether or not their sets are held. They are used
// under the memory's mu.
type lowWatermarks struct {
	of    map[string]lowWatermark
	order []string // the ring of those that are known
	next  int      // where the next one is put
}

func newLowWatermarks() lowWatermarks { return lowWatermarks{of: make(map[string]lowWatermark)} }

func (l *lowWatermarks) put(id string, is lowWatermark) {
	if _, known := l.of[id]; !known {
		l.enlist(id)
	}
	l.of[id] = is
}

// enlist notes an organization in the place of the one that was noted first.
func (l *lowWatermarks) enlist(id string) {
	if len(l.order) < maxLowWatermarks {
		l.order = append(l.order, id)
		return
	}
	delete(l.of, l.order[l.next])
	l.order[l.next] = id
	l.next = (l.next + 1) % maxLowWatermarks
}

// raise notes that a set of a mark is there.
func (l *lowWatermarks) raise(id string, mark Mark) {
	is := l.of[id]
	if is.mark.Before(mark) {
		is.mark = mark
		l.put(id, is)
	}
}

// met notes that the store said something new enough.
func (l *lowWatermarks) met(id string) {
	if is, known := l.of[id]; known && is.behind {
		is.behind = false
		l.of[id] = is
	}
}
