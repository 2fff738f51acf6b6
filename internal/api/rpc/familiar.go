package rpc

import (
	"hash/maphash"
	"sync/atomic"
)

// familiar remembers the sessions that were good lately, so that who is signed in is asked
// after also where others at the same address have tried out too much. Its memory is
// fixed: a token takes the place of another one, which then is unknown and no more.
type familiar struct {
	seed  maphash.Seed
	slots [familiarSlots]atomic.Uint64 // of tokens, their hash
}

const familiarSlots = 1 << 13

func newFamiliar() *familiar { return &familiar{seed: maphash.MakeSeed()} }

func (f *familiar) knows(token string) bool {
	h := maphash.String(f.seed, token)
	return f.slots[h%familiarSlots].Load() == h
}

func (f *familiar) note(token string) {
	h := maphash.String(f.seed, token)
	f.slots[h%familiarSlots].Store(h)
}

func (f *familiar) forget(token string) {
	h := maphash.String(f.seed, token)
	f.slots[h%familiarSlots].CompareAndSwap(h, 0)
}
