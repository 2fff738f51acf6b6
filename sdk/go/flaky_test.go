//go:build go1.25

package millrace

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// flaky answers with everything that can go wrong, chosen at random.
func flaky(rng *rand.Rand) func(int, *call) reply {
	return func(_ int, c *call) reply {
		var bad []int
		for i, e := range c.events {
			if strings.HasPrefix(fmt.Sprint(e["name"]), "bad") {
				bad = append(bad, i)
			}
		}
		after := http.Header{"Retry-After": {"1"}}
		kind := rng.IntN(20)
		switch {
		case kind == 0:
			return unavailable
		case kind == 1 && bad == nil:
			return reply{status: 503, body: unavailable.body, store: true}
		case kind == 2:
			return reply{err: errCut, hang: time.Duration(rng.IntN(3)) * time.Second}
		case kind == 3 && bad == nil:
			return reply{err: errCut, store: true}
		case kind == 4:
			return reply{status: 429, header: after, body: `{"code":"RATE_LIMITED","retryable":true}`}
		case kind == 5:
			return reply{status: 200, body: "<html>welcome</html>"}
		case kind == 6 && bad == nil:
			return reply{status: 200, hang: time.Hour, store: true} // longer than any timeout
		case kind == 7:
			return reply{status: 502, body: "Bad Gateway"}
		case bad != nil:
			return naming(bad[:1+rng.IntN(len(bad))]...)
		}
		ok := accepted
		ok.hang = time.Duration(rng.IntN(200)) * time.Millisecond
		return ok
	}
}

// ending is what a client said last about an event.
type ending struct {
	mu     sync.Mutex
	queued map[string]bool // Track said so
	final  map[string][]Result
}

func (e *ending) track(r Result) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r.Success && r.Delivery != Skipped || r.StatusCode != 0 {
		e.queued[r.EventID] = true
	}
}

func (e *ending) tell(r Result) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.final[r.EventID] = append(e.final[r.EventID], r)
}

// TestNoEventIsLostOrDoubledWhateverTheHostDoes lets many goroutines track and flush
// against a host that fails in every way. Each event that was queued must come to
// exactly one end, and be stored exactly when that end is a good one, or may be
// stored when the client was closed before it could tell.
func TestNoEventIsLostOrDoubledWhateverTheHostDoes(t *testing.T) {
	t.Parallel()
	const seeds, goroutines, each = 60, 8, 40
	for seed := range uint64(seeds) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0))
			h := newHost(t, flaky(rng))
			e := &ending{queued: map[string]bool{}, final: map[string][]Result{}}
			c := h.client(WithBatchSize(1+int(seed%13)), WithMaxQueueSize(20+int(seed%200)),
				WithBatchTimeout(time.Duration(seed%7)*100*time.Millisecond),
				WithOnResult(e.tell), WithRequestTimeout(5*time.Second))
			var all sync.WaitGroup
			for g := range goroutines {
				own := rand.New(rand.NewPCG(seed, uint64(g)+1))
				all.Go(func() { work(t.Context(), c, own, e, g, each) })
			}
			all.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+seed%5)*time.Minute)
			defer cancel()
			b := c.Close(ctx)
			e.verify(t, h, b, seed)
		})
	}
}

// work tracks events, sometimes one that was tracked before, and flushes now and
// then; some of its calls are given up.
func work(ctx context.Context, c *Client, rng *rand.Rand, e *ending, g, events int) {
	for i := range events {
		name := "good"
		if rng.IntN(15) == 0 {
			name = "bad"
		}
		id := fmt.Sprintf("%s-%d-%d", name, g, i)
		func() {
			ctx, cancel := context.WithTimeout(ctx, time.Duration(1+rng.IntN(3000))*time.Millisecond)
			defer cancel()
			e.track(c.Track(ctx, Event{Name: name, EventID: id}))
			switch rng.IntN(20) {
			case 0:
				c.Flush(ctx)
			case 1:
				e.track(c.Track(ctx, Event{Name: name, EventID: id}))
			}
		}()
	}
}

func (e *ending) verify(t *testing.T, h *fakeHost, b BatchResult, seed uint64) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	for id := range e.queued {
		ends := e.final[id]
		_, stored := h.stored["<nil>/"+id]
		delivered := 0
		for _, r := range ends {
			if r.Delivery == Delivered {
				delivered++
			}
		}
		switch last := ends[max(0, len(ends)-1):]; {
		case len(last) == 0:
			t.Errorf("seed %d: %s was queued and came to no end", seed, id)
		case delivered > 1 || delivered == 1 && !stored:
			t.Errorf("seed %d: %s: %d times delivered, stored %v", seed, id, delivered, stored)
		case delivered == 0 && !last[0].Retryable && (stored || !strings.HasPrefix(id, "bad")):
			t.Errorf("seed %d: %s was refused with %+v, stored %v", seed, id, last[0], stored)
		}
	}
	for id := range e.final {
		if !e.queued[id] {
			t.Errorf("seed %d: OnResult was told of %s, which was not queued", seed, id)
		}
	}
	if len(h.twice) > 0 {
		t.Errorf("seed %d: sent again with other content: %v", seed, h.twice)
	}
	if b.Pending != 0 {
		t.Errorf("seed %d: %d are pending after Close", seed, b.Pending)
	}
}
