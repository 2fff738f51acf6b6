package linkcache

import (
	"encoding/binary"
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/millrace/millrace/internal/resource/link"
)

const (
	shards = 64
	// chunkBytes is the room of a chunk. A link that takes more without its targets has one
	// of its own.
	chunkBytes = 16 << 10
	// granule is how many bytes share a mark of having been asked for.
	granule = 64
	// maxChances is how many links that were asked for lately are passed over until one
	// gives way all the same.
	maxChances = 64
	// What links may take altogether, by how many may be held: large ones give way earlier.
	bytesPerEntry = 400
	minBytes      = 16 << 20
	// indexBytes is about what a link takes in the index of its shard.
	indexBytes = 26
)

// shard holds a part of the links. They are packed into chunks, in which nothing is changed
// once it is written, so that what was told of a link stays as it was, for as long as
// somebody has it, when the link is not held any more. Neither the chunks' bytes nor the
// index hold pointers for the garbage collector to follow.
type shard struct {
	cache *Cache

	mu      sync.RWMutex
	index   map[uint64]place         // by hash of the slug key
	targets map[uint64]*link.Targets // of the few that have some
	chunks  []*chunk                 // those at the front give way first
	front   int32                    // the number of chunks[0]
	swept   int                      // bytes of chunks[0] that were looked at for something to give way
	written int                      // bytes in chunks
	dead    int                      // those that are of no use any more
	buf     []byte
}

// place is where a packed link stands: the chunk's number, and the offset.
type place uint64

func (p place) chunk() int32 { return int32(p >> 32) }
func (p place) offset() int  { return int(uint32(p)) }

// chunk is some packed links, each behind its length.
type chunk struct {
	life uint32
	text strings.Builder // grows within its room only: what was written stays where it is
	used [chunkBytes / granule / 32]atomic.Uint32
}

// record is the packed link at an offset, and the offset behind it.
func (ch *chunk) record(offset int) (packed string, end int) {
	r := reader(ch.text.String()[offset:])
	packed = r.text()
	return packed, ch.text.Len() - len(r)
}

func (ch *chunk) mark(offset int) (word *atomic.Uint32, bit uint32) {
	n := offset / granule
	return &ch.used[n/32], 1 << (n % 32)
}

func (s *shard) init(c *Cache) {
	s.cache, s.index, s.targets = c, map[uint64]place{}, map[uint64]*link.Targets{}
}

func (s *shard) at(p place) *chunk { return s.chunks[p.chunk()-s.front] }

// look tells of a link that is held; current says that it is of the cache's life.
func (s *shard) look(hash uint64, key []byte, to *link.Served) (held, current bool) {
	s.mu.RLock()
	p, ok := s.index[hash]
	if !ok {
		s.mu.RUnlock()
		return false, false
	}
	ch := s.at(p)
	packed, _ := ch.record(p.offset())
	var targets *link.Targets
	if packed[0]&hasTargets != 0 {
		targets = s.targets[hash]
	}
	s.mu.RUnlock()
	if packedKey(packed) != string(key) { // two of one hash
		return false, false
	}
	if word, bit := ch.mark(p.offset()); word.Load()&bit == 0 {
		word.Or(bit)
	}
	unpack(packed, to, s.cache.names)
	to.Targets = targets
	return true, ch.life == s.cache.life.Load()
}

// keep holds a link in place of what is held under its hash. first says that it is to give
// way before those that are held. The caller has the cache's mu.
func (s *shard) keep(hash uint64, l *link.Served, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(hash)
	number, numbered := s.cache.names.numberOf(s.cache.seed, l.OrganizationID)
	s.buf = pack(s.buf[:0], l, number, numbered)
	s.write(hash, s.buf, s.cache.life.Load(), first)
	s.cache.held.Add(1)
	if l.Targets != nil {
		s.targets[hash] = l.Targets
		s.cache.bytes.Add(int64(l.Targets.Bytes()))
	}
	s.tidy()
}

// write puts a packed link where there is room.
func (s *shard) write(hash uint64, packed []byte, life uint32, first bool) {
	var head [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(head[:], uint64(len(packed)))
	i := s.room(n+len(packed), life, first)
	text := &s.chunks[i].text
	offset := text.Len()
	text.Write(head[:n])
	text.Write(packed)
	s.index[hash] = place(uint32(s.front+int32(i)))<<32 | place(offset)
	s.written += n + len(packed)
	s.cache.bytes.Add(int64(n + len(packed) + indexBytes))
}

// room returns the chunk for so many bytes of links of a life: the last one, or the first,
// or a new one beside it.
func (s *shard) room(n int, life uint32, first bool) int {
	i := len(s.chunks) - 1
	if first {
		i = 0
	}
	if len(s.chunks) > 0 {
		if ch := s.chunks[i]; ch.life == life && ch.text.Len()+n <= chunkBytes {
			return i
		}
	}
	ch := &chunk{life: life}
	ch.text.Grow(max(chunkBytes, n))
	if first {
		s.chunks = append([]*chunk{ch}, s.chunks...)
		s.front--
		s.swept = 0
		return 0
	}
	s.chunks = append(s.chunks, ch)
	return len(s.chunks) - 1
}

// remove drops what is held under a hash.
func (s *shard) remove(hash uint64) {
	p, ok := s.index[hash]
	if !ok {
		return
	}
	delete(s.index, hash)
	s.bury(p)
	if t := s.targets[hash]; t != nil {
		delete(s.targets, hash)
		s.cache.bytes.Add(-int64(t.Bytes()))
	}
	s.cache.held.Add(-1)
}

// bury notes that nothing in the index leads to a place any more.
func (s *shard) bury(p place) {
	_, end := s.at(p).record(p.offset())
	s.dead += end - p.offset()
	s.cache.bytes.Add(-int64(end - p.offset() + indexBytes))
}

// tidy rewrites the links when half of what was written is of no use.
func (s *shard) tidy() {
	if s.written < 2*chunkBytes || s.dead < s.written/2 {
		return
	}
	old := s.chunks
	front := s.front
	s.front += int32(len(old))
	s.chunks, s.swept, s.written, s.dead = nil, 0, 0, 0
	for i, ch := range old {
		ch.each(0, func(offset, _ int, packed string) bool {
			hash := maphash.String(s.cache.seed, packedKey(packed))
			if s.index[hash] == place(uint32(front+int32(i)))<<32|place(offset) {
				s.cache.bytes.Add(-int64(len(packed) + lengthLen(packed) + indexBytes))
				s.write(hash, []byte(packed), ch.life, false)
			}
			return true
		})
	}
}

func lengthLen(packed string) int {
	return len(binary.AppendUvarint(make([]byte, 0, binary.MaxVarintLen64), uint64(len(packed))))
}

// each goes through a chunk's links from an offset on while do says so.
func (ch *chunk) each(from int, do func(offset, end int, packed string) bool) {
	for from < ch.text.Len() {
		packed, end := ch.record(from)
		if !do(from, end, packed) {
			return
		}
		from = end
	}
}

// giveWay drops one link from the front, and reports whether there was one. One that was
// asked for since it was last looked at goes to the back instead.
func (s *shard) giveWay() (gave bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	chances := 0
	for len(s.chunks) > 0 && !gave {
		ch := s.chunks[0]
		ch.each(s.swept, func(offset, end int, packed string) bool {
			s.swept = end
			hash := maphash.String(s.cache.seed, packedKey(packed))
			p := place(uint32(s.front))<<32 | place(offset)
			if s.index[hash] != p {
				return true
			}
			word, bit := ch.mark(offset)
			if asked := word.And(^bit)&bit != 0; asked && chances < maxChances {
				chances++
				s.bury(p)
				s.write(hash, []byte(packed), ch.life, false)
				return true
			}
			s.remove(hash)
			gave = true
			return false
		})
		if s.swept >= ch.text.Len() {
			s.dropFront()
		}
	}
	return gave
}

// dropFront lets go of the first chunk, all of whose links are gone or elsewhere.
func (s *shard) dropFront() {
	n := s.chunks[0].text.Len()
	s.chunks[0] = nil
	s.chunks = s.chunks[1:]
	s.front++
	s.swept = 0
	s.written -= n
	s.dead -= n
}

// removeIf drops the links that which says.
func (s *shard) removeIf(which func(l *link.Served, life uint32) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var l link.Served
	for hash, p := range s.index {
		ch := s.at(p)
		packed, _ := ch.record(p.offset())
		if unpack(packed, &l, s.cache.names); which(&l, ch.life) {
			s.remove(hash)
		}
	}
	s.tidy()
}

// removeKey drops the link of a slug key that which says.
func (s *shard) removeKey(hash uint64, which func(l *link.Served) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.index[hash]
	if !ok {
		return
	}
	var l link.Served
	packed, _ := s.at(p).record(p.offset())
	if unpack(packed, &l, s.cache.names); which(&l) {
		s.remove(hash)
		s.tidy()
	}
}
