package attempt

import (
	"hash/maphash"
	"sync"
	"time"
)

const (
	// maxRecent is the number of names that a Recent remembers at least. It forgets the oldest
	// beyond twice as many.
	maxRecent = 16384
	// maxRecentOf is how many of them are about one subject, so that nobody can have the others
	// forgotten by succeeding from many networks.
	maxRecentOf = 64
)

// Recent remembers names from which somebody succeeded lately, as hashes and in memory of this
// process alone. It is safe for concurrent use.
type Recent struct {
	life time.Duration
	seed maphash.Seed

	mu         sync.Mutex
	young, old map[uint64]time.Time // when each was added last
	about      map[uint64]int       // names in young, by subject
}

// NewRecent returns a Recent that remembers each name for life.
func NewRecent(life time.Duration) *Recent {
	return &Recent{life: life, seed: maphash.MakeSeed(), young: map[uint64]time.Time{}, about: map[uint64]int{}}
}

// Add remembers a name from now on, unless it is one too many about its subject, such as an account or
// a link.
func (r *Recent) Add(subject, name string, now time.Time) {
	key, of := maphash.String(r.seed, name), maphash.String(r.seed, subject)
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.young[key]; !ok {
		if r.about[of] >= maxRecentOf {
			return
		}
		if len(r.young) >= maxRecent {
			r.young, r.old, r.about = map[uint64]time.Time{}, r.young, map[uint64]int{}
		}
		r.about[of]++
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
