package sink

import (
	"cmp"
	"slices"
	"time"
)

// focus says which partitions are fetched while the log holds more than memory
// does: a few at a time, each until its next range is whole. If all were fetched
// they would share the memory and be stored in many small inserts, which cost
// the server as much as large ones.
//
// Turns go round, so no partition waits for more than one range of each other
// one. It is on from the moment that memory runs out until every partition has
// been read to its end in its turn. The poll's goroutine alone uses it.
type focus struct {
	most    int // partitions fetched at a time
	on      bool
	turns   []turn
	count   int64 // turns begun
	content int   // turns in a row that ended at the end of the log
}

// turn is a partition's time of being fetched.
type turn struct {
	worker *worker
	frozen int   // ranges of the worker before it
	next   int64 // offset after what it had of its range when the time was set
	ends   time.Time
}

// turnTime ends the turn of a partition that is not delivered, say because its
// broker is away.
const turnTime = 2 * time.Second

// focusOn returns how many partitions can be fetched at a time: their ranges fill
// while as many as there are connections are stored.
func focusOn(maxMemory, maxBytes int64, connections int) focus {
	return focus{most: int(max(1, maxMemory/maxBytes-int64(connections)))}
}

// tight is called when memory has run out.
func (s *Sink) tight() (fetch bool) {
	if !s.focus.on {
		s.focus.on, s.focus.content = true, 0
		s.rotate(time.Now())
	}
	return s.hurry()
}

// rotate ends the turns that are over and begins others.
func (s *Sink) rotate(now time.Time) {
	f := &s.focus
	if !f.on {
		return
	}
	all := s.owned()
	f.turns = slices.DeleteFunc(f.turns, func(t turn) bool {
		over, content := t.over(now)
		switch {
		case content:
			f.content++
		case over:
			f.content = 0
		}
		return over || content || !slices.Contains(all, t.worker)
	})
	if f.content >= len(all) && s.budget.inUse() < s.budget.limit/2 {
		*f = focus{most: f.most, count: f.count}
		for _, w := range all {
			w.bench(false)
		}
		return
	}
	// With nothing free, one after the other is fetched to the end of its range.
	most := f.most
	if s.budget.inUse() >= s.budget.limit {
		most = 1
	}
	f.begin(all, most, now)
}

// begin lets those have a turn that waited longest, and the fullest first of
// those that never had one, until so many have one. Before all others come those that
// have to store a span, the fullest first: what they have in hand is stored only when it
// is whole. All others are not fetched.
func (f *focus) begin(all []*worker, most int, now time.Time) {
	type candidate struct {
		*worker
		open  int64
		exact int
	}
	var waiting []candidate
	for _, w := range all {
		if slices.ContainsFunc(f.turns, func(t turn) bool { return t.worker == w }) {
			continue
		}
		if open, exact, takes := w.appetite(); takes {
			waiting = append(waiting, candidate{w, open, exact})
		}
		w.bench(true)
	}
	slices.SortStableFunc(waiting, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.exact, a.exact), cmp.Compare(a.lastTurn, b.lastTurn), cmp.Compare(b.open, a.open))
	})
	for _, c := range waiting[:min(len(waiting), max(0, most-len(f.turns)))] {
		f.count++
		c.lastTurn = f.count
		frozen, next := c.progress()
		f.turns = append(f.turns, turn{c.worker, frozen, next, now.Add(turnTime)})
		c.bench(false)
	}
}

// over reports whether the turn has to end, or may because there is nothing more
// to read.
func (t *turn) over(now time.Time) (over, content bool) {
	w := t.worker
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.frozen != t.frozen, w.complete(), w.stuck != "", w.ending != running:
		return true, false
	case w.logEnd > 0 && w.open.next >= w.logEnd:
		return false, true
	}
	if over = now.After(t.ends); over && w.isForced() && w.open.next > t.next {
		// Half of its span is of no use to anybody, and something comes.
		t.next, t.ends = w.open.next, now.Add(turnTime)
		return false, false
	}
	return over, false
}

// appetite returns the bytes of the open range, whether it is a span that has to be whole
// (1, else 0), and whether it takes more.
func (w *worker) appetite() (open int64, exact int, takes bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isForced() {
		exact = 1
	}
	return w.open.bytes, exact, w.stuck == "" && !w.complete()
}

// isForced reports whether the next range is a span that has to be whole. mu is held.
func (w *worker) isForced() bool { return w.forced != nil && w.forced.exact }

// progress returns how many ranges were frozen, and the offset after what is open.
func (w *worker) progress() (frozen int, next int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.frozen, w.open.next
}

// bench has the partition wait for its turn, or not any more.
func (w *worker) bench(wait bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.benched = wait
	w.regulate()
}

// regulate has the partition fetched, or not: it is not while its next range is
// complete, because the one in flight has to be settled first, while it stands
// still, and while it waits for its turn. mu is held.
func (w *worker) regulate() {
	stop := w.stuck != "" || w.complete() || w.benched
	if stop == w.paused {
		return
	}
	w.paused = stop
	if stop {
		w.sink.deps.Source.Pause(w.partition)
	} else {
		w.sink.deps.Source.Resume(w.partition)
	}
}
