package flagset

import "time"

// maxFloors is how many organizations are known of which changes were heard. Beyond it the
// earliest are forgotten; that matters only to a store whose replicas lag.
const maxFloors = 1 << 14

// floor is how new the set of an organization is at least.
type floor struct {
	mark Mark
	// behind says that the store said something older when it was last asked, and since when.
	behind bool
	since  time.Duration // age of the memory
}

// floors are those of many organizations, whether or not their sets are held. They are used
// under the memory's mu.
type floors struct {
	of    map[string]floor
	order []string // the ring of those that are known
	next  int      // where the next one is put
}

func newFloors() floors { return floors{of: make(map[string]floor)} }

func (f *floors) put(id string, is floor) {
	if _, known := f.of[id]; !known {
		f.enlist(id)
	}
	f.of[id] = is
}

// enlist notes an organization in the place of the one that was noted first.
func (f *floors) enlist(id string) {
	if len(f.order) < maxFloors {
		f.order = append(f.order, id)
		return
	}
	delete(f.of, f.order[f.next])
	f.order[f.next] = id
	f.next = (f.next + 1) % maxFloors
}

// raise notes that a set of a mark is there.
func (f *floors) raise(id string, mark Mark) {
	is := f.of[id]
	if is.mark.Before(mark) {
		is.mark = mark
		f.put(id, is)
	}
}

// met notes that the store said something new enough.
func (f *floors) met(id string) {
	if is, known := f.of[id]; known && is.behind {
		is.behind = false
		f.of[id] = is
	}
}
