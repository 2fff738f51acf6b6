package enrich

import (
	"hash/maphash"
	"sync/atomic"
)

// ways is how many entries of one hash a table holds.
const ways = 4

// table remembers what was worked out lately, up to a fixed number of entries. A
// lookup takes no lock and allocates nothing; what is put into a full place
// replaces the oldest entry there. It is safe for concurrent use.
type table[K comparable, V any] struct {
	seed maphash.Seed
	sets []set[K, V]
}

type set[K comparable, V any] struct {
	next    atomic.Uint32
	entries [ways]atomic.Pointer[entry[K, V]]
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

func newTable[K comparable, V any](size int) *table[K, V] {
	return &table[K, V]{seed: maphash.MakeSeed(), sets: make([]set[K, V], max(1, size/ways))}
}

func (t *table[K, V]) set(k K) *set[K, V] {
	return &t.sets[maphash.Comparable(t.seed, k)%uint64(len(t.sets))]
}

func (t *table[K, V]) get(k K) (v V, ok bool) {
	s := t.set(k)
	for i := range s.entries {
		if e := s.entries[i].Load(); e != nil && e.key == k {
			return e.value, true
		}
	}
	return v, false
}

func (t *table[K, V]) put(k K, v V) {
	s := t.set(k)
	s.entries[s.next.Add(1)%ways].Store(&entry[K, V]{key: k, value: v})
}
