// Package places bounds what runs at the same time and takes a place in a process for long, such as a
// stream or an export, and how many places one caller holds. Nobody waits for a place.
package places

import (
	"errors"
	"fmt"
	"sync"
)

// ErrFull says that all places are taken.
var ErrFull = errors.New("all places are taken")

// Share is how many places somebody may hold.
type Share struct {
	Of   string // unique among all that share the places
	Most int
}

// ShareError says that a share is used up.
type ShareError struct{ Share }

// Error implements error.
func (e *ShareError) Error() string { return fmt.Sprintf("%d places of %s are taken", e.Most, e.Of) }

// Places counts the places that are taken. It is safe for concurrent use.
type Places struct {
	most int

	mu  sync.Mutex
	all int
	of  map[string]int
}

// New returns so many free places; 0 for no bound but the shares.
func New(most int) *Places { return &Places{most: most, of: map[string]int{}} }

// Most returns how many places there are.
func (p *Places) Most() int { return p.most }

// Enter takes a place, which counts in each share, until leave is called once. The error is a
// *ShareError of the first share that is used up, or ErrFull.
func (p *Places) Enter(shares ...Share) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range shares {
		if p.of[s.Of] >= s.Most {
			return nil, &ShareError{s}
		}
	}
	if p.most > 0 && p.all >= p.most {
		return nil, ErrFull
	}
	p.add(shares, 1)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.add(shares, -1)
	}, nil
}

func (p *Places) add(shares []Share, n int) {
	p.all += n
	for _, s := range shares {
		if p.of[s.Of] += n; p.of[s.Of] == 0 {
			delete(p.of, s.Of)
		}
	}
}

// Taken returns how many places are taken.
func (p *Places) Taken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all
}
