package query

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/stagetest"
	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/testkit"
)

// throughProxy is a database behind a proxy that a test may freeze, and a Runner of it
// whose statements may take far longer than the test.
func throughProxy(t *testing.T, dial time.Duration) (*clickhousetest.Proxy, *Runner) {
	t.Helper()
	cfg := clickhousetest.Database(t)
	p := clickhousetest.NewProxy(t, cfg.Addr[0])
	cfg.Addr, cfg.DialTimeout = []string{p.Addr().String()}, dial
	r := NewRunner(cfg, RunnerConfig{MaxTime: time.Hour})
	t.Cleanup(r.Close)
	return p, r
}

// within has a context end a test that would wait for a server that hangs.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestAServerThatHangsIsUnavailableLongBeforeAStatementsTimeIsOver(t *testing.T) {
	t.Parallel()
	p, r := throughProxy(t, 200*time.Millisecond)
	answered := func() error {
		_, err := r.Run(t.Context(), statement("SELECT 1 AS a", "a"))
		return err
	}
	testkit.Eventually(t, time.Minute, answered) // a busy machine may take longer to connect
	p.Stall()
	for _, connection := range []string{"kept", "new"} {
		ctx := within(t, 2*time.Minute)
		_, err := r.Run(ctx, statement("SELECT 1 AS a", "a"))
		if !errors.Is(err, analytics.ErrUnavailable) || errors.Is(err, context.Canceled) || ctx.Err() != nil {
			t.Errorf("on a %s connection to a server that hangs: %v, want that it is unavailable", connection, err)
		}
	}
	p.Resume()
	testkit.Eventually(t, time.Minute, answered)
}

func TestAServerThatIsSilentAndAcceptsConnectionsIsWaitedFor(t *testing.T) {
	t.Parallel()
	p, r := throughProxy(t, time.Minute)
	if _, err := r.Run(t.Context(), statement("SELECT 1 AS a", "a")); err != nil {
		t.Fatal(err)
	}
	p.Silence()
	var all errgroup.Group
	all.Go(func() error {
		_, err := r.Run(t.Context(), statement("SELECT 1 AS a", "a"))
		return err
	})
	testkit.Eventually(t, time.Minute, func() error { // it was asked twice for a sign of life
		if n := p.Connections(); n < 3 {
			return fmt.Errorf("%d connections were made", n)
		}
		return nil
	})
	p.Resume()
	if err := all.Wait(); err != nil {
		t.Errorf("Run() = %v; want that the answer was waited for", err)
	}
}

func TestAListOfDirtyDaysIsUsedAsItWasWhileTheServerHangs(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	p := clickhousetest.NewProxy(t, cfg.Addr[0])
	clickhousetest.Run(t, cfg, listDays+"('web_1', '2026-03-05', 'over', 0)")
	cfg.Addr, cfg.DialTimeout = []string{p.Addr().String()}, time.Hour
	d, clock := newDirtyDays(t, cfg)
	saysOf(t, d, website("web_1"), "2026-03-05")
	p.Stall()
	clock.pass(dirtyFresh)
	saysOf(t, d, website("web_1"), "2026-03-05")
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.failed.IsZero() {
		t.Error("the caller waited until asking had failed")
	}
}
