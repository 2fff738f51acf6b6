package rangemodel

// drop forgets what a worker has in hand of a partition. An insert under way goes
// on at the server, unless both places for such are taken: then it ends where it
// is.
//
//go:norace
func (s *state) drop(w, p int, then phase) {
	work := &s.worker[w].work[p]
	s.leave(p, w)
	*work = newWork(then, work.owns)
}

//go:norace
func newWork(at phase, owns bool) work { return work{phase: at, owns: owns} }

// work makes the steps of a worker on a partition.
//
//go:norace
func (x *explorer) work(w, p int) {
	at := &x.state.worker[w].work[p]
	if x.state.worker[w].member == down || at.phase == absent {
		return
	}
	x.giveUp(w, p)
	switch at.phase {
	case restoring:
		x.restore(w, p)
	case reading:
		x.read(w, p)
	case planning, committing:
		x.commits(w, p)
	case sending:
		x.send(w, p)
	case inserting:
		x.inserts(w, p)
	case recording:
		x.record(w, p)
	case absent:
	}
}

// giveUp drops what is in hand: because the client tells of a new session, or
// because the group rejects a commit. In the second case the partition is taken up
// again at once, for the client still believes that it has it.
//
//go:norace
func (x *explorer) giveUp(w, p int) {
	at := x.state.worker[w].work[p]
	if at.other && x.state.worker[w].member != kicked {
		s := x.begin()
		then := absent
		if at.owns {
			then = restoring
		}
		s.drop(w, p, then)
		x.end(notice, w, p, 0)
	}
	commits := at.phase == planning || at.phase == committing
	switch x.state.worker[w].member {
	case kicked:
		if commits || at.other { // reduced: the commit that it is on its way to
			s := x.begin()
			s.drop(w, p, restoring)
			x.end(reject, w, p, 0)
		}
	case stale:
		if commits && !at.other {
			s := x.begin()
			s.drop(w, p, restoring)
			x.end(reject, w, p, 0)
		}
	case down, fresh:
	}
}

// restore reads what the group keeps of the partition, and goes on with an open
// plan before anything else. Anybody may read it.
//
//go:norace
func (x *explorer) restore(w, p int) {
	if x.state.worker[w].work[p].other {
		return
	}
	s := x.begin()
	work, at := &s.worker[w].work[p], &s.part[p]
	work.phase = reading
	work.first, work.next, work.start, work.lowWatermark = at.committed, at.committed, at.committed, at.lowWatermark
	work.ceiling = at.ceiling && !x.variant.NoCeiling
	if x.variant.NoWindowRebuild {
		work.lowWatermark = at.committed
	}
	if x.variant.NoLowWatermark {
		work.lowWatermark = 0
	}
	if at.planned != 0 { // it is committed again, which tells whether it may be gone on with
		work.next, work.phase = at.planned, planning
	}
	x.end(restore, w, p, 0)
}

// read polls one record, seals the range, or lets the window forget.
//
//go:norace
func (x *explorer) read(w, p int) {
	at := &x.state.worker[w].work[p]
	if at.next < x.records[p] && !at.other {
		s := x.begin()
		s.worker[w].work[p].next++
		x.end(poll, w, p, at.next)
	}
	if at.next > at.start {
		s := x.begin()
		work := &s.worker[w].work[p]
		work.phase = planning
		if x.variant.NoPlan {
			work.phase = sending
			s.skipEmpty(w, p, &x.variant)
		}
		x.end(seal, w, p, 0)
	}
}

// skipEmpty passes by the months without rows.
//
//go:norace
func (s *state) skipEmpty(w, p int, v *Variant) {
	work := &s.worker[w].work[p]
	if work.phase != sending {
		return
	}
	for ; work.month < months; work.month++ {
		if rowsOf(p, work) != 0 {
			return
		}
	}
	s.onward(w, p, v)
}

// onward goes to what comes after the phase, or opens the next range.
//
//go:norace
func (s *state) onward(w, p int, v *Variant) {
	work := &s.worker[w].work[p]
	work.month, work.stage = 0, 0
	if work.phase == inserting {
		work.phase = sending
	}
	work.phase = v.next(work.phase)
	switch work.phase {
	case sending:
		s.skipEmpty(w, p, v)
	case reading:
		work.first, work.start = work.next, work.next
		work.raised = false
	default:
	}
}

// mayCommit says whether a commit of the worker is sent and accepted. The group
// looks at member and generation and at nothing else, so only the worker's own
// comparison keeps it from committing for a partition of somebody else.
//
//go:norace
func (x *explorer) mayCommit(w, p int) bool {
	at := &x.state.worker[w]
	return at.member == fresh && (!at.work[p].other || x.variant.NoFence)
}

// commits commits the plan, or the offset after the range.
//
//go:norace
func (x *explorer) commits(w, p int) {
	at := &x.state.worker[w].work[p]
	if at.raised { // the broken variant; what was dropped is not delivered again
		s := x.begin()
		work := &s.worker[w].work[p]
		next := work.next
		work.phase, work.start, work.next, work.raised = reading, next, next, false
		x.end(dropRaised, w, p, 0)
		return
	}
	if !x.mayCommit(w, p) {
		return
	}
	kinds := [2]kind{commit, loseCommitted}
	if at.phase == planning {
		kinds = [2]kind{plan, losePlanned}
	}
	for lost, k := range kinds {
		if lost == 1 && x.state.faults == 0 {
			return
		}
		s := x.begin()
		if at.phase == planning {
			x.storePlan(s, w, p)
		} else {
			x.storeOffset(s, w, p)
		}
		if lost == 1 {
			s.faults--
		} else {
			s.onward(w, p, &x.variant)
		}
		x.end(k, w, p, 0)
	}
}

//go:norace
func (x *explorer) storePlan(s *state, w, p int) {
	work, at := &s.worker[w].work[p], &s.part[p]
	if work.first < at.committed {
		x.breaks(Backwards)
	}
	at.committed, at.planned = work.first, work.next
	if !x.variant.NoWindowRebuild { // where it is not rebuilt, the metadata still say that it should be
		at.lowWatermark, at.ceiling = work.lowWatermark, work.ceiling
	}
}

//go:norace
func (x *explorer) storeOffset(s *state, w, p int) {
	work, at := &s.worker[w].work[p], &s.part[p]
	if work.next < at.committed {
		x.breaks(Backwards)
	}
	if s.early(w, p) {
		x.breaks(Early)
	}
	if at.ledger>>work.span()&1 == 0 && work.first >= at.committed {
		for o := work.first; o < work.next; o++ {
			at.uncovered |= 1 << o
		}
	}
	at.committed, at.planned = work.next, 0
	if !x.variant.NoWindowRebuild {
		at.lowWatermark, at.ceiling = work.lowWatermark, work.ceiling
	}
}

// send hands a block to the server.
//
//go:norace
func (x *explorer) send(w, p int) {
	s := x.begin()
	work, at := &s.worker[w].work[p], &s.part[p]
	rows, token := rowsOf(p, work), tokenOf(work)
	if used := at.contents[token]; used != 0 && used != rows {
		x.breaks(TokenReused)
	}
	at.contents[token] = rows
	work.phase, work.stage = inserting, nothingApplied
	x.end(send, w, p, work.month)
}

// record writes the ledger entry of the range. Writing it twice is writing it
// once.
//
//go:norace
func (x *explorer) record(w, p int) {
	s := x.begin()
	work, at := &s.worker[w].work[p], &s.part[p]
	span := work.span()
	if at.ledger&spanOverlap[span] != 0 {
		x.breaks(LedgerOverlap)
	}
	covers := uint8(1<<work.next - 1<<work.first)
	if work.first < at.committed && at.ledger>>span&1 == 0 && at.uncovered&covers != covers {
		x.breaks(LedgerOverlap)
	}
	at.ledger |= 1 << span
	at.uncovered &^= covers
	s.onward(w, p, &x.variant)
	x.end(record, w, p, 0)
}

// workFaults makes what may go wrong for a worker and a partition, besides lost
// replies to commits.
//
//go:norace
func (x *explorer) workFaults(w, p int) {
	at := &x.state.worker[w]
	if at.member == down {
		return
	}
	if at.work[p].owns && at.member != kicked {
		s := x.begin()
		s.faults--
		s.worker[w].work[p].owns = false
		s.drop(w, p, absent)
		s.raise(workers)
		x.end(revoke, w, p, 0)
	}
	if at.work[p].phase == inserting {
		s := x.begin()
		s.faults--
		s.leave(p, w)
		s.worker[w].work[p].phase, s.worker[w].work[p].stage = sending, 0
		x.end(loseResponse, w, p, 0)
	}
	x.forgetEarly(w, p)
}

// forgetEarly lets a window that is between two ranges forget its oldest record, or what is
// ahead.
//
//go:norace
func (x *explorer) forgetEarly(w, p int) {
	at := &x.state.worker[w].work[p]
	if at.phase != reading || at.next != at.first || at.lowWatermark >= at.first {
		return
	}
	s := x.begin()
	s.faults--
	s.worker[w].work[p].lowWatermark++
	x.end(raiseLowWatermark, w, p, s.worker[w].work[p].lowWatermark)
	if at.lowWatermark <= ahead && !at.ceiling {
		s = x.begin()
		s.faults--
		s.worker[w].work[p].ceiling = true
		x.end(setCeiling, w, p, ahead)
	}
}
