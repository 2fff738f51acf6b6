package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/embedded/chserver"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
)

// twoWays returns settings with two addresses that lead to one server, and what
// stands behind each of them.
func twoWays(t *testing.T, cfg config.ClickHouse) (config.ClickHouse, map[string]*proxy) {
	t.Helper()
	behind := map[string]*proxy{}
	server := cfg.Addr[0]
	cfg.Addr = nil
	for range 2 {
		p := newProxy(t, server)
		cfg.Addr = append(cfg.Addr, p.Addr().String())
		behind[p.Addr().String()] = p
	}
	return cfg, behind
}

// kill ends an address in the middle of whatever passes through it.
func (p *proxy) kill() {
	p.Close()
	p.cut()
}

func TestInsertsAndQueriesGoOnAtAnotherAddress(t *testing.T) {
	t.Parallel()
	one := migrated(t)
	cfg, behind := twoWays(t, one)
	if err := CheckExactness(t.Context(), cfg); err != nil {
		t.Fatalf("two ways to one server: %v", err)
	}
	inserter, runner := newInserter(t, cfg, ""), NewRunner(cfg, RunnerConfig{})
	t.Cleanup(runner.Close)
	const inserts = 40
	var inserted atomic.Int64
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error {
		for n := range inserts {
			b := blockOf(inserter, anEvent(fmt.Sprint("e-", n)))
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
	behind[reachable.order(cfg)[0]].kill()
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := column(t, one, "event_id", "events"); len(got) != inserts {
		t.Errorf("%d rows without FINAL, want %d", len(got), inserts)
	}
	for _, p := range behind {
		p.kill()
	}
	if err := Ping(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), cfg.Addr[0]) || !strings.Contains(err.Error(), cfg.Addr[1]) {
		t.Errorf("with every address away: %v", err)
	}
}

// An address may accept connections and lead nowhere, as a load balancer's does.
func TestAnAddressThatLeadsNowhereIsLeftForAWhile(t *testing.T) {
	t.Parallel()
	cfg, behind := twoWays(t, clickhousetest.Database(t))
	first, second := reachable.order(cfg)[0], reachable.order(cfg)[1]
	behind[first].point("127.0.0.1:1")
	for range 2 {
		c, addr, err := dialAny(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		if addr != second || reachable.order(cfg)[0] != second {
			t.Errorf("connected to %s, and %s is next; want %s", addr, reachable.order(cfg)[0], second)
		}
	}
	behind[first].point(behind[second].target())
	reachable.check(cfg, first)
	if got := reachable.order(cfg)[0]; got != first {
		t.Errorf("after it answers again %s is next, want %s", got, first)
	}
}

func TestServersThatShareNothingAreRejected(t *testing.T) {
	t.Parallel()
	cfg := migrated(t)
	other, err := chserver.Start(t.Context(), chserver.Config{
		Listen: "127.0.0.1:0", HTTPListen: "127.0.0.1:0", Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	cfg.Addr = append(cfg.Addr, other.Addr())
	alone := cfg
	alone.Addr = cfg.Addr[1:]
	if err := Migrate(t.Context(), alone); err != nil {
		t.Fatal(err)
	}
	run(t, alone, "DROP VIEW events_1d_mv SYNC")
	// Each is looked at by itself, whichever of them the process would use.
	if err := CheckExactness(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), other.Addr()+": ") || !strings.Contains(err.Error(), "view events_1d_mv is missing") {
		t.Errorf("CheckExactness() = %v, want what is missing at %s", err, other.Addr())
	}
	const want = "clickhouse.addr names several servers, and table events is not replicated at "
	checkInexact(t, CheckServers(t.Context(), cfg), want)
	checkInexact(t, Migrate(t.Context(), cfg), want)
	cfg.Addr[1] = "127.0.0.1:1"
	if err := CheckServers(t.Context(), cfg); err == nil || errors.Is(err, ErrInexact) || !strings.Contains(err.Error(), "asking which server 127.0.0.1:1 leads to") {
		t.Errorf("with an address that does not answer: %v", err)
	}
}

func TestReplicatedTablesMayBeOnSeveralServers(t *testing.T) {
	t.Parallel()
	a, b := destination{"a:1", "1", "x", true}, destination{"b:1", "2", "y", true}
	if got := unreplicated([]destination{a, b}); len(got) != 0 {
		t.Errorf("unreplicated() = %v", got)
	}
	b.replicated = false
	if got := unreplicated([]destination{a, b}); len(got) != 1 || got[0] != b {
		t.Errorf("unreplicated() = %v", got)
	}
	checkInexact(t, oneServer([]destination{a, b}, []destination{b}), "is not replicated at b:1")
}

func TestWhatTellsThatTwoAddressesLeadToOneServer(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a, b destination
		same bool
	}{
		{destination{server: "1"}, destination{server: "1"}, true}, // nothing was migrated yet
		{destination{server: "1", table: "x"}, destination{server: "1", table: "x"}, true},
		{destination{server: "1", table: "x"}, destination{server: "2", table: "x"}, false},
		{destination{server: "1", table: "x"}, destination{server: "1", table: "y"}, false},
		{destination{server: noServer, table: "x"}, destination{server: noServer, table: "x"}, true},
		{destination{server: noServer}, destination{server: noServer}, false},
		{destination{server: noServer, table: noServer}, destination{server: noServer, table: noServer}, false},
	} {
		if got := tc.a.sameAs(tc.b); got != tc.same {
			t.Errorf("%+v, %+v: %v, want %v", tc.a, tc.b, got, tc.same)
		}
	}
}
