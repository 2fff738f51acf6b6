package event

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"unsafe"
)

// keySet finds duplicate keys of the objects that are open. Few keys, the usual
// case, are compared one by one; an object with more goes through a hash table
// with a secret seed, so that no body makes it quadratic. Memory for very many keys
// is asked for before it is taken.
type keySet struct {
	keys []seenKey // of the open objects, outermost first

	scopes uint32
	seed   maphash.Seed
	seeded bool
	table  []keySlot // open addressing; length is a power of two
	mask   uint32    // of positions in the table
	used   int
	large  int // open objects whose keys are in the table

	// idle says that duplicates are nobody's concern, so that no more keys are
	// remembered than are compared.
	idle   bool
	room   func(bytes int) error // nil gives any
	asked  int                   // bytes that room has given for this body
	denied error                 // what room said when it gave no more
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

// keySlot is one key in the table. Slots of closed objects may stay. They match nothing:
// a slot counts only where the key at its index is one of the object, and the key sought.
type keySlot struct {
	tag   uint32 // hash of the key and its object's number
	index uint32 // one more than that of the key; 0 for a free slot
}

const (
	comparedKeys = 16     // keys of one object that are compared one by one
	keptKeys     = 1 << 8 // in the list and in the table, without asking, and after a body
	// openKeys is how many keys may be in the list behind the last one of an object in
	// the table: those of objects within it that are compared.
	openKeys = comparedKeys * MaxDepth

	keyBytes  = int(unsafe.Sizeof(seenKey{}))
	slotBytes = int(unsafe.Sizeof(keySlot{}))
)

// reset forgets the keys of the last body.
func (k *keySet) reset() {
	k.release()
	k.keys, k.scopes, k.large = k.keys[:0], 0, 0
	k.idle, k.asked, k.denied = false, 0, nil
	if k.used > 0 {
		k.empty()
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
	if len(k.keys)-s.from > comparedKeys {
		k.leave()
	}
	k.keys = k.keys[:s.from]
}

// leave notes that an object in the table is closed. A table in which only such are is
// emptied once that costs less than they did, so that it grows with the keys of one object
// and not of all.
func (k *keySet) leave() {
	if k.large--; k.large == 0 && 4*k.used > len(k.table) {
		k.empty()
	}
}

func (k *keySet) empty() {
	clear(k.table)
	k.used = 0
}

// closeAll closes what objects are open.
func (k *keySet) closeAll() {
	k.keys, k.large = k.keys[:0], 0
}

// add reports whether key is new to the innermost open object, which is s, and there is
// room for it. The key must not change before the object is closed.
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

// rejection is the rule by which add said no.
func (k *keySet) rejection() Rule {
	if k.denied != nil {
		return ruleNoRoom
	}
	return RuleDuplicateKey
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
	if k.idle {
		return true
	}
	if len(k.keys) >= keptKeys && cap(k.keys)-len(k.keys) < openKeys && !k.lengthen() {
		return false
	}
	if count := len(k.keys) - s.from; count == comparedKeys {
		k.large++
		for i := range count {
			if !k.insert(k.tag(s, k.keys[s.from+i].name), s.from+i) {
				return false
			}
		}
	}
	tag := k.tag(s, key)
	if k.find(s, tag, key) || !k.insert(tag, len(k.keys)) {
		return false
	}
	k.keys = append(k.keys, seenKey{mark, key})
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

func (k *keySet) tag(s *keyScope, key []byte) uint32 {
	if !k.seeded {
		k.seed, k.seeded = maphash.MakeSeed(), true
	}
	return uint32((maphash.Bytes(k.seed, key) + uint64(s.number)*0x9E3779B97F4A7C15) >> 32)
}

func (k *keySet) find(s *keyScope, tag uint32, key []byte) bool {
	for i := tag; ; i++ {
		slot := k.table[i&k.mask]
		if slot.index == 0 {
			return false
		}
		at := int(slot.index) - 1
		if slot.tag == tag && at >= s.from && at < len(k.keys) && bytes.Equal(k.keys[at].name, key) {
			return true
		}
	}
}

// insert reports whether there is room for the slot of a key.
func (k *keySet) insert(tag uint32, index int) bool {
	if 4*(k.used+1) > 3*len(k.table) && !k.grow() {
		return false
	}
	k.place(keySlot{tag, uint32(index) + 1})
	k.used++
	return true
}

func (k *keySet) place(slot keySlot) {
	i := slot.tag
	for k.table[i&k.mask].index != 0 {
		i++
	}
	k.table[i&k.mask] = slot
}

// grow doubles the table, if there is room for another one.
func (k *keySet) grow() bool {
	old, size := k.table, max(4*comparedKeys, 2*len(k.table))
	if size > keptKeys && !k.ask(keyBytes*cap(k.keys)+slotBytes*(size+len(old))) {
		return false
	}
	k.table = make([]keySlot, size)
	k.mask = uint32(size) - 1
	for _, slot := range old {
		if slot.index != 0 {
			k.place(slot)
		}
	}
	return true
}

// lengthen doubles the list, if there is room for another one.
func (k *keySet) lengthen() bool {
	size := 2 * (cap(k.keys) + openKeys)
	if !k.ask(keyBytes*(size+cap(k.keys)) + slotBytes*len(k.table)) {
		return false
	}
	k.keys = append(make([]seenKey, 0, size), k.keys...)
	return true
}

// ask reports whether the keys may take so many bytes in all, those of a list or a table
// that is being replaced included.
func (k *keySet) ask(total int) bool {
	if more := total - k.asked; k.room != nil && more > 0 {
		if k.denied = k.room(more); k.denied != nil {
			return false
		}
		k.asked = total
	}
	return true
}
