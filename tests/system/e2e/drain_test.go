package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

// patient is how long 500 requests may take on a busy machine.
const patient = 2 * time.Minute

func TestSIGTERMUnderLoadLosesNoAcceptedRequestAndCutsNoneOff(t *testing.T) {
	leaveOutWhenShort(t)
	t.Parallel()
	s := harness.New(t, harness.Split, harness.Options{})
	edge := s.Process(harness.Edge)
	const enough = 500 // acknowledged requests before the stop
	var (
		mu    sync.Mutex
		acked []string
		all   sync.WaitGroup
	)
	busy := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer all.Wait()
	defer cancel() // for who gives up before the edge has ended
	for w := range connections {
		all.Go(func() {
			for n := 0; ; n++ {
				id := fmt.Sprintf("drain-%d-%d", w, n)
				a, err := s.Track(ctx, fmt.Appendf(nil, `{"name":"x","eventId":%q}`, id))
				switch {
				case nobodyListens(err), ctx.Err() != nil:
					return // nobody listens any more
				case err != nil:
					t.Errorf("a request was cut off: %v", err)
					return
				case a.Status != http.StatusOK:
					t.Errorf("answer %d %s while draining", a.Status, a.Body)
				}
				mu.Lock()
				acked = append(acked, id)
				if len(acked) == enough {
					close(busy)
				}
				mu.Unlock()
			}
		})
	}
	select {
	case <-busy:
	case <-time.After(patient):
		mu.Lock()
		defer mu.Unlock()
		t.Fatalf("%d requests were acknowledged within %s, want %d", len(acked), patient, enough)
	}
	edge.Signal(t, syscall.SIGTERM)
	if err := edge.Wait(); err != nil {
		t.Errorf("the edge ended with %v\n%s", err, edge.Log())
	}
	all.Wait()
	testkit.Eventually(t, time.Minute, func() error { return s.Stores(t.Context(), acked...) })
	stored, err := s.StoredIDs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(stored)
	slices.Sort(acked)
	if !slices.Equal(stored, acked) {
		t.Errorf("%d events are stored, %d were acknowledged", len(stored), len(acked))
	}
	edge.Start(t)
}

// nobodyListens reports whether no connection could be made.
func nobodyListens(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial" && errors.Is(err, syscall.ECONNREFUSED)
}
