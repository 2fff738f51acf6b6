package rangemodel

// forget evicts tokens, if there are any that the promise lets go.
//
//go:norace
func (x *explorer) forget(p int) {
	s := x.begin()
	s.evict(p)
	if s.part[p] != x.state.part[p] {
		x.end(forget, 0, p, 0)
	}
}

// leave turns the insert that a worker waits for into one that nobody waits for.
//
//go:norace
func (s *state) leave(p, w int) {
	work, at := &s.worker[w].work[p], &s.part[p]
	if work.phase != inserting || work.stage == viewApplied {
		return
	}
	for i := range at.late {
		if at.late[i].rows == 0 {
			at.late[i] = insert{token: tokenOf(work), rows: rowsOf(p, work), stage: work.stage}
			return
		}
	}
}

//go:norace
func tokenOf(w *work) uint8 { return w.span()*months + w.month }

// inserts lets the server go on with the insert that a worker waits for, or the
// worker see its response.
//
//go:norace
func (x *explorer) inserts(w, p int) {
	s := x.begin()
	work := &s.worker[w].work[p]
	if work.stage < viewApplied {
		x.apply(p, &insert{token: tokenOf(work), rows: rowsOf(p, work), stage: work.stage})
		work.stage++
		x.end(applyBase+kind(work.stage-1), w, p, work.month)
		return
	}
	month := work.month
	work.phase, work.stage = sending, 0
	if work.month++; work.month == months {
		s.onward(w, p, &x.variant)
	} else {
		s.skipEmpty(w, p, &x.variant)
	}
	x.end(response, w, p, month)
}

// lateInserts lets the server go on with those that nobody waits for.
//
//go:norace
func (x *explorer) lateInserts(p int) {
	for i := range x.state.part[p].late {
		if x.state.part[p].late[i].rows == 0 {
			continue
		}
		s := x.begin()
		late := &s.part[p].late[i]
		was := *late
		x.apply(p, late)
		if late.stage++; late.stage == viewApplied {
			*late = insert{}
		}
		x.end(lateBase+kind(was.stage), 0, p, was.token)
	}
}

// apply does the next step of an insert: its part for the base table, then that
// for the rollup behind it. Each table looks into its own memory of tokens.
//
//go:norace
func (x *explorer) apply(p int, in *insert) {
	at := &x.to.part[p]
	rows, memory, token := &at.base, &at.baseTokens, uint16(1)<<in.token
	blind := x.variant.NoToken
	if in.stage == baseApplied {
		rows, memory = &at.view, &at.viewTokens
		blind = blind || x.variant.NoViewTokens
		// The base keeps months apart by itself, a rollup that is not
		// partitioned does not.
		if x.variant.OneTokenForMonths {
			token = 1 << (in.token / months * months)
		}
	}
	if !blind {
		if *memory&token != 0 {
			return
		}
		*memory |= token
	}
	for o := range rows {
		if in.rows>>o&1 == 1 {
			x.store(p, uint8(o), &rows[o])
		}
	}
}

//go:norace
func (x *explorer) store(p int, o uint8, rows *uint8) {
	if *rows++; *rows > 1 {
		*rows = 2
		x.breaks(Doubled)
	}
	at := &x.to.part[p]
	if e, ok := original(p, o); ok && e >= at.lowWatermark && (!at.ceiling || e != ahead) {
		x.breaks(Resent)
	}
}

// original returns the record that a record is a resend of.
//
//go:norace
func original(p int, o uint8) (uint8, bool) {
	for e := range o {
		if logs[p][e].key == logs[p][o].key {
			return e, true
		}
	}
	return 0, false
}
