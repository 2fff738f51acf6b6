package inspect

import (
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/adapter/clickhouse/deletion"
	"github.com/millrace/millrace/internal/adapter/clickhouse/ledgerstore"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/clickhouse/stagetest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/ledger"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/privacy/retention"
	"github.com/millrace/millrace/internal/privacy/tombstone"
)

// The user is granted what LackingGrants looks for and nothing else, and does everything
// that daemons do.
func TestWhatIsAskedForIsEnough(t *testing.T) {
	t.Parallel()
	cfg := clickhousetest.Users(t, map[string][]string{"daemon": grants(config.Default().ClickHouse)})
	if err := schema.Migrate(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	cfg.User = "daemon"
	if lacking, err := LackingGrants(t.Context(), cfg); err != nil || len(lacking) > 0 {
		t.Fatalf("LackingGrants() = %v, %v", lacking, err)
	}
	i := stagetest.OpenInserter(t, cfg)
	block := clickhousetest.BlockOf(i, clickhousetest.AnEvent("a"))
	h := NewHealth(cfg, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	defer func() { _ = h.Close() }()
	day := time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
	b, e, x := stagetest.Opened(t, ledgerstore.NewStore(cfg)), stagetest.Opened(t, deletion.NewEraser(cfg)),
		stagetest.Opened(t, deletion.NewExpirer(cfg))
	for what, do := range map[string]func() error{
		"exactness": func() error { return schema.CheckExactness(t.Context(), cfg) },
		"inserting": func() error { return i.Insert(t.Context(), block, "1") },
		"probing":   func() error { return i.Probe(t.Context(), block) },
		"pressure":  func() error { _, err := i.PartPressure(t.Context()); return err },
		"tokens":    func() error { _, err := i.InsertTokenMemory(t.Context()); return err },
		"health":    func() error { _, err := h.read(t.Context()); return err },
		"rebuild": func() error {
			return b.Rebuild(t.Context(), []ledger.Touched{{Owner: "web_1", Day: record.Day(clickhousetest.Noon)}})
		},
		"rebuilds": func() error { _, err := b.Rebuilding(t.Context()); return err },
		"erasing": func() error {
			return e.Delete(t.Context(), []tombstone.Tombstone{
				clickhousetest.Stone("web_1", tombstone.Profile, "anna"), clickhousetest.Stone("web_2", tombstone.Website, ""),
			})
		},
		"expiring": func() error {
			_, err := x.Expire(t.Context(), []retention.Limit{{Website: "web_1", Before: day}})
			return err
		},
		"compacting": func() error { return x.Compact(t.Context(), day) },
	} {
		if err := do(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
