package salt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/event"
)

// fakeStore notes when it is asked for which day.
type fakeStore struct {
	mu    sync.Mutex
	down  bool
	mute  bool // it says nothing
	asked []string
	kept  []string // what PruneSalts was called with, when it changed
	now   func() time.Time
}

func (s *fakeStore) Salt(ctx context.Context, day time.Time) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, fmt.Sprintf("at %s for %s", s.now().UTC().Format("02 15:04:05"), day.Format("02")))
	if s.mute {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if s.down {
		return nil, errors.New("connection refused")
	}
	return []byte(day.Format(time.DateOnly)), nil
}

func (s *fakeStore) PruneSalts(_ context.Context, first time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return errors.New("connection refused")
	}
	from := first.Format("02")
	if n := len(s.kept); n == 0 || !strings.HasSuffix(s.kept[n-1], from) {
		s.kept = append(s.kept, fmt.Sprintf("at %s from %s", s.now().UTC().Format("02 15:04:05"), from))
	}
	return nil
}

func newSalts(s *fakeStore) *Salts {
	s.now = time.Now
	return New(s, slog.New(slog.DiscardHandler), nil)
}

func TestTomorrowsSaltIsReadHoursBeforeMidnight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // begins on 2000-01-01 at midnight UTC
		var store fakeStore
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
		var store fakeStore
		salts := newSalts(&store)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- salts.Run(ctx) }()
		time.Sleep(23 * time.Hour) //nolint:forbidigo // the clock of the bubble
		store.mu.Lock()
		store.down = true
		store.mu.Unlock()
		time.Sleep(2 * time.Hour) //nolint:forbidigo // the clock of the bubble
		if salt, err := salts.At(t.Context(), time.Now()); err != nil || string(salt) != "2000-01-02" {
			t.Errorf("salt of the new day = %q, %v", salt, err)
		}
		if salt := salts.Today(); string(salt) != "2000-01-02" {
			t.Errorf("today's salt = %q", salt)
		}
		if salt, none := salts.Known(time.Now()), salts.Known(time.Now().AddDate(0, 0, 1)); string(salt) != "2000-01-02" ||
			none != nil {
			t.Errorf("the salts of that day and the next are %q and %q", salt, none)
		}
		if salt := newSalts(&fakeStore{}).Today(); salt != nil {
			t.Errorf("without having asked, today's salt = %q", salt)
		}
		cancel()
		<-done
	})
}

func TestYesterdaysSaltIsForgottenMinutesAfterMidnight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var store fakeStore
		salts := newSalts(&store)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- salts.Run(ctx) }()
		time.Sleep(24*time.Hour + event.SaltGrace - 1) //nolint:forbidigo // the clock of the bubble
		synctest.Wait()
		if salt := salts.find(dayOf(time.Now()) - 1); string(salt) != "2000-01-01" {
			t.Errorf("within the grace, yesterday's salt is %q", salt)
		}
		time.Sleep(time.Nanosecond) //nolint:forbidigo // the clock of the bubble
		synctest.Wait()
		if salt := salts.find(dayOf(time.Now()) - 1); salt != nil {
			t.Errorf("after the grace, yesterday's salt is %q", salt)
		}
		if salt := salts.find(dayOf(time.Now())); string(salt) != "2000-01-02" {
			t.Errorf("today's salt is %q", salt)
		}
		time.Sleep(48 * time.Hour) //nolint:forbidigo // the clock of the bubble
		cancel()
		<-done
		want := []string{
			"at 01 00:00:00 from 31", "at 01 00:10:00 from 01", "at 02 00:10:00 from 02", "at 03 00:10:00 from 03",
		}
		if diff := cmp.Diff(want, store.kept[:min(len(store.kept), 4)]); diff != "" {
			t.Errorf("destroyed (-want +got):\n%s", diff)
		}
	})
}

func TestAStoreThatWasAwayAtMidnightDestroysTheSaltWhenItIsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var store fakeStore
		salts := newSalts(&store)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- salts.Run(ctx) }()
		down := func(is bool) {
			store.mu.Lock()
			defer store.mu.Unlock()
			store.down = is
		}
		time.Sleep(23 * time.Hour) //nolint:forbidigo // the clock of the bubble
		down(true)
		time.Sleep(3 * time.Hour) //nolint:forbidigo // the clock of the bubble
		synctest.Wait()
		if salt := salts.find(dayOf(time.Now()) - 1); salt != nil {
			t.Error("the edge itself did not wait for the store to forget it")
		}
		down(false)
		time.Sleep(retry) //nolint:forbidigo // the clock of the bubble
		cancel()
		<-done
		if got := store.kept[len(store.kept)-1]; got != "at 02 02:00:00 from 02" && got != "at 02 02:00:30 from 02" {
			t.Errorf("destroyed %v", store.kept)
		}
	})
}

func TestAnUnknownSaltOfADownStoreIsServiceUnavailable(t *testing.T) {
	t.Parallel()
	store := fakeStore{down: true}
	salts := newSalts(&store)
	_, err := salts.At(t.Context(), time.Now())
	if f := apierr.Of(err); f.Code != apierr.ServiceUnavailable || f.RetryAfter != 5*time.Second {
		t.Errorf("At() = %v, retry after %s", err, f.RetryAfter)
	}
}

func TestAMidnightCostsOneRead(t *testing.T) {
	t.Parallel()
	var store fakeStore
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

// Nobody waits in line for a store that says nothing: what is asked at the same time fails
// at the same time, and what is asked then fails at once, until it is tried again.
func TestASilentStoreIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := fakeStore{mute: true}
		salts := newSalts(&store)
		ask := func(patience time.Duration) (took time.Duration, err error) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			begun := time.Now()
			_, err = salts.At(ctx, begun)
			return time.Since(begun), err
		}
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() {
				if took, err := ask(time.Minute); took > timeout || !apierr.Is(err, apierr.ServiceUnavailable) {
					t.Errorf("%v after %s", err, took)
				}
			})
		}
		synctest.Wait()
		if took, err := ask(time.Second); took > time.Second || !apierr.Is(err, apierr.ServiceUnavailable) {
			t.Errorf("who waits for a second is told %v after %s", err, took)
		}
		callers.Wait()
		if took, err := ask(time.Minute); took > 0 || !apierr.Is(err, apierr.ServiceUnavailable) {
			t.Errorf("after them, %v after %s", err, took)
		}
		if len(store.asked) != 1 {
			t.Errorf("reads: %v", store.asked)
		}
		store.mute = false
		time.Sleep(again) //nolint:forbidigo // the clock of the bubble
		if took, err := ask(time.Minute); took > 0 || err != nil {
			t.Errorf("once it speaks, %v after %s", err, took)
		}
	})
}
