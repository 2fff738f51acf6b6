package inspect

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

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
		"answers the health query. The other metrics of the server are absent otherwise.\n"+
		"# TYPE millrace_clickhouse_up gauge\nmillrace_clickhouse_up 1\n"), "millrace_clickhouse_up"); err != nil {
		t.Error(err)
	}
	seen := map[string]map[string]float64{}
	for _, r := range *h.last.Load() {
		if seen[r.of.name] == nil {
			seen[r.of.name] = map[string]float64{}
		}
		seen[r.of.name][r.label] = r.value
	}
	checkServer(t, h, cfg)
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

// checkServer demands that every figure says which server told it: those of another one are no continuation of it.
func checkServer(t *testing.T, h *Health, cfg config.ClickHouse) {
	t.Helper()
	want := clickhousetest.Column(t, cfg, "hostName()", "system.one")[0]
	families, err := gatherer(t, h).Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			ours := slices.ContainsFunc(m.GetLabel(),
				func(l *dto.LabelPair) bool { return l.GetName() == "server" && l.GetValue() == want })
			if !ours && family.GetName() != "millrace_clickhouse_up" {
				t.Errorf("%s is of the server %v, want %q", family.GetName(), m.GetLabel(), want)
			}
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
