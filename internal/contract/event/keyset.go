package event

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
)

// keySet finds duplicate keys of the objects that are open. Few keys, the usual
// case, are compared one by one; an object with more goes through a hash table
// with a secret seed, so that no body makes it quadratic.
type keySet struct {
	keys []seenKey // of the open objects, outermost first

	scopes uint32
	seed   maphash.Seed
	seeded bool
	table  []keySlot // open addressing; length is a power of two
	mask   uint64    // of positions in the table
	used   int
}

// seenKey is one key and a number that tells most keys apart.
type seenKey struct {
	mark uint64
	name []byte
}

// keyScope is one open object: its first key in the stack, its number, which no
// other object of the same body has, and a bit for each mark that was added, so
// that a key whose bit is clear needs no comparing.
type keyScope struct {
	from   int
	number uint32
	bits   uint64
}

// keySlot is one key in the table; scope 0 is a free slot. Slots of closed
// objects stay until reset and match nothing.
type keySlot struct {
	hash  uint64
	scope uint32
	index uint32
}

const (
	comparedKeys = 16      // keys of one object that are compared one by one
	keptKeys     = 1 << 12 // in the list and in the table; bounds what a hostile body leaves behind
)

// reset forgets the keys of the last body.
func (k *keySet) reset() {
	k.release()
	k.keys, k.scopes = k.keys[:0], 0
	if k.used > 0 {
		clear(k.table)
		k.used = 0
	}
}

// release lets go of the memory that only very many keys take. The keys end with it.
func (k *keySet) release() {
	if cap(k.keys) > keptKeys {
		k.keys = nil
	}
	if len(k.table) > keptKeys {
		k.table, k.mask, k.used = nil, 0, 0
	}
}

func (k *keySet) open() keyScope {
	k.scopes++
	return keyScope{from: len(k.keys), number: k.scopes}
}

func (k *keySet) close(s *keyScope) {
	k.keys = k.keys[:s.from]
}

// closeAll closes what objects are open.
func (k *keySet) closeAll() { k.keys = k.keys[:0] }

// add reports whether key is new to the innermost open object, which is s. The
// key must not change before the object is closed.
func (k *keySet) add(s *keyScope, key []byte) bool {
	mark := keyMark(key)
	bit := uint64(1) << (mark * 0x9E3779B97F4A7C15 >> 58)
	if len(k.keys)-s.from < comparedKeys {
		if s.bits&bit != 0 && k.compare(s, mark, key) {
			return false
		}
		s.bits |= bit
		k.keys = append(k.keys, seenKey{mark, key})
		return true
	}
	return k.addToTable(s, mark, key)
}

// compare reports whether key is among the keys of s, of which there are few.
func (k *keySet) compare(s *keyScope, mark uint64, key []byte) bool {
	for _, seen := range k.keys[s.from:] {
		if seen.mark == mark && bytes.Equal(seen.name, key) {
			return true
		}
	}
	return false
}

// addToTable is add for an object of many keys. The first ones come to the table
// with the first that is too many.
func (k *keySet) addToTable(s *keyScope, mark uint64, key []byte) bool {
	if count := len(k.keys) - s.from; count == comparedKeys {
		for i := range count {
			k.insert(s, s.from+i)
		}
	}
	if k.find(s, key) {
		return false
	}
	k.keys = append(k.keys, seenKey{mark, key})
	k.insert(s, len(k.keys)-1)
	return true
}

// keyMark tells most keys apart: the length, and the first and last bytes.
func keyMark(key []byte) uint64 {
	n := len(key)
	if n >= 4 {
		first, last := binary.LittleEndian.Uint32(key), binary.LittleEndian.Uint32(key[n-4:])
		return uint64(n)<<56 ^ uint64(last)<<32 ^ uint64(first)
	}
	if n == 0 {
		return 0
	}
	return uint64(n)<<56 | uint64(key[n-1])<<16 | uint64(key[n/2])<<8 | uint64(key[0])
}

func (k *keySet) hash(s *keyScope, key []byte) uint64 {
	if !k.seeded {
		k.seed, k.seeded = maphash.MakeSeed(), true
	}
	return maphash.Bytes(k.seed, key) + uint64(s.number)*0x9E3779B97F4A7C15
}

func (k *keySet) find(s *keyScope, key []byte) bool {
	h := k.hash(s, key)
	for i := h; ; i++ {
		slot := k.table[i&k.mask]
		if slot.scope == 0 {
			return false
		}
		if slot.hash == h && slot.scope == s.number && bytes.Equal(k.keys[slot.index].name, key) {
			return true
		}
	}
}

func (k *keySet) insert(s *keyScope, index int) {
	if 2*(k.used+1) > len(k.table) {
		k.grow()
	}
	k.place(keySlot{hash: k.hash(s, k.keys[index].name), scope: s.number, index: uint32(index)})
	k.used++
}

func (k *keySet) place(slot keySlot) {
	i := slot.hash
	for k.table[i&k.mask].scope != 0 {
		i++
	}
	k.table[i&k.mask] = slot
}

func (k *keySet) grow() {
	old := k.table
	k.table = make([]keySlot, max(4*comparedKeys, 2*len(old)))
	k.mask = uint64(len(k.table)) - 1
	for _, slot := range old {
		if slot.scope != 0 {
			k.place(slot)
		}
	}
}
