package flagset

import (
	"context"
	"time"
)

const (
	// readTogether is how many sets are read again at a time, beside those that nobody held.
	readTogether = 8
	retryPause   = time.Second // before one that could not be read is tried again
)

// readAgain reads a set, unless somebody has since. Where the store does not say, it is tried
// again after the others.
func (m *Memory) readAgain(ctx context.Context, id string, _ struct{}) {
	if !m.isWanted(id) {
		return
	}
	_, err := m.reads.Join(ctx, id, func(ctx context.Context) (*Set, error) { return m.fetch(ctx, id) })
	if err != nil && !isGone(err) && pause(ctx, retryPause) && m.isWanted(id) {
		m.again.Add(id, struct{}{})
	}
}
