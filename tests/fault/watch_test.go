package fault

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

// watch looks at the committed offsets all the time: they must never move
// backwards, and each partition's metadata must stay within what brokers keep.
type watch struct {
	mu    sync.Mutex
	last  map[int32]int64
	backs []string
	reset bool // the test sets offsets back itself
}

const watchEvery = 50 * time.Millisecond

func startWatch(t *testing.T, s *stage) *watch {
	t.Helper()
	w := &watch{last: map[int32]int64{}}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for ctx.Err() == nil {
			if all, err := s.committed(ctx); err == nil {
				w.mu.Lock()
				for p, o := range all {
					w.note(p, o.At, o.Metadata)
				}
				w.mu.Unlock()
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	t.Cleanup(func() { cancel(); done.Wait() })
	return w
}

func (w *watch) note(p int32, at int64, metadata string) {
	if last, had := w.last[p]; had && at < last && !w.reset {
		w.backs = append(w.backs, fmt.Sprintf("partition %d from %d back to %d %s", p, last, at, metadata))
	}
	w.last[p] = at
}

// expectReset lets offsets move back from now on.
func (w *watch) expectReset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reset = true
}

// movedBack lists each time that an offset moved backwards.
func (w *watch) movedBack() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.backs...)
}
