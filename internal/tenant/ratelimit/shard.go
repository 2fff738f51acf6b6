package ratelimit

import "sync"

// shard holds some of the accounts, in the order in which they last asked.
type shard struct {
	mu       sync.Mutex
	accounts map[Identity]*account
	ends     account // ends.old asked last, ends.newer longest ago: a ring
	bytes    int
	room     int

	_ [64]byte // shards are used by different processors
}

func (s *shard) init(room int) {
	s.accounts = map[Identity]*account{}
	s.ends.old, s.ends.newer = &s.ends, &s.ends
	s.room = room
}

// find returns the account of a caller, which thereby is the one that asked last;
// nil when there is none.
func (s *shard) find(who Identity, now int64) *account {
	a := s.accounts[who]
	if a != nil {
		a.unlink()
		a.seen = now
		a.link(&s.ends)
	}
	return a
}

// open makes the account of a caller.
func (s *shard) open(who Identity, now int64) *account {
	a := &account{who: who, seen: now}
	s.accounts[who] = a
	s.bytes += accountBytes
	a.link(&s.ends)
	return a
}

// link puts the account in as the one that asked last.
func (a *account) link(ends *account) {
	a.newer, a.old = ends, ends.old
	a.old.newer, ends.old = a, a
}

func (a *account) unlink() { a.newer.old, a.old.newer = a.old, a.newer }

// sweeps is how many accounts are looked at for each one made, so that a shard
// shrinks while it is used.
const sweeps = 2

// sweep forgets accounts of which nothing counts any more, and returns how many.
func (s *shard) sweep(now int64) (forgotten int) {
	for range sweeps {
		oldest := s.ends.newer
		if oldest == &s.ends || !oldest.idle(now) {
			break
		}
		s.forget(oldest)
		forgotten++
	}
	return forgotten
}

// trim forgets accounts until the rest has room, those that asked least recently
// first, and returns how many. It spares newest, and those with requests under
// way: of these there are only as many as the process serves.
func (s *shard) trim(newest *account) (forgotten int) {
	for a := s.ends.newer; s.bytes > s.room && a != &s.ends; {
		next := a.newer
		if a != newest && a.inFlight == 0 {
			s.forget(a)
			forgotten++
		}
		a = next
	}
	return forgotten
}

func (s *shard) forget(a *account) {
	a.unlink()
	delete(s.accounts, a.who)
	s.bytes -= a.bytes()
}
