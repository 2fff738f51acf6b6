package apikey_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/tenant/apikey"
)

var errAway = errors.New("the store is away")

// notes remembers uses as a store does.
type notes struct {
	mu     sync.Mutex
	uses   map[string]time.Time
	writes int
	fail   bool
}

func (n *notes) TouchKeys(_ context.Context, uses []apikey.Use) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.writes++
	if n.fail {
		return errAway
	}
	for _, u := range uses {
		n.uses[u.KeyID] = u.At
	}
	return nil
}

// seen returns how many writes there were, and when a key was used.
func (n *notes) seen(keyID string) (writes int, at time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.writes, n.uses[keyID]
}

func newUsage() (*notes, *apikey.Usage) {
	n := &notes{uses: map[string]time.Time{}}
	return n, apikey.NewUsage(n, slog.New(slog.DiscardHandler))
}

func TestUsesAreWrittenOnceAMinuteAndWhenItEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, u := newUsage()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- u.Run(ctx) }()
		start := time.Now()
		for range 3 {
			u.Touch("key_1", time.Now())
			<-time.After(10 * time.Second)
		}
		if writes, _ := n.seen("key_1"); writes != 0 {
			t.Errorf("%d writes within the minute", writes)
		}
		<-time.After(31 * time.Second)
		synctest.Wait()
		if writes, at := n.seen("key_1"); writes != 1 || !at.Equal(start) {
			t.Errorf("%d writes, used at %s; want one with the minute %s", writes, at, start)
		}
		<-time.After(10 * time.Minute)
		synctest.Wait()
		if writes, _ := n.seen("key_1"); writes != 1 {
			t.Errorf("%d writes where nothing was used", writes)
		}
		u.Touch("key_2", time.Now())
		cancel()
		err := <-ended
		if _, at := n.seen("key_2"); err != nil || at.IsZero() {
			t.Errorf("Run() = %v, and the last use is noted at %s", err, at)
		}
	})
}

func TestUsesStayWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	n, u := newUsage()
	n.fail = true
	u.Touch("key_1", now)
	u.Touch("key_2", now.Add(time.Hour))
	if err := u.Write(t.Context()); !errors.Is(err, errAway) {
		t.Fatalf("Write() = %v, want %v", err, errAway)
	}
	n.fail = false
	u.Touch("key_1", now.Add(2*time.Minute))
	u.Touch("key_2", now) // an earlier use, which came late
	if err := u.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := map[string]time.Time{"key_1": now.Add(2 * time.Minute), "key_2": now.Add(time.Hour)}
	if !maps.EqualFunc(want, n.uses, time.Time.Equal) {
		t.Errorf("noted %v, want %v", n.uses, want)
	}
}

func TestNoMoreUsesAreRememberedThanTheirBound(t *testing.T) {
	t.Parallel()
	n, u := newUsage()
	for i := range apikey.MaxUses + 1 {
		u.Touch(fmt.Sprint("key_", i), now)
	}
	u.Touch("key_0", now.Add(time.Hour)) // known already
	if err := u.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(n.uses) != apikey.MaxUses || !n.uses["key_0"].Equal(now.Add(time.Hour)) || n.writes != apikey.MaxUses/1000 {
		t.Errorf("%d uses in %d writes", len(n.uses), n.writes)
	}
	(*apikey.Usage)(nil).Touch("key_1", now) // who has none, notes none
}
