package rangemodel

// Variant is the protocol with something broken; the zero value is the protocol
// as it is.
type Variant struct {
	NoPlan             bool // ranges are inserted without a plan in the metadata
	NoFence            bool // commits are made under whatever membership the client has now
	NoToken            bool // inserts carry no token
	NoViewTokens       bool // the rollup remembers no tokens, only the base does
	OneTokenForMonths  bool // the token does not name the month
	CommitBeforeInsert bool // the offset is committed before the blocks are inserted
	LedgerAfterCommit  bool // the ledger entry is written after the offset is committed
	DropWhenRaised     bool // a range is dropped when the generation was raised, though the partition is kept
	NoWindowRebuild    bool // a partition is taken up with an empty window
	NoLowWatermark     bool // the window is rebuilt without the low watermark in the metadata
	NoCeiling          bool // the window is rebuilt without its ceiling in the metadata
}

// next returns what comes after a phase of a range.
//
//go:norace
func (v *Variant) next(at phase) phase {
	order := [...]phase{planning, sending, recording, committing}
	switch {
	case v.CommitBeforeInsert:
		order = [...]phase{planning, committing, sending, recording}
	case v.LedgerAfterCommit:
		order = [...]phase{planning, sending, committing, recording}
	}
	for i := range order[:len(order)-1] {
		if order[i] == at {
			return order[i+1]
		}
	}
	return reading
}

// powerless says of a phase that a worker without its membership gets no further
// in it, and has nothing at the server.
//
//go:norace
func (v *Variant) powerless(at phase) bool {
	return !v.NoFence && !v.NoPlan &&
		(at == reading || at == planning || at == committing && v.next(committing) == reading)
}

// kind names a step.
type kind uint8

// Steps that happen by themselves, then faults.
const (
	assign kind = iota
	restore
	poll
	seal
	plan
	send
	applyBase
	applyView
	response
	record
	commit
	lateBase
	lateView
	learn
	rejoin
	notice
	reject
	dropRaised
	expire
	restart
	forget

	raiseLowWatermark
	setCeiling
	crash
	kick
	revoke
	rebalance
	loseResponse
	losePlanned
	loseCommitted
)

// step is one step of the world.
type step struct {
	kind              kind
	worker, partition uint8
	arg               uint8
}

// explorer makes the successors of states.
type explorer struct {
	variant Variant
	plain   bool // without reductions
	watch   set
	records [partitions]uint8
	state   state // of which successors are made
	to      state // the successor being made
	broken  Invariant
	visit   func(step)
	count   int // of successors made
}

// begin starts a successor.
//
//go:norace
func (x *explorer) begin() *state {
	x.to = x.state
	x.broken = None
	return &x.to
}

// end hands it over.
//
//go:norace
func (x *explorer) end(k kind, w, p int, arg uint8) {
	x.settle()
	x.count++
	x.visit(step{kind: k, worker: uint8(w), partition: uint8(p), arg: arg})
}

// breaks notes that the step breaks an invariant that is looked at.
//
//go:norace
func (x *explorer) breaks(i Invariant) {
	if x.watch.has(i) {
		x.broken = i
	}
}

// expand visits the successors of x.state.
//
//go:norace
func (x *explorer) expand() {
	if !x.plain && x.state.calm() {
		for p := range partitions {
			if x.advance(p) {
				return
			}
		}
		return
	}
	for w := range workers {
		x.group(w)
	}
	for p := range partitions {
		x.advance(p)
	}
	if x.state.faults > 0 {
		x.fail()
	}
}

// calm says that the group has nothing to do any more and nothing can go wrong any
// more. From then on no step of a partition touches another one, so the order
// between them means nothing, and they are walked through one after the other.
//
//go:norace
func (s *state) calm() bool {
	for w := range s.worker {
		if s.worker[w].member != fresh {
			return false
		}
	}
	return s.faults == 0
}

// advance makes the steps of a partition, and says whether there are any.
//
//go:norace
func (x *explorer) advance(p int) bool {
	x.count = 0
	for w := range workers {
		x.assign(w, p)
		x.work(w, p)
	}
	x.lateInserts(p)
	if x.plain {
		x.forget(p)
	}
	return x.count > 0
}

// fail makes all faults.
//
//go:norace
func (x *explorer) fail() {
	for w := range workers {
		for p := range partitions {
			x.workFaults(w, p)
		}
		x.workerFaults(w)
	}
	s := x.begin()
	s.faults--
	s.raise(workers)
	x.end(rebalance, 0, 0, 0)
}
