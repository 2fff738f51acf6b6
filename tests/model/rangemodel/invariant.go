package rangemodel

// Invariant is something that must hold whatever happens.
type Invariant uint8

// The invariants, by what it is called when one does not hold.
const (
	None    Invariant = iota
	Lost              // a committed record is in no table, is no resend, and nobody is left who would store it
	Doubled           // a record has two rows in the base table, without FINAL, or counts twice in the rollup
	Resent            // a resend within the window has a row
	// a committed record has a row in the base table or counts in the rollup, not both, and nobody is left to
	// change that
	RollupDiffers
	Backwards     // the committed offset moved backwards
	TokenReused   // one token was sent with two different sets of rows
	LedgerGap     // a committed record has no ledger entry, and nobody is left who would write it
	LedgerOverlap // a record has two ledger entries
	Early         // an offset was committed before everything below it was stored and in the ledger
	NoProgress    // a state from which nothing leads to everything being stored
)

var invariantNames = [...]string{
	"none", "lost", "doubled", "resend stored", "rollup differs", "committed offset moved backwards",
	"token reused", "ledger gap", "ledger overlap", "committed early", "no progress",
}

// String implements fmt.Stringer.
func (i Invariant) String() string { return invariantNames[i] }

// set is a set of invariants.
type set uint16

func setOf(all ...Invariant) (s set) {
	for _, i := range all {
		s |= 1 << i
	}
	return s
}

//go:norace
func (s set) has(i Invariant) bool { return s>>i&1 == 1 }

// check looks at what can be seen in a state alone. What a worker or the server
// still has in hand is not lost yet.
//
//go:norace
func (s *state) check(watch set) Invariant {
	for p := range s.part {
		at := &s.part[p]
		missing, differing := s.unsettled(p)
		if watch.has(Lost) && s.given(p, missing, viewApplied) {
			return Lost
		}
		if watch.has(RollupDiffers) && s.given(p, differing, viewApplied) {
			return RollupDiffers
		}
		if watch.has(LedgerGap) && s.given(p, at.uncovered, nothingApplied) {
			return LedgerGap
		}
	}
	return None
}

// unsettled returns the committed offsets that lack a row, and those on which
// base and rollup differ.
//
//go:norace
func (s *state) unsettled(p int) (missing, differing uint8) {
	at := &s.part[p]
	for o := range at.committed {
		if _, resend := original(p, o); at.base[o] == 0 && !resend {
			missing |= 1 << o
		}
		if at.base[o] != at.view[o] {
			differing |= 1 << o
		}
	}
	return missing, differing
}

// given says whether one of the offsets is in nobody's hands: no worker's, and no
// late insert's that has not come to the stage.
//
//go:norace
func (s *state) given(p int, of uint8, stage uint8) bool {
	for w := range s.worker {
		if of == 0 {
			return false
		}
		if work := &s.worker[w].work[p]; work.holds() {
			of &^= uint8(1<<work.next - 1<<work.first)
		}
	}
	for _, in := range s.part[p].late {
		if in.rows != 0 && in.stage < stage {
			of &^= in.rows
		}
	}
	return of != 0
}

// early says whether committing the range now would be too early.
//
//go:norace
func (s *state) early(w, p int) bool {
	work, at := &s.worker[w].work[p], &s.part[p]
	for o := work.first; o < work.next; o++ {
		if _, resend := original(p, o); at.base[o] == 0 && !resend || at.view[o] != at.base[o] {
			return true
		}
	}
	return at.ledger>>work.span()&1 == 0
}

// complete says whether everything is committed.
//
//go:norace
func (x *explorer) complete(k *packed) bool {
	s := unpack(k)
	for p, n := range x.records {
		if s.part[p].committed != n {
			return false
		}
	}
	return true
}
