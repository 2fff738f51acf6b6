package dataset

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/embedded/chserver"
	"github.com/millrace/millrace/internal/platform/config"
)

func TestMain(m *testing.M) {
	chserver.RunIfChild()
	os.Exit(m.Run())
}

var until = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

func TestThePlanHasAllRowsAndATenthOfThemRecently(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{MinRows, 1_234_567, 100_000_000} {
		p := newPlan(&Manifest{Rows: rows, Until: until})
		if got := p.all(days); got != rows {
			t.Errorf("there are %d rows, want %d", got, rows)
		}
		if got, want := p.before(0, days)-p.before(0, days-recentDays), rows/10; got < want-1 || got > want+1 {
			t.Errorf("of %d rows the largest website has %d in the last thirty days, want %d", rows, got, want)
		}
		sum, first := 0, 0
		for _, c := range p.chunks() {
			if c.first != first || c.from >= c.to || p.day(c.from).Month() != p.day(c.to-1).Month() {
				t.Fatalf("the chunk %+v begins behind %d rows, or is of two months", c, first)
			}
			first, sum = first+c.rows, sum+c.rows
		}
		if sum != rows {
			t.Errorf("the chunks have %d rows, want %d", sum, rows)
		}
		for website := range websites {
			for d := range days {
				if p.of(website, d) < 0 {
					t.Fatalf("website %d has %d rows on day %d", website, p.of(website, d), d)
				}
			}
		}
	}
}

func TestAFillGoesOnWhereItWasStoppedAndStoresNothingTwice(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	options := Options{Dir: dir, Rows: 3000, Seed: 7, Until: until}
	m, err := Fill(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	// As if the process had been killed between an insert and its note.
	for name := range m.Done {
		if strings.HasPrefix(name, "2026-1") {
			delete(m.Done, name)
		}
	}
	m.Complete = false
	if err := m.save(); err != nil {
		t.Fatal(err)
	}
	if m, err = Fill(ctx, options); err != nil {
		t.Fatal(err)
	}
	if rows, rolled := countRows(ctx, t, dir); rows != 3000 || rolled != 3000 || !m.Complete {
		t.Errorf("%d rows, %d in the rollup, complete: %t; want 3000", rows, rolled, m.Complete)
	}
	options.Rows++
	if _, err := Fill(ctx, options); err == nil || !strings.Contains(err.Error(), "holds 3000 rows") {
		t.Errorf("filling a folder with more rows: %v", err)
	}
	options.Dir, options.Rows = t.TempDir(), MinRows-1
	if _, err := Fill(ctx, options); err == nil {
		t.Error("a year has fewer rows than the least")
	}
}

func countRows(ctx context.Context, t *testing.T, dir string) (rows, rolled uint64) {
	t.Helper()
	server, err := chserver.Start(ctx, chserver.Config{
		Listen: "127.0.0.1:0", HTTPListen: "127.0.0.1:0", Dir: filepath.Join(dir, "clickhouse"),
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	cfg := config.Default().ClickHouse
	cfg.Addr = []string{server.Addr()}
	c, err := clickhouse.Dial(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var base, rollup proto.ColUInt64
	if err := c.Do(ctx, ch.Query{
		Body: "SELECT countIf(of = 0) AS base, sumIf(n, of = 1) AS rollup FROM (SELECT 0 AS of, toUInt64(1) AS n FROM " +
			"events UNION ALL SELECT 1, events FROM events_1d)",
		Result: proto.Results{{Name: "base", Data: &base}, {Name: "rollup", Data: &rollup}},
		// The one block with a row is the result.
		OnResult: func(context.Context, proto.Block) error {
			if base.Rows() > 0 {
				rows, rolled = base[0], rollup[0]
			}
			return nil
		},
	}); err != nil {
		t.Fatal(err)
	}
	return rows, rolled
}
