package rangemodel

// The size of the world.
const (
	workers    = 3
	partitions = 2
	offsets    = 3 // records of a partition
	months     = 2
	spans      = offsets * (offsets + 1) / 2
	tokens     = spans * months
	lateSlots  = 2 // inserts per partition that run on at the server without a client
)

// event is one record of a log: which event it is a sending of, and the month
// that its row belongs to.
type event struct{ key, month uint8 }

// logs are the records of each partition. Partition 0 has a resend followed by
// another event of the same month, so that one token could get two different
// contents; partition 1 has two months, and a resend at its end.
var logs = [partitions][offsets]event{
	{{key: 0}, {key: 0}, {key: 1}},
	{{key: 0}, {key: 1, month: 1}, {key: 0}},
}

// ahead is the record of each log whose time of receipt is ahead of the others'.
const ahead = 0

// phase says what a worker has to do next for a partition.
type phase uint8

const (
	absent     phase = iota // the worker does not know of the partition
	restoring               // assigned: read committed offset and metadata
	reading                 // the range is open
	planning                // sealed: commit the plan
	sending                 // send the next month's block
	inserting               // wait for the response to it
	recording               // write the ledger entry
	committing              // commit the offset after the range
)

// work is what a worker has in hand of a partition.
type work struct {
	phase phase
	// first and next bound the range: [first, next). While it is open, next is
	// what was polled up to.
	first, next uint8
	// start is where its records begin. It is first, unless records in between
	// were dropped and not delivered again.
	start        uint8
	lowWatermark uint8 // the window holds the records from the low watermark up to first
	ceiling      bool  // but for the first one of the log, whose time is ahead of the others
	month        uint8
	stage        uint8 // of an insert at the server: see applied
	// other: the client has joined anew under another member id since the
	// partition was taken up, and the worker has not been told.
	other bool
	// raised: the generation was raised while the range was in hand. Only a
	// broken variant looks at it.
	raised bool
	owns   bool // the group has assigned the partition to this member
}

// How far the server is with an insert.
const (
	nothingApplied uint8 = iota
	baseApplied
	viewApplied
)

// membership is how a worker's client stands to the group.
type membership uint8

const (
	down   membership = iota // no process; the group may not have noticed
	fresh                    // member, and knows the generation
	stale                    // member, and does not know the latest generation: its commits are rejected
	kicked                   // not a member any more, and does not know
)

type worker struct {
	member membership
	work   [partitions]work
}

// insert is a block on its way at the server: a token and the offsets of its rows.
type insert struct{ token, rows, stage uint8 }

// partition is everything about a partition outside the workers.
type partition struct {
	committed    uint8 // the committed offset
	planned      uint8 // metadata: the offset after the open plan; 0 for none
	lowWatermark uint8 // metadata: the window's low watermark
	ceiling      bool  // metadata: the window has left out what is ahead

	base, view [offsets]uint8 // rows by offset: none, one, or more
	baseTokens uint16         // what each table remembers
	viewTokens uint16
	contents   [tokens]uint8 // the rows each token was first used for

	ledger    uint16 // spans with an entry
	uncovered uint8  // committed offsets without one

	late [lateSlots]insert // rows == 0: free
}

// state is the world, spread out to be worked on.
type state struct {
	faults uint8 // how many may still happen
	part   [partitions]partition
	worker [workers]worker
}

// spanOf numbers the ranges [first, next).
//
//go:norace
func spanOf(first, next uint8) uint8 { return first*(2*offsets-first+1)/2 + next - first - 1 }

// Tables over spans, which stand in sets: those that share an offset with another
// one, those that end behind an offset, and the tokens of a set of them.
var spanOverlap, reaching, tokensOf = fillTables()

func fillTables() (overlap [spans]uint16, reaching [offsets + 1]uint16, tokensOf [1 << spans]uint16) {
	var first, next [spans]uint8
	for f := range uint8(offsets) {
		for n := f + 1; n <= offsets; n++ {
			s := spanOf(f, n)
			first[s], next[s] = f, n
			for c := range n {
				reaching[c] |= 1 << s
			}
		}
	}
	for a := range spans {
		for b := range spans {
			if a != b && first[a] < next[b] && first[b] < next[a] {
				overlap[a] |= 1 << b
			}
		}
	}
	for set := range tokensOf {
		for s := range spans {
			if set>>s&1 == 1 {
				tokensOf[set] |= (1<<months - 1) << (s * months)
			}
		}
	}
	return overlap, reaching, tokensOf
}

// rowsOf returns which offsets of a range have rows in a month, as a set: those
// of its records from start on that are no resend of a record in the range or in
// the window.
//
//go:norace
func rowsOf(p int, w *work) (rows uint8) {
	log := &logs[p]
	for o := w.start; o < w.next; o++ {
		if log[o].month == w.month && !w.resent(log, o) {
			rows |= 1 << o
		}
	}
	return rows
}

//go:norace
func (w *work) resent(log *[offsets]event, o uint8) bool {
	for e := range o {
		if log[e].key == log[o].key && (e >= w.start || e >= w.lowWatermark && e < w.first && (!w.ceiling || e != ahead)) {
			return true
		}
	}
	return false
}

// holds says whether a worker still has to do something for a sealed range.
//
//go:norace
func (w *work) holds() bool { return w.phase >= planning }

//go:norace
func (w *work) span() uint8 { return spanOf(w.first, w.next) }
