package readcache

import (
	"context"
	"sync"
)

// Again is what is to be read again in the background: things by their names, each once, the
// first to come first. What of a thing comes later takes the earlier one's place. It is safe
// for concurrent use.
type Again[V any] struct {
	most  int
	added chan struct{} // says that there is something to take out

	mu    sync.Mutex
	of    map[string]V
	names []string // in their order
}

// NewAgain returns one in which nothing waits. most is how many things may; 0 for as many as
// there are.
func NewAgain[V any](most int) *Again[V] {
	return &Again[V]{most: most, added: make(chan struct{}, 1), of: map[string]V{}}
}

// Add reports whether there was room.
func (a *Again[V]) Add(name string, v V) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, waits := a.of[name]; !waits {
		if a.most > 0 && len(a.names) >= a.most {
			return false
		}
		a.names = append(a.names, name)
	}
	a.of[name] = v
	select {
	case a.added <- struct{}{}:
	default:
	}
	return true
}

// next takes the first one out.
func (a *Again[V]) next() (name string, v V, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.names) == 0 {
		a.names = nil // let go of what was taken out
		return "", v, false
	}
	name = a.names[0]
	v = a.of[name]
	delete(a.of, name)
	a.names[0] = ""
	a.names = a.names[1:]
	return name, v, true
}

// Len is how many things wait.
func (a *Again[V]) Len() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.names)
}

// Run has read called with what waits, so many at a time, until ctx ends.
func (a *Again[V]) Run(ctx context.Context, together int, read func(ctx context.Context, name string, v V)) {
	var wg sync.WaitGroup
	defer wg.Wait()
	turns := make(chan struct{}, together)
	for {
		name, v, ok := a.next()
		if !ok {
			select {
			case <-ctx.Done():
				return
			case <-a.added:
			}
			continue
		}
		select {
		case <-ctx.Done():
			return
		case turns <- struct{}{}:
		}
		wg.Go(func() {
			defer func() { <-turns }()
			read(ctx, name, v)
		})
	}
}
