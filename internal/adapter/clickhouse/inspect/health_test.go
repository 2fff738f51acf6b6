package inspect

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/stagetest"
	"github.com/millrace/millrace/internal/platform/config"
)

func TestHealthTellsWhatTheServerSaysOfItself(t *testing.T) {
	t.Parallel()
	cfg := stagetest.Migrated(t)
	clickhousetest.Run(t, cfg, "SYSTEM STOP MERGES events")
	i := stagetest.OpenInserter(t, cfg)
	for _, insertToken := range []string{"1", "2", "3", "3"} {
		clickhousetest.Insert(t, i, insertToken, clickhousetest.AnEvent("of "+insertToken))
	}
	h := NewHealth(cfg, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	defer func() { _ = h.Close() }()
	h.look(t.Context())
	if err := testutil.CollectAndCompare(h, strings.NewReader("# HELP millrace_clickhouse_up 1 while the server "+
		"answers the question how it does; the others about it are there only then.\n# TYPE millrace_clickhouse_up "+
		"gauge\nmillrace_clickhouse_up 1\n"), "millrace_clickhouse_up"); err != nil {
		t.Error(err)
	}
	seen := map[string]map[string]float64{}
	for _, r := range *h.last.Load() {
		if seen[r.of.name] == nil {
			seen[r.of.name] = map[string]float64{}
		}
		seen[r.of.name][r.label] = r.value
	}
	if len(seen) != len(figures) {
		t.Errorf("%d figures of %d were told: %v", len(seen), len(figures), seen)
	}
	if got := seen["parts"]["events"]; got != 3 {
		t.Errorf("events has %v parts, want 3", got)
	}
	if got := seen["duplicated"][""]; got < 1 {
		t.Errorf("%v blocks were known, want at least the one that was sent twice", got)
	}
	for disk, total := range seen["total"] {
		if free := seen["free"][disk]; free <= 0 || free > total {
			t.Errorf("disk %q has %v of %v bytes free", disk, free, total)
		}
	}
}

func TestNothingIsToldOfAServerThatIsAway(t *testing.T) {
	t.Parallel()
	cfg := config.Default().ClickHouse
	cfg.Addr = []string{"127.0.0.1:1"}
	h := NewHealth(cfg, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	h.look(t.Context())
	if got, err := testutil.GatherAndCount(gatherer(t, h)); err != nil || got != 1 {
		t.Errorf("%d series, %v; want only that it is away", got, err)
	}
}

func gatherer(t *testing.T, c prometheus.Collector) *prometheus.Registry {
	t.Helper()
	reg := prometheus.NewRegistry()
	if err := reg.Register(c); err != nil {
		t.Fatal(err)
	}
	return reg
}
