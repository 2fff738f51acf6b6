package rangemodel

import "math"

// Config says what to explore.
type Config struct {
	Variant Variant
	// Records is how many records of each partition's log there are, 3 at most.
	Records [partitions]uint8
	// Faults is how many faults may happen in one run. Every interleaving with at
	// most so many is explored, to its end.
	Faults int
	// Watch are the invariants that are looked at; the zero value means all.
	Watch []Invariant
	// Plain explores without the reductions told in the package comment.
	Plain bool
}

// Result is what was found.
type Result struct {
	States int // distinct ones, workers taken as alike
	Steps  int // from one to the next
	Depth  int // steps of the longest of the shortest ways to a state
	// Broken is the first invariant found that does not hold, None when all do, and
	// Trace a shortest way there.
	Broken Invariant
	Trace  []string
}

// search is a breadth-first search. States are numbered in the order in which they
// were found.
type search struct {
	explorer
	keys    []packed
	parents []uint32
	depth   []uint8
	index   []uint32 // open addressing: number of a state + 1, 0 for free
	edges   []uint32 // where the steps from each state lead, in the order of states
	from    []uint32 // where they begin in edges
	found   uint32   // the state before the step that broke something
	last    step
	broke   Invariant
}

// Explore walks through all states in reach.
func Explore(c Config) Result {
	s := &search{index: make([]uint32, 1<<16)}
	s.watch = setOf(c.Watch...)
	if len(c.Watch) == 0 {
		s.watch = math.MaxUint16
	}
	s.variant, s.records, s.plain = c.Variant, c.Records, c.Plain
	first := start(c.Faults)
	s.add(first.pack(), 0)
	s.run()
	if s.broke == None && s.watch.has(NoProgress) {
		s.checkEnd()
	}
	r := Result{States: len(s.keys), Steps: len(s.edges), Depth: int(s.depth[len(s.depth)-1]), Broken: s.broke}
	if r.Broken != None {
		r.Trace = s.trace(c.Faults)
	}
	return r
}

// start is a group of members that have nothing yet.
func start(faults int) (s state) {
	s.faults = uint8(faults)
	for w := range s.worker {
		s.worker[w].member = fresh
	}
	return s
}

//go:norace
func (s *search) run() {
	for at := uint32(0); int(at) < len(s.keys) && s.broke == None; at++ {
		s.from = append(s.from, uint32(len(s.edges)))
		s.state = unpack(&s.keys[at])
		s.visit = func(how step) { s.reach(at, how) }
		s.expand()
	}
	s.from = append(s.from, uint32(len(s.edges)))
}

// reach is called for each step that was found.
//
//go:norace
func (s *search) reach(from uint32, how step) {
	if s.broke != None {
		return
	}
	broken := s.broken
	number, isNew := s.add(s.to.pack(), from)
	if isNew && broken == None {
		broken = s.to.check(s.watch)
	}
	s.edges = append(s.edges, number)
	if broken != None {
		s.broke, s.found, s.last = broken, from, how
	}
}

// add returns the number of a state, which is new or known.
//
//go:norace
func (s *search) add(k packed, parent uint32) (number uint32, isNew bool) {
	if 2*len(s.keys) >= len(s.index) {
		s.grow()
	}
	slot := s.slot(&k)
	if n := s.index[slot]; n != 0 {
		return n - 1, false
	}
	number = uint32(len(s.keys))
	depth := uint8(0)
	if number > 0 {
		depth = s.depth[parent] + 1
	}
	s.keys = append(s.keys, k)
	s.parents = append(s.parents, parent)
	s.depth = append(s.depth, depth)
	s.index[slot] = number + 1
	return number, true
}

//go:norace
func (s *search) slot(k *packed) uint64 {
	mask := uint64(len(s.index) - 1)
	for at := k.hash() & mask; ; at = (at + 1) & mask {
		if n := s.index[at]; n == 0 || s.keys[n-1] == *k {
			return at
		}
	}
}

//go:norace
func (s *search) grow() {
	s.index = make([]uint32, 2*len(s.index))
	for n := range s.keys {
		s.index[s.slot(&s.keys[n])] = uint32(n) + 1
	}
}

// checkEnd looks whether every state has a way to one in which everything is
// committed, by going the steps backwards from those.
//
//go:norace
func (s *search) checkEnd() {
	into := make([]uint32, len(s.keys)+1) // where the steps into each state begin in back
	for _, to := range s.edges {
		into[to+1]++
	}
	for n := range s.keys {
		into[n+1] += into[n]
	}
	back := make([]uint32, len(s.edges))
	fill := append([]uint32(nil), into[:len(s.keys)]...)
	for n := range s.keys {
		for _, to := range s.edges[s.from[n]:s.from[n+1]] {
			back[fill[to]] = uint32(n)
			fill[to]++
		}
	}
	ends := make([]bool, len(s.keys))
	var todo []uint32
	for n := range s.keys {
		if s.complete(&s.keys[n]) {
			ends[n] = true
			todo = append(todo, uint32(n))
		}
	}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, before := range back[into[n]:into[n+1]] {
			if !ends[before] {
				ends[before] = true
				todo = append(todo, before)
			}
		}
	}
	for n := range ends {
		if !ends[n] {
			s.broke, s.found = NoProgress, uint32(n)
			return
		}
	}
}
