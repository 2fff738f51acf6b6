package clickhouse

import (
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/privacy/retention"
	"github.com/millrace/millrace/internal/privacy/tombstone"
)

// The user is granted what Lacking looks for and nothing else, and does everything
// that daemons do.
func TestWhatIsAskedForIsEnough(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Users(t, map[string][]string{"daemon": grants(config.Default().ClickHouse)})
	if err := Migrate(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	cfg.User = "daemon"
	if lacking, err := Lacking(t.Context(), cfg); err != nil || len(lacking) > 0 {
		t.Fatalf("Lacking() = %v, %v", lacking, err)
	}
	i := newInserter(t, cfg, "")
	block := blockOf(i, anEvent("a"))
	h := NewHealth(cfg, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	defer func() { _ = h.Close() }()
	b, e, x := newLedgerStore(t, cfg), newEraser(t, cfg), newExpirer(t, cfg)
	for what, do := range map[string]func() error{
		"exactness": func() error { return CheckExactness(t.Context(), cfg) },
		"inserting": func() error { return i.Insert(t.Context(), block, "1") },
		"probing":   func() error { return i.Probe(t.Context(), block) },
		"pressure":  func() error { _, err := i.PartPressure(t.Context()); return err },
		"tokens":    func() error { _, err := i.InsertTokenMemory(t.Context()); return err },
		"health":    func() error { _, err := h.read(t.Context()); return err },
		"rebuild":   func() error { return b.Rebuild(t.Context(), []ledger.Touched{march}) },
		"rebuilds":  func() error { _, err := b.Rebuilding(t.Context()); return err },
		"erasing": func() error {
			return e.Delete(t.Context(), []tombstone.Tombstone{stone("web_1", tombstone.Profile, "anna"), stone("web_2", tombstone.Website, "")})
		},
		"expiring": func() error {
			_, err := x.Expire(t.Context(), []retention.Limit{{Website: "web_1", Before: expiry}})
			return err
		},
		"compacting": func() error { return x.Compact(t.Context(), expiry) },
	} {
		if err := do(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
