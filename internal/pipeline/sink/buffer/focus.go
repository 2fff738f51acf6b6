package buffer

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Fetched is a partition that is fetched, or waits for its turn. It is safe for concurrent
// use.
type Fetched interface {
	comparable
	// Level returns how far it is.
	Level() Level
	// Bench has it wait for its turn, or not any more.
	Bench(wait bool)
}

// Level is how far a partition is at a moment.
type Level struct {
	Sealed int   // ranges so far
	Next   int64 // the offset after what is open
	Bytes  int64 // of what is open
	Exact  bool  // the next range is a span that has to be whole
	Whole  bool  // the next range has all its records
	AtEnd  bool  // the log was read to its end
	Halted bool  // it is halted
	Ending bool  // it is being given back
	// Restoring says that the partition is being taken over, which needs no records of it, or
	// no more: nothing of it can be stored before that, and what is fetched only takes memory.
	Restoring bool
}

// done reports whether nothing more is to be fetched for the next range.
func (l *Level) done() bool { return l.Whole || l.Halted || l.Ending || l.Restoring }

// Focus says which partitions are fetched while the log holds more than memory
// does: a few at a time, each until its next range is whole. If all were fetched
// they would share the memory and be stored in many small inserts, which cost
// the server as much as large ones.
//
// Turns go round, so no partition waits for more than one range of each other
// one. It is on from the moment that memory runs out until every partition has
// been read to its end in its turn. One goroutine uses it.
type Focus[P Fetched] struct {
	most    int // partitions fetched at a time
	on      bool
	turns   []turn[P]
	count   int64 // turns begun
	content int   // turns in a row that ended at the end of the log
	last    map[P]int64
}

// turn is a partition's time of being fetched.
type turn[P Fetched] struct {
	partition P
	sealed    int   // its ranges before the turn
	next      int64 // offset after what it had of its range when the time was set
	ends      time.Time
}

// turnTime ends the turn of a partition that is not delivered, say because its
// broker is away.
const turnTime = 2 * time.Second

// NewFocus returns one that is off. So many partitions are fetched at a time that their
// ranges, of up to maxBytes, fill while as many as there are connections are stored.
func NewFocus[P Fetched](maxMemory, maxBytes int64, connections int) Focus[P] {
	return Focus[P]{most: int(max(1, maxMemory/maxBytes-int64(connections))), last: map[P]int64{}}
}

// Begin turns it on where memory has run out, and reports whether it was off.
func (f *Focus[P]) Begin() bool {
	if f.on {
		return false
	}
	f.on, f.content = true, 0
	return true
}

// Rotate ends the turns that are over and begins others, of all partitions.
func (f *Focus[P]) Rotate(now time.Time, all []P, memory *Budget) {
	if !f.on {
		return
	}
	f.end(now, all)
	used := memory.InUse()
	if f.content >= len(all) && used < memory.Limit()/2 {
		f.off(all)
		return
	}
	// With nothing free, one after the other is fetched to the end of its range.
	most := f.most
	if used >= memory.Limit() {
		most = 1
	}
	f.begin(all, most, now)
}

// end ends turns, those of partitions that are gone too.
func (f *Focus[P]) end(now time.Time, all []P) {
	kept := f.turns[:0]
	for _, t := range f.turns {
		over, content := t.over(now)
		switch {
		case content:
			f.content++
		case over:
			f.content = 0
		}
		if !over && !content && slices.Contains(all, t.partition) {
			kept = append(kept, t)
		}
	}
	clear(f.turns[len(kept):])
	f.turns = kept
	maps.DeleteFunc(f.last, func(p P, _ int64) bool { return !slices.Contains(all, p) })
}

// off has all partitions fetched.
func (f *Focus[P]) off(all []P) {
	f.on, f.turns, f.content = false, nil, 0
	for _, p := range all {
		p.Bench(false)
	}
}

// begin lets those have a turn that waited longest, and the fullest first of
// those that never had one, until so many have one. Before all others come those that
// have to store a span, the fullest first: what they have in hand is stored only when it
// is whole. All others are not fetched.
func (f *Focus[P]) begin(all []P, most int, now time.Time) {
	waiting := f.waiting(all)
	for _, p := range waiting[:min(len(waiting), max(0, most-len(f.turns)))] {
		f.count++
		f.last[p] = f.count
		level := p.Level()
		f.turns = append(f.turns, turn[P]{p, level.Sealed, level.Next, now.Add(turnTime)})
		p.Bench(false)
	}
}

// waiting benches the partitions that have no turn, and returns those of them that take
// more, in the order of their turns.
func (f *Focus[P]) waiting(all []P) []P {
	levels := map[P]Level{}
	var waiting []P
	for _, p := range all {
		if slices.ContainsFunc(f.turns, func(t turn[P]) bool { return t.partition == p }) {
			continue
		}
		level := p.Level()
		if levels[p] = level; !level.done() {
			waiting = append(waiting, p)
		}
		p.Bench(true)
	}
	slices.SortStableFunc(waiting, func(a, b P) int {
		one, other := levels[a], levels[b]
		switch {
		case one.Exact && !other.Exact:
			return -1
		case other.Exact && !one.Exact:
			return 1
		}
		return cmp.Or(cmp.Compare(f.last[a], f.last[b]), cmp.Compare(other.Bytes, one.Bytes))
	})
	return waiting
}

// over reports whether the turn has to end, or may because there is nothing more
// to read.
func (t *turn[P]) over(now time.Time) (over, content bool) {
	level := t.partition.Level()
	switch {
	case level.Sealed != t.sealed, level.done():
		return true, false
	case level.AtEnd:
		return false, true
	}
	if over = now.After(t.ends); over && level.Exact && level.Next > t.next {
		// Half of its span is of no use to anybody, and something comes.
		t.next, t.ends = level.Next, now.Add(turnTime)
		return false, false
	}
	return over, false
}
