package clickhouse

import (
	"testing"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
)

// An address may accept connections and lead nowhere, as a load balancer's does.
func TestAnAddressThatLeadsNowhereIsLeftForAWhile(t *testing.T) {
	t.Parallel()
	cfg, behind := clickhousetest.TwoWays(t, clickhousetest.Database(t))
	first, second := reachable.order(cfg)[0], reachable.order(cfg)[1]
	behind[first].Point("127.0.0.1:1")
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
	behind[first].Point(behind[second].Target())
	reachable.check(cfg, first)
	if got := reachable.order(cfg)[0]; got != first {
		t.Errorf("after it answers again %s is next, want %s", got, first)
	}
}
