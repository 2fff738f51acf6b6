package tombstone

// Set is all tombstones at a moment. It never changes, and is safe for concurrent
// use. The nil Set is empty.
type Set struct{ owners map[string]*ofOwner }

// ofOwner are the tombstones of one owner. Times are Unix milliseconds.
type ofOwner struct {
	latest   int64 // of all
	website  int64 // 0: it was not erased
	profiles map[ID]int64
	visitors map[ID]int64
	// A tombstone that is added has a later moment than one that is removed, so these two
	// tell one state from a later one.
	count, sum int64
}

// NewSet returns the set of the tombstones. Of several about the same the latest
// one counts.
func NewSet(all []Tombstone) *Set {
	s := &Set{owners: map[string]*ofOwner{}}
	for _, t := range all {
		o := s.owners[t.Owner]
		if o == nil {
			o = &ofOwner{profiles: map[ID]int64{}, visitors: map[ID]int64{}}
			s.owners[t.Owner] = o
		}
		o.add(t)
	}
	for _, o := range s.owners {
		o.count = int64(len(o.profiles) + len(o.visitors))
		o.sum = o.website
		for _, m := range []map[ID]int64{o.profiles, o.visitors} {
			for _, before := range m {
				o.sum += before
			}
		}
	}
	return s
}

func (o *ofOwner) add(t Tombstone) {
	before := t.Before.UnixMilli()
	o.latest = max(o.latest, before)
	switch t.Kind {
	case Profile:
		o.profiles[t.ID] = max(o.profiles[t.ID], before)
	case Visitor:
		o.visitors[t.ID] = max(o.visitors[t.ID], before)
	case Website:
		o.website = max(o.website, before)
	}
}

// Len returns how many owners have tombstones.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.owners)
}

// Size returns how many tombstones there are.
func (s *Set) Size() int {
	if s == nil {
		return 0
	}
	n := 0
	for _, o := range s.owners {
		n += len(o.profiles) + len(o.visitors)
		if o.website > 0 {
			n++
		}
	}
	return n
}

// Covers reports whether a record of an owner that was received at a time, in Unix
// milliseconds, is not to be stored. An id that is empty is nobody's.
func (s *Set) Covers(owner, profileID, anonymousID []byte, receivedAt int64) bool {
	if s == nil || len(s.owners) == 0 {
		return false
	}
	o := s.owners[string(owner)]
	if o == nil || receivedAt > o.latest {
		return false
	}
	return o.website > 0 && receivedAt <= o.website || has(o.profiles, Profile, owner, profileID, receivedAt) ||
		has(o.visitors, Visitor, owner, anonymousID, receivedAt)
}

func has(of map[ID]int64, kind Kind, owner, id []byte, receivedAt int64) bool {
	if len(of) == 0 || len(id) == 0 {
		return false
	}
	before, ok := of[IDOf(kind, owner, id)]
	return ok && receivedAt <= before
}

// Differs reports whether an owner has other tombstones than in an earlier set.
func (s *Set) Differs(earlier *Set, owner string) bool {
	if s == earlier || s.Len() == 0 {
		return false
	}
	is := s.owners[owner]
	if is == nil {
		return false
	}
	if earlier.Len() == 0 || earlier.owners[owner] == nil {
		return true
	}
	was := earlier.owners[owner]
	return is.count != was.count || is.sum != was.sum
}
