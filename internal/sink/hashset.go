package sink

import (
	"encoding/binary"
	"math/bits"

	"github.com/millrace/millrace/internal/record"
)

// A hashset is filled up to 3/4 and made anew at 1/2 or a little above: 20 bytes
// a slot, so 27 to 40 bytes a key.
const (
	fullNum, fullDen   = 3, 4
	freshNum, freshDen = 13, 24
	minSlots           = 16
)

// hashset maps event hashes to the bucket of time in which the event was
// received. It is an open-addressing table: the keys are the output of a
// cryptographic hash, so their own bits say where they stand. Buckets below the
// floor count as absent; their slots are reclaimed when the table is made anew.
// The zero value is an empty set.
type hashset struct {
	keys    []record.Hash // the zero hash is an empty slot
	buckets []int32
	used    int // slots that are not empty, whatever their bucket
	floor   int32
}

// find returns the bucket of a hash. It allocates nothing.
func (s *hashset) find(h record.Hash) (bucket int32, ok bool) {
	if s.used == 0 {
		return 0, false
	}
	i := s.slot(h)
	if s.keys[i] != h || s.buckets[i] < s.floor {
		return 0, false
	}
	return s.buckets[i], true
}

// raise sets the bucket of a hash, unless it has a later one, and returns the one
// it had, if it had one.
func (s *hashset) raise(h record.Hash, bucket int32) (old int32, had bool) {
	if s.used*fullDen >= len(s.keys)*fullNum {
		s.rebuild()
	}
	i := s.slot(h)
	if s.keys[i] != h {
		s.keys[i], s.buckets[i] = h, bucket
		s.used++
		return 0, false
	}
	if b := s.buckets[i]; b >= s.floor {
		old, had = b, true
	}
	if !had || old < bucket {
		s.buckets[i] = bucket
	}
	return old, had
}

// slot returns where h stands, or the empty slot where it would.
func (s *hashset) slot(h record.Hash) int {
	n := uint64(len(s.keys))
	hi, _ := bits.Mul64(binary.LittleEndian.Uint64(h[:8]), n)
	for i := hi; ; {
		if k := &s.keys[i]; *k == h || *k == (record.Hash{}) {
			return int(i)
		}
		if i++; i == n {
			i = 0
		}
	}
}

// grow makes room for so many keys more, as much as a table made anew has.
func (s *hashset) grow(keys int) {
	if slots := (s.used + keys + 1) * freshDen / freshNum; slots > len(s.keys) {
		s.remake(slots)
	}
}

// rebuild makes the table anew, with room to grow and without what is below the
// floor.
func (s *hashset) rebuild() {
	live := 0
	for i, k := range s.keys {
		if k != (record.Hash{}) && s.buckets[i] >= s.floor {
			live++
		}
	}
	s.remake((live + 1) * freshDen / freshNum)
}

// remake gives the table so many slots.
func (s *hashset) remake(slots int) {
	slots = max(minSlots, slots)
	keys, buckets := s.keys, s.buckets
	s.keys, s.buckets, s.used = make([]record.Hash, slots), make([]int32, slots), 0
	for i, k := range keys {
		if k != (record.Hash{}) && buckets[i] >= s.floor {
			j := s.slot(k)
			s.keys[j], s.buckets[j] = k, buckets[i]
			s.used++
		}
	}
}

// slotBytes is the memory of one slot.
const slotBytes = 16 + 4

func (s *hashset) bytes() int { return len(s.keys) * slotBytes }
