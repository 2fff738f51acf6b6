package rangemodel

import "math/bits"

// packed is a state as it is kept and compared.
type packed [workers + 2*partitions]uint64

//go:norace
func (i insert) bits() uint64 { return uint64(i.token)<<5 | uint64(i.rows)<<2 | uint64(i.stage) }

// pack returns the state's canonical form: workers are alike, so their order
// means nothing.
//
//go:norace
func (s *state) pack() (k packed) {
	for w := range s.worker {
		k[w] = s.worker[w].pack()
	}
	if k[0] > k[1] {
		k[0], k[1] = k[1], k[0]
	}
	if k[1] > k[2] {
		k[1], k[2] = k[2], k[1]
	}
	if k[0] > k[1] {
		k[0], k[1] = k[1], k[0]
	}
	for p := range s.part {
		k[workers+2*p], k[workers+2*p+1] = s.part[p].pack()
	}
	k[workers] |= uint64(s.faults) << 56
	return k
}

//go:norace
func unpack(k *packed) (s state) {
	for w := range s.worker {
		s.worker[w] = unpackWorker(k[w])
	}
	for p := range s.part {
		s.part[p] = unpackPartition(k[workers+2*p], k[workers+2*p+1])
	}
	s.faults = uint8(k[workers] >> 56)
	return s
}

//go:norace
func (w *worker) pack() uint64 {
	b := packer{}
	b.put(2, uint64(w.member))
	for i := range w.work {
		at := &w.work[i]
		b.put(3, uint64(at.phase))
		b.put(2, uint64(at.first))
		b.put(2, uint64(at.next))
		b.put(2, uint64(at.start))
		b.put(2, uint64(at.lowWatermark))
		b.flag(at.ceiling)
		b.put(1, uint64(at.month))
		b.put(2, uint64(at.stage))
		b.flag(at.other)
		b.flag(at.raised)
		b.flag(at.owns)
	}
	return b.word
}

//go:norace
func unpackWorker(word uint64) (w worker) {
	b := packer{word: word}
	w.member = membership(b.take(2))
	for i := range w.work {
		w.work[i] = work{
			phase: phase(b.take(3)),
			first: b.take(2), next: b.take(2), start: b.take(2), lowWatermark: b.take(2), ceiling: b.take(1) == 1,
			month: b.take(1), stage: b.take(2),
			other: b.take(1) == 1, raised: b.take(1) == 1, owns: b.take(1) == 1,
		}
	}
	return w
}

//go:norace
func (at *partition) pack() (a, b uint64) {
	x, y := packer{}, packer{}
	x.put(2, uint64(at.committed))
	x.put(2, uint64(at.planned))
	x.put(2, uint64(at.lowWatermark))
	x.flag(at.ceiling)
	x.put(tokens, uint64(at.baseTokens))
	x.put(tokens, uint64(at.viewTokens))
	x.put(spans, uint64(at.ledger))
	x.put(offsets, uint64(at.uncovered))
	for o := range offsets {
		x.put(2, uint64(at.base[o]))
		x.put(2, uint64(at.view[o]))
	}
	for t := range at.contents {
		y.put(offsets, uint64(at.contents[t]))
	}
	for i := range at.late {
		y.put(9, at.late[i].bits())
	}
	return x.word, y.word
}

//go:norace
func unpackPartition(a, b uint64) (at partition) {
	x, y := packer{word: a}, packer{word: b}
	at.committed, at.planned, at.lowWatermark, at.ceiling = x.take(2), x.take(2), x.take(2), x.take(1) == 1
	at.baseTokens, at.viewTokens = uint16(x.wide(tokens)), uint16(x.wide(tokens))
	at.ledger, at.uncovered = uint16(x.wide(spans)), x.take(offsets)
	for o := range offsets {
		at.base[o], at.view[o] = x.take(2), x.take(2)
	}
	for t := range at.contents {
		at.contents[t] = y.take(offsets)
	}
	for i := range at.late {
		at.late[i].stage, at.late[i].rows, at.late[i].token = y.take(2), y.take(3), y.take(4)
	}
	return at
}

// packer writes and reads fields of a word, from its low end.
type packer struct {
	word uint64
	at   uint8
}

//go:norace
func (b *packer) put(width uint8, v uint64) {
	b.word |= v << b.at
	b.at += width
}

//go:norace
func (b *packer) flag(v bool) {
	if v {
		b.word |= 1 << b.at
	}
	b.at++
}

//go:norace
func (b *packer) wide(width uint8) uint64 {
	v := b.word & (1<<width - 1)
	b.word >>= width
	return v
}

//go:norace
func (b *packer) take(width uint8) uint8 { return uint8(b.wide(width)) }

// hash spreads a packed state over 64 bits.
//
//go:norace
func (k *packed) hash() uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, w := range k {
		hi, lo := bits.Mul64(h^w, 0xd6e8feb86659fd93)
		h = hi ^ lo ^ bits.RotateLeft64(w, 29)
	}
	return h
}
