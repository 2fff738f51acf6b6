package schema

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/embedded/chserver"
)

func TestServersThatShareNothingAreRejected(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Migrated(t, Migrate)
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
	clickhousetest.Run(t, alone, "DROP VIEW events_1d_mv SYNC")
	// Each is looked at by itself, whichever of them the process would use.
	if err := CheckExactness(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), other.Addr()+": ") ||
		!strings.Contains(err.Error(), "view events_1d_mv is missing") {
		t.Errorf("CheckExactness() = %v, want what is missing at %s", err, other.Addr())
	}
	const want = "clickhouse.addr names several servers, and table events is not replicated at "
	checkInexact(t, CheckServers(t.Context(), cfg), want)
	checkInexact(t, Migrate(t.Context(), cfg), want)
	cfg.Addr[1] = "127.0.0.1:1"
	if err := CheckServers(t.Context(), cfg); err == nil || errors.Is(err, ErrInexact) ||
		!strings.Contains(err.Error(), "reading which server 127.0.0.1:1 leads to") {
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
