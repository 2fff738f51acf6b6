package rangemodel

// settle forgets what can make no difference any more, so that states that
// differ only in it are one: what the tables and the ledger remember of ranges that
// are committed and in nobody's hands. For tokens this is the eviction of the
// window at the earliest moment that the promise allows: a token that stays longer
// only stops more. A plain exploration has it as a step instead, at any later moment.
//
//go:norace
func (x *explorer) settle() {
	s := &x.to
	if !x.plain {
		x.reduce()
	}
	for p := range s.part {
		at := &s.part[p]
		held := s.held(p)
		at.ledger &= held
		late := s.lateSpans(p)
		for t := range at.contents {
			if tokensOf[held|late]>>t&1 == 0 {
				at.contents[t] = 0
			}
		}
		if !x.plain {
			s.evict(p)
		}
		if at.late[0].bits() > at.late[1].bits() {
			at.late[0], at.late[1] = at.late[1], at.late[0]
		}
	}
}

// held returns the spans that are not committed, or in the hands of a worker.
//
//go:norace
func (s *state) held(p int) uint16 {
	held := reaching[s.part[p].committed]
	for w := range s.worker {
		if work := &s.worker[w].work[p]; work.holds() {
			held |= 1 << work.span()
		}
	}
	return held
}

// lateSpans returns those of the inserts that nobody waits for.
//
//go:norace
func (s *state) lateSpans(p int) (late uint16) {
	for _, in := range s.part[p].late {
		if in.rows != 0 {
			late |= 1 << (in.token / months)
		}
	}
	return late
}

// evict lets the tables forget the tokens with which no insert can come any more.
//
//go:norace
func (s *state) evict(p int) {
	keep := tokensOf[s.held(p)|s.lateSpans(p)]
	s.part[p].baseTokens &= keep
	s.part[p].viewTokens &= keep
}

// reduce brings workers of which more is told than matters into one form. One
// with nothing in hand learns of a new generation at no cost. One that has lost its
// membership, and is at a step from which it can only commit, gets no further: it
// can only be told.
//
//go:norace
func (x *explorer) reduce() {
	for w := range x.to.worker {
		at := &x.to.worker[w]
		if at.member == stale && at.work[0].phase == absent && at.work[1].phase == absent {
			at.member = fresh
		}
		for p := range at.work {
			if work := &at.work[p]; (at.member == kicked || work.other) && x.variant.powerless(work.phase) {
				*work = newWork(reading, work.owns)
				work.other = true
			}
		}
	}
}
