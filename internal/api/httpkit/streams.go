package httpkit

import "sync"

// streams are the responses that a host is writing.
type streams struct {
	mu    sync.Mutex
	all   map[*streamBody]struct{}
	cut   bool
	ended bool // live ones
}

func (s *streams) add(b *streamBody) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cut {
		b.cancel(errCut)
	}
	if s.ended && b.leave != nil {
		b.leave()
	}
	if s.all == nil {
		s.all = map[*streamBody]struct{}{}
	}
	s.all[b] = struct{}{}
}

func (s *streams) remove(b *streamBody) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, b)
}

// endLive tells the live ones that a stop has begun, also those that still begin.
func (s *streams) endLive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for b := range s.all {
		if b.leave != nil {
			b.leave()
		}
	}
}

// cutAll ends every stream, also those that still begin.
func (s *streams) cutAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = true
	for b := range s.all {
		b.cancel(errCut)
	}
}

// open returns how many there are.
func (s *streams) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}
