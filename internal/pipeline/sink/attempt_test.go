package sink

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// timed notes how much time each insert has.
type timed struct {
	*world

	left []time.Duration
}

func (i *timed) Insert(ctx context.Context, b Block, insertToken string) error {
	deadline, _ := ctx.Deadline()
	i.left = append(i.left, time.Until(deadline))
	return i.world.Insert(ctx, b, insertToken)
}

// However long a block waits for memory, the insert then has all of its time; and what was
// reserved is given back after each try, for the next one to wait again.
func TestTheWaitForMemoryIsNoPartOfTheInsertTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg, w := testConfig(), newWorld(part)
		w.reserves = func(ctx context.Context) error {
			select {
			case <-time.After(2 * cfg.InsertTimeout):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		fails := 1
		w.insertFails = func(string) error {
			if fails--; fails >= 0 {
				return errors.New("away")
			}
			return nil
		}
		w.produce(part, anEvent("a", noon, noon))
		s, inserter := newSink(t, cfg, w), &timed{world: w}
		s.deps.Inserter = inserter
		stop := start(t, s)
		time.Sleep(5 * cfg.InsertTimeout) //nolint:forbidigo // fake time
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if want := []time.Duration{cfg.InsertTimeout, cfg.InsertTimeout}; !slices.Equal(inserter.left, want) {
			t.Errorf("inserts have %v, want %v", inserter.left, want)
		}
		if diff := cmp.Diff([]string{"plan 0", "insert 1", "commit 1", "close"}, w.calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		if got := w.released.Load(); got != 2 {
			t.Errorf("memory was given back %d times, want 2", got)
		}
	})
}

// Nothing is under way of a block that waits for memory: a partition that is given back does
// not wait with it.
func TestAPartitionThatWaitsForMemoryIsGivenBackAtOnce(t *testing.T) {
	t.Parallel()
	for name, giveBack := range map[string]func(*Sink, context.Context, []Partition){
		"revoked": (*Sink).Revoked, "lost": (*Sink).Lost,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(part)
				w.reserves = func(ctx context.Context) error {
					<-ctx.Done()
					return ctx.Err()
				}
				w.produce(part, anEvent("a", noon, noon))
				s := newSink(t, testConfig(), w)
				stop := start(t, s)
				time.Sleep(time.Minute) //nolint:forbidigo // fake time
				begin := time.Now()
				giveBack(s, t.Context(), []Partition{part})
				if took := time.Since(begin); took != 0 || !slices.Equal(w.calls, []string{"plan 0"}) || s.budget.InUse() != 0 {
					t.Errorf("took %s, calls %q, %d bytes in hand", took, w.calls, s.budget.InUse())
				}
				if err := stop(); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}
