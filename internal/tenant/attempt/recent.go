package attempt

import (
	"hash/maphash"
	"sync"
	"time"
)

// maxRecent is the number of names that a Recent remembers at least. It forgets the oldest
// beyond twice as many.
const maxRecent = 16384

// Recent remembers names from which somebody succeeded lately, as hashes and in memory of this
// process alone. It is safe for concurrent use.
type Recent struct {
	life time.Duration
	seed maphash.Seed

	mu         sync.Mutex
	young, old map[uint64]time.Time // when each was added last
}

// NewRecent returns a Recent that remembers each name for life.
func NewRecent(life time.Duration) *Recent {
	return &Recent{life: life, seed: maphash.MakeSeed(), young: map[uint64]time.Time{}}
}

// Add remembers a name from now on.
func (r *Recent) Add(name string, now time.Time) {
	key := maphash.String(r.seed, name)
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.young[key]; !ok && len(r.young) >= maxRecent {
		r.young, r.old = map[uint64]time.Time{}, r.young
	}
	r.young[key] = now
}

// Has reports whether a name was added less than life ago.
func (r *Recent) Has(name string, now time.Time) bool {
	key := maphash.String(r.seed, name)
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.young[key]
	if !ok {
		at, ok = r.old[key]
	}
	return ok && now.Sub(at) < r.life
}
