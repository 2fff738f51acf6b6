package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

const (
	batchSize   = 100
	resentShare = 5 // of a batch: events that were acknowledged before
)

// sender is a client that sends events in batches until each is acknowledged.
type sender struct {
	system *harness.System
	total  int // different events
	at     time.Time

	mu       sync.Mutex
	next     int      // first event that no batch has taken
	acked    []string // ids of acknowledged events
	attempts int      // requests, those that failed included
	progress chan struct{}
}

func newSender(s *harness.System, total int) *sender {
	return &sender{system: s, total: total, at: time.Now(), progress: make(chan struct{})}
}

// take returns the ids of the next batch; the first of them are events that were
// acknowledged before, so that they are sent a second time.
func (s *sender) take() (ids []string, fresh int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh = min(batchSize-resentShare, s.total-s.next)
	if fresh <= 0 {
		return nil, 0
	}
	for i := range min(resentShare, len(s.acked)) {
		ids = append(ids, s.acked[(s.next*7+i*131)%len(s.acked)])
	}
	for range fresh {
		ids = append(ids, fmt.Sprintf("event-%07d", s.next))
		s.next++
	}
	return ids, fresh
}

// run sends everything with so many connections.
func (s *sender) run(ctx context.Context, connections int) error {
	errs := make([]error, connections)
	var all sync.WaitGroup
	for w := range connections {
		all.Go(func() {
			for errs[w] == nil {
				ids, fresh := s.take()
				if ids == nil {
					return
				}
				errs[w] = s.insist(ctx, ids, fresh)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// insist sends a batch until it is acknowledged. A rejection that no repetition
// would change is an error.
func (s *sender) insist(ctx context.Context, ids []string, fresh int) error {
	body := s.body(ids)
	const patience = 3 * time.Minute
	return testkit.WaitFor(patience, func() error {
		s.mu.Lock()
		s.attempts++
		s.mu.Unlock()
		a, err := s.system.Track(ctx, body)
		switch {
		case err != nil:
			return err
		case a.Status == http.StatusOK:
			s.acknowledge(ids[len(ids)-fresh:])
			return nil
		case a.Status < http.StatusInternalServerError:
			s.mu.Lock()
			defer s.mu.Unlock()
			return fmt.Errorf("a good batch was refused: %d %s", a.Status, a.Body)
		default:
			return fmt.Errorf("%d %s", a.Status, a.Body)
		}
	})
}

func (s *sender) body(ids []string) []byte {
	body := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			body = append(body, ',')
		}
		body = fmt.Appendf(body,
			`{"name":"screen_view","eventId":%q,"path":"/page-%d","sessionId":"sess-%d","timestamp":%d,"properties":{"n":%d}}`,
			id, len(id)%7, i%50, s.at.UnixMilli(), i)
	}
	return append(body, ']')
}

func (s *sender) acknowledge(ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acked = append(s.acked, ids...)
	close(s.progress)
	s.progress = make(chan struct{})
}

// reached returns when so many events are acknowledged.
func (s *sender) reached(ctx context.Context, n int) error {
	for {
		s.mu.Lock()
		have, progress := len(s.acked), s.progress
		s.mu.Unlock()
		if have >= n {
			return nil
		}
		select {
		case <-progress:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// verify compares what was acknowledged with what the product answers and holds:
// nothing missing, nothing twice, nothing that was not sent.
func (s *sender) verify(t *testing.T) {
	t.Helper()
	if len(s.acked) != s.total {
		t.Fatalf("%d events were acknowledged, want %d", len(s.acked), s.total)
	}
	const catchUp = 2 * time.Minute
	testkit.Eventually(t, catchUp, func() error { return s.system.Counts(t.Context(), s.total) })
	stored, err := s.system.StoredIDs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(stored)
	slices.Sort(s.acked)
	if slices.Equal(stored, s.acked) {
		return
	}
	t.Errorf("%d events are stored, %d of them different; %d were acknowledged, %d of them are missing",
		len(stored), len(slices.Compact(slices.Clone(stored))), len(s.acked), missing(s.acked, stored))
}

// missing counts the elements of a sorted list that another does not have.
func missing(want, have []string) int {
	n := 0
	for _, w := range want {
		if _, found := slices.BinarySearch(have, w); !found {
			n++
		}
	}
	return n
}
