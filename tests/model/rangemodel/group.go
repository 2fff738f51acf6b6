package rangemodel

// raise is a new generation: whoever did not cause it learns of it later, and its
// commits are rejected until then.
//
//go:norace
func (s *state) raise(by int) {
	for w := range s.worker {
		if at := &s.worker[w]; w != by && at.member == fresh {
			at.member = stale
		}
	}
}

// free takes a member's partitions away from it, at the group.
//
//go:norace
func (s *state) free(w int) {
	for p := range s.worker[w].work {
		s.worker[w].work[p].owns = false
	}
}

// group makes the steps between a worker's client and the group.
//
//go:norace
func (x *explorer) group(w int) {
	switch at := &x.state.worker[w]; at.member {
	case down:
		if at.work[0].owns || at.work[1].owns {
			s := x.begin()
			s.free(w)
			s.raise(workers)
			x.end(expire, w, 0, 0)
		}
		s := x.begin()
		s.free(w)
		s.worker[w].member = fresh
		s.raise(w)
		x.end(restart, w, 0, 0)
	case stale:
		s := x.begin()
		s.worker[w].member = fresh
		if x.variant.DropWhenRaised {
			for p := range s.worker[w].work {
				if work := &s.worker[w].work[p]; work.holds() {
					work.raised = true
				}
			}
		}
		x.end(learn, w, 0, 0)
	case kicked:
		s := x.begin()
		s.worker[w].member = fresh
		s.raise(w)
		for p := range s.worker[w].work {
			if work := &s.worker[w].work[p]; work.phase != absent {
				work.other = true
			}
		}
		x.end(rejoin, w, 0, 0)
	case fresh:
	}
}

// assign gives a partition that nobody owns to a member.
//
//go:norace
func (x *explorer) assign(w, p int) {
	if x.records[p] == 0 || x.state.worker[w].member != fresh || x.state.owned(p) {
		return
	}
	s := x.begin()
	work := &s.worker[w].work[p]
	work.owns = true
	if work.phase == absent {
		work.phase = restoring
	}
	x.end(assign, w, p, 0)
}

//go:norace
func (s *state) owned(p int) bool {
	for w := range s.worker {
		if s.worker[w].work[p].owns {
			return true
		}
	}
	return false
}

// workerFaults makes what may go wrong for a worker.
//
//go:norace
func (x *explorer) workerFaults(w int) {
	if x.state.worker[w].member == down {
		return
	}
	s := x.begin()
	s.faults--
	for p := range partitions {
		s.drop(w, p, absent)
	}
	if s.worker[w].member == kicked {
		s.free(w)
	}
	s.worker[w].member = down
	x.end(crash, w, 0, 0)
	if x.state.worker[w].member != kicked {
		s = x.begin()
		s.faults--
		s.free(w)
		s.raise(w)
		s.worker[w].member = kicked
		x.end(kick, w, 0, 0)
	}
}
