package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/fault"
)

// saltStore notes when it is asked for which day.
type saltStore struct {
	mu    sync.Mutex
	down  bool
	asked []string
	now   func() time.Time
}

func (s *saltStore) Salt(_ context.Context, day time.Time) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, fmt.Sprintf("at %s for %s", s.now().UTC().Format("02 15:04:05"), day.Format("02")))
	if s.down {
		return nil, errors.New("connection refused")
	}
	return []byte(day.Format(time.DateOnly)), nil
}

func newSalts(s *saltStore) *Salts {
	s.now = time.Now
	return NewSalts(s, slog.New(slog.DiscardHandler), nil)
}

func TestTomorrowsSaltIsReadHoursBeforeMidnight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // begins on 2000-01-01 at midnight UTC
		var store saltStore
		salts := newSalts(&store)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- salts.Run(ctx) }()
		time.Sleep(49 * time.Hour) //nolint:forbidigo // the clock of the bubble
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		want := []string{"at 01 00:00:00 for 01", "at 01 18:00:00 for 02", "at 02 18:00:00 for 03"}
		if diff := cmp.Diff(want, store.asked); diff != "" {
			t.Errorf("reads (-want +got):\n%s", diff)
		}
	})
}

func TestAStoreThatIsDownOverMidnightIsNotNoticed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var store saltStore
		salts := newSalts(&store)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- salts.Run(ctx) }()
		time.Sleep(23 * time.Hour) //nolint:forbidigo // the clock of the bubble
		store.mu.Lock()
		store.down = true
		store.mu.Unlock()
		time.Sleep(2 * time.Hour) //nolint:forbidigo // the clock of the bubble
		for day, at := range map[string]time.Time{"2000-01-02": time.Now(), "2000-01-01": time.Now().Add(-2 * time.Hour)} {
			if salt, err := salts.At(t.Context(), at); err != nil || string(salt) != day {
				t.Errorf("salt of %s = %q, %v", day, salt, err)
			}
		}
		cancel()
		<-done
	})
}

func TestAnUnknownSaltOfADownStoreIsServiceUnavailable(t *testing.T) {
	t.Parallel()
	store := saltStore{down: true}
	salts := newSalts(&store)
	_, err := salts.At(t.Context(), time.Now())
	if f := fault.Of(err); f.Code != fault.ServiceUnavailable || f.RetryAfter != 5*time.Second {
		t.Errorf("At() = %v, retry after %s", err, f.RetryAfter)
	}
}

func TestAMidnightCostsOneRead(t *testing.T) {
	t.Parallel()
	var store saltStore
	salts := newSalts(&store)
	at := time.Now()
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := salts.At(t.Context(), at); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(store.asked) != 1 {
		t.Errorf("%d reads: %v", len(store.asked), slices.Compact(store.asked))
	}
}
