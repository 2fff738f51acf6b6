package clickhouse

import (
	"testing"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/platform/config"
)

// A block goes to the connection whose memory fits it, so that small ones do not make
// others grow.
func TestABlockTakesTheConnectionThatFits(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		idle  []int64 // what each has memory for; the last one was used last
		bytes int64
		want  int
	}{
		{[]int64{40}, 10, 0},
		{[]int64{40, 0}, 0, 1},
		{[]int64{0, 40}, 0, 0},
		{[]int64{0, 40, 5}, 3, 2},
		{[]int64{0, 40, 5}, 5, 2},
		{[]int64{0, 40, 5}, 6, 1},
		{[]int64{0, 5, 40}, 41, 2}, // the largest one grows
		{[]int64{40, 0, 5}, 41, 0},
		{[]int64{7, 7, 9}, 7, 1}, // of equal ones that which was used last
	} {
		p := NewPool(config.ClickHouse{})
		for _, sent := range tc.idle {
			p.idle = append(p.idle, idleConn{client: &Client{sent: sent}})
		}
		if got := p.fitting(tc.bytes); got != tc.want {
			t.Errorf("a block of %d takes connection %d of %v, want %d", tc.bytes, got, tc.idle, tc.want)
		}
	}
}

// Idle connections keep memory for no more than they are told; one beyond it is closed.
func TestIdleConnectionsKeepMemoryForSoMuch(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		keep, has, comes int64
		kept             bool
	}{{10, 6, 4, true}, {10, 6, 5, false}, {10, 0, 11, false}, {0, 6, 100, true}} {
		p := NewPool(config.ClickHouse{})
		p.keep = tc.keep
		p.idle = []idleConn{{client: &Client{sent: tc.has}}}
		if got := p.keeps(&Client{sent: tc.comes}); got != tc.kept {
			t.Errorf("with %d kept of %d, %d more: kept %v", tc.has, tc.keep, tc.comes, got)
		}
	}
}

// Whoever recovers from a panic knows nothing of the connection that was in use.
func TestAPanicClosesTheConnection(t *testing.T) {
	t.Parallel()
	p := NewPool(clickhousetest.Database(t))
	var used *Client
	func() {
		defer func() {
			if cause := recover(); cause != "a mistake" {
				t.Errorf("recovered %v", cause)
			}
		}()
		err := p.Use(t.Context(), func(c *Client) error {
			used = c
			panic("a mistake") //nolint:forbidigo // what the test is about
		})
		t.Errorf("Use() = %v after a panic", err)
	}()
	if used == nil || !used.IsClosed() || len(p.idle) != 0 {
		t.Errorf("the connection is open, or kept: %v", p.idle)
	}
}

// A server that was started again has closed every connection: the one that is found broken
// takes those with it that wait, or each of them would cost somebody an attempt.
func TestAConnectionThatBreaksTakesThoseThatWaitWithIt(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Database(t)
	proxy := clickhousetest.NewProxy(t, cfg.Addr[0])
	cfg.Addr = []string{proxy.Addr().String()}
	p := NewPool(cfg)
	t.Cleanup(func() { p.Close() })
	ctx := t.Context()
	nested := func(inside func() error) error {
		return p.Use(ctx, func(c *Client) error {
			if err := c.Ping(ctx); err != nil {
				return err
			}
			return inside()
		})
	}
	two := func() error { return nested(func() error { return p.Ping(ctx) }) }
	if err := nested(two); err != nil {
		t.Fatal(err)
	}
	if n := len(p.idle); n != 3 {
		t.Fatalf("%d connections wait, want 3", n)
	}
	if err := p.Use(ctx, func(c *Client) error { return Exec(ctx, c, "SELECT nothing") }); err == nil || len(p.idle) != 2 {
		t.Errorf("after a response that is an error, %v, %d connections wait, want 2", err, len(p.idle))
	}
	proxy.Cut()
	if err := p.Ping(ctx); err == nil {
		t.Error("a connection that was cut answers")
	}
	if err := p.Ping(ctx); err != nil {
		t.Errorf("the next one does not: %v", err)
	}
}
