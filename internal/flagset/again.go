package flagset

import (
	"context"
	"sync"
	"time"
)

const (
	// readTogether is how many sets are read again at a time, beside those that nobody held.
	readTogether = 8
	retryPause   = time.Second // before one that could not be read is tried again
)

// queue holds organizations, each once, the first to come first. There are no more of them than
// sets that are held or watched.
type queue struct {
	added chan struct{} // says that there is something to take out

	mu  sync.Mutex
	has map[string]bool
	ids []string // in their order
}

func newQueue() *queue { return &queue{added: make(chan struct{}, 1), has: make(map[string]bool)} }

func (q *queue) add(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.has[id] {
		return
	}
	q.has[id] = true
	q.ids = append(q.ids, id)
	nudge(q.added)
}

// next takes the first one out.
func (q *queue) next() (id string, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.ids) == 0 {
		q.ids = nil // let go of what was taken out
		return "", false
	}
	id = q.ids[0]
	q.ids = q.ids[1:]
	delete(q.has, id)
	return id, true
}

func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.ids)
}

// readAgain reads sets again, several at a time, until ctx ends.
func (m *Memory) readAgain(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	turns := make(chan struct{}, readTogether)
	for {
		id, ok := m.again.next()
		if !ok {
			select {
			case <-ctx.Done():
				return
			case <-m.again.added:
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
			m.readOneAgain(ctx, id)
		})
	}
}

// readOneAgain reads a set, unless somebody has since. Where the store does not say, it is tried
// again after the others.
func (m *Memory) readOneAgain(ctx context.Context, id string) {
	if !m.isWanted(id) {
		return
	}
	_, err := m.reads.Join(ctx, id, func(ctx context.Context) (*Set, error) { return m.fetch(ctx, id) })
	if err != nil && !isGone(err) && pause(ctx, retryPause) && m.isWanted(id) {
		m.again.add(id)
	}
}
