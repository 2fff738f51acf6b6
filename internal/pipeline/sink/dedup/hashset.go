package dedup

import (
	"encoding/binary"
	"math/bits"

	"github.com/millrace/millrace/internal/contract/record"
)

// A hashset is filled up to 3/4 and recreated at 1/2 or a little above: 20 bytes
// a slot, so 27 to 40 bytes a key.
const (
	fullNum, fullDen   = 3, 4
	freshNum, freshDen = 13, 24
	minSlots           = 16
)

// hashset maps event hashes to the bucket of time in which the event was
// received. It is an open-addressing table: the keys are the output of a
// cryptographic hash, so their own bits say where they stand. Buckets below the
// low watermark count as absent; their slots are reclaimed when the table is recreated.
// The zero value is an empty set.
type hashset struct {
	slots        []slot
	used         int // slots that are not empty, whatever their bucket
	lowWatermark int32
}

// slot is a key with its bucket beside it: to look one up is one place in memory that is
// not in the cache. The zero hash is an empty slot.
type slot struct {
	hash   record.Hash
	bucket int32
}

// find returns the bucket of a hash. It allocates nothing.
func (s *hashset) find(h record.Hash) (bucket int32, ok bool) {
	if s.used == 0 {
		return 0, false
	}
	at := s.slot(h)
	if at.hash != h || at.bucket < s.lowWatermark {
		return 0, false
	}
	return at.bucket, true
}

// raise sets the bucket of a hash, unless it has a later one, and returns the one
// it had, if it had one.
func (s *hashset) raise(h record.Hash, bucket int32) (old int32, had bool) {
	if s.used*fullDen >= len(s.slots)*fullNum {
		s.rebuild()
	}
	at := s.slot(h)
	if at.hash != h {
		*at = slot{h, bucket}
		s.used++
		return 0, false
	}
	if at.bucket >= s.lowWatermark {
		old, had = at.bucket, true
	}
	if !had || old < bucket {
		at.bucket = bucket
	}
	return old, had
}

// forgetFrom forgets the hashes of a bucket and of those after it. Their slots are reclaimed when
// the table is recreated.
func (s *hashset) forgetFrom(bucket int32) {
	for i := range s.slots {
		if at := &s.slots[i]; at.bucket >= bucket && at.hash != (record.Hash{}) {
			at.bucket = forgotten
		}
	}
}

// forgotten is a bucket below every low watermark.
const forgotten = -1

// slot returns where h stands, or the empty slot where it would.
func (s *hashset) slot(h record.Hash) *slot {
	n := uint64(len(s.slots))
	hi, _ := bits.Mul64(binary.LittleEndian.Uint64(h[:8]), n)
	for i := hi; ; {
		if at := &s.slots[i]; at.hash == h || at.hash == (record.Hash{}) {
			return at
		}
		if i++; i == n {
			i = 0
		}
	}
}

// grow makes room for so many keys more, as much as a recreated table has.
func (s *hashset) grow(keys int) {
	if slots := (s.used + keys + 1) * freshDen / freshNum; slots > len(s.slots) {
		s.remake(slots)
	}
}

// rebuild recreates the table, with room to grow and without what is below the
// low watermark.
func (s *hashset) rebuild() {
	live := 0
	for i := range s.slots {
		if s.lives(&s.slots[i]) {
			live++
		}
	}
	s.remake((live + 1) * freshDen / freshNum)
}

// remake gives the table so many slots.
func (s *hashset) remake(slots int) {
	slots = max(minSlots, slots)
	old := s.slots
	s.slots, s.used = make([]slot, slots), 0
	for i := range old {
		if s.lives(&old[i]) {
			*s.slot(old[i].hash) = old[i]
			s.used++
		}
	}
}

// lives reports whether a slot has a key that is not below the low watermark.
func (s *hashset) lives(at *slot) bool {
	return at.hash != (record.Hash{}) && at.bucket >= s.lowWatermark
}

// slotBytes is the memory of one slot.
const slotBytes = 16 + 4

func (s *hashset) bytes() int { return len(s.slots) * slotBytes }
