package query

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/clickhouse/stagetest"
	"github.com/millrace/millrace/internal/testkit"
)

func TestInsertsAndQueriesGoOnAtAnotherAddress(t *testing.T) {
	t.Parallel()
	one := stagetest.Migrated(t)
	cfg, behind := clickhousetest.TwoWays(t, one)
	if err := schema.CheckExactness(t.Context(), cfg); err != nil {
		t.Fatalf("two ways to one server: %v", err)
	}
	for _, p := range behind {
		p.Cut() // the connections of the check, which asks each
	}
	inserter, runner := stagetest.OpenInserter(t, cfg), NewRunner(cfg, RunnerConfig{})
	t.Cleanup(runner.Close)
	const inserts = 40
	var inserted atomic.Int64
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error {
		for n := range inserts {
			b := clickhousetest.BlockOf(inserter, clickhousetest.AnEvent(fmt.Sprint("e-", n)))
			insertToken := fmt.Sprintf("1:a:0:%d-%d:202603", n, n)
			err := errors.New("not yet")
			for err != nil && ctx.Err() == nil { // as the sink does: again, under the same token
				err = inserter.Insert(ctx, b, insertToken)
			}
			if err != nil {
				return err
			}
			inserted.Add(1)
		}
		return nil
	})
	all.Go(func() error {
		for inserted.Load() < inserts && ctx.Err() == nil {
			if _, err := runner.Run(ctx, statement("SELECT count() AS a FROM events", "a")); err != nil {
				return fmt.Errorf("a query, after %d inserts: %w", inserted.Load(), err)
			}
		}
		return nil
	})
	testkit.Eventually(t, 5*time.Minute, func() error {
		if n := inserted.Load(); n < inserts/4 {
			return fmt.Errorf("%d inserts so far", n)
		}
		return nil
	})
	busiest(behind).Kill()
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := clickhousetest.Column(t, one, "event_id", "events"); len(got) != inserts {
		t.Errorf("%d rows without FINAL, want %d", len(got), inserts)
	}
	for _, p := range behind {
		p.Kill()
	}
	if err := clickhouse.Ping(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), cfg.Addr[0]) ||
		!strings.Contains(err.Error(), cfg.Addr[1]) {
		t.Errorf("with every address away: %v", err)
	}
}

// busiest returns the address that most connections were made to.
func busiest(behind map[string]*clickhousetest.Proxy) (most *clickhousetest.Proxy) {
	for _, p := range behind {
		if most == nil || p.Connections() > most.Connections() {
			most = p
		}
	}
	return most
}
