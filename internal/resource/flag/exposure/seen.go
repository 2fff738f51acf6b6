package exposure

import (
	"hash/maphash"
	"sync"

	"github.com/millrace/millrace/internal/contract/record"
)

const (
	// Remembered is how many exposures are remembered at least, so as not to be told
	// again, and up to twice as many. One that is forgotten is told again, and stored once.
	Remembered = 1 << 18
	shards     = 16
	generation = Remembered / shards
)

// seen remembers exposures by their hashes, in two generations: when the younger one is full,
// the older one is forgotten. It is safe for concurrent use.
type seen struct {
	seed   maphash.Seed
	shards [shards]shard
}

type shard struct {
	mu          sync.Mutex
	young, aged map[uint64]struct{}
}

func newSeen() *seen {
	s := &seen{seed: maphash.MakeSeed()}
	for i := range s.shards {
		s.shards[i].young = make(map[uint64]struct{})
	}
	return s
}

// hashOf is what an exposure is remembered by.
func (s *seen) hashOf(e *Exposure, id string, is kind) uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
	for _, text := range [...]string{
		e.Website.ID, id, e.Flag.Key(), e.Flag.Definition.Variants[e.Variant].Key, e.environment(),
	} {
		h.WriteString(text)
		h.WriteByte(0)
	}
	h.WriteByte(byte(is))
	for n := record.Day(e.Time.UnixMilli()); n > 0; n >>= 8 {
		h.WriteByte(byte(n))
	}
	return h.Sum64()
}

// first reports whether a hash is new, and remembers it.
func (s *seen) first(hash uint64) bool {
	sh := &s.shards[hash%shards]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if _, ok := sh.young[hash]; ok {
		return false
	}
	_, known := sh.aged[hash]
	if len(sh.young) >= generation {
		sh.aged, sh.young = sh.young, make(map[uint64]struct{}, generation)
	}
	sh.young[hash] = struct{}{} // also one of the older ones, which would be forgotten before
	return !known
}

// forget has a hash be new again.
func (s *seen) forget(hash uint64) {
	sh := &s.shards[hash%shards]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	delete(sh.young, hash)
	delete(sh.aged, hash)
}
