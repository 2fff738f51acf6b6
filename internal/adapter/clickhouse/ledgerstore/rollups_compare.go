package ledgerstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/pipeline/ledger"
)

// differing selects the owners and days with a cell in which the rollup answers
// otherwise than the base. A distinct count is a function of the set alone, so
// that equal sets give equal numbers.
func (r *rollup) differing(where string) string {
	var fresh, none, zeros, merged, unequal []string
	for i, m := range r.measures {
		fresh = append(fresh, fmt.Sprintf("%s AS m%d", m.fresh, i))
		none = append(none, fmt.Sprintf("toUInt64(0) AS r%d", i))
		zeros = append(zeros, "0")
		merged = append(merged, m.merged)
		unequal = append(unequal, fmt.Sprintf("sum(m%d) != sum(r%d)", i, i))
	}
	list := func(parts ...[]string) string { return strings.Join(slices.Concat(parts...), ", ") }
	return "SELECT owner_id, event_date FROM (\n" +
		"  SELECT " + r.cells + ", " + list(fresh, none) + " FROM (" + r.fresh(where) + ")\n" +
		"  UNION ALL\n" +
		"  SELECT " + r.cells + ", " + list(zeros, merged) + "\n" +
		"  FROM " + r.view.To + " WHERE " + both(where, r.own) + " GROUP BY " + r.cells + "\n" +
		") GROUP BY " + r.cells + " HAVING " + strings.Join(unequal, " OR ")
}

// Differing implements ledger.Store and repair.Rollups.
func (s *Store) Differing(ctx context.Context, pairs []ledger.Touched) ([]ledger.Touched, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	return s.differing(ctx, ch.Query{ExternalTable: pairsTable, ExternalData: pairColumns(pairs)}, ofPairs)
}

func (s *Store) differing(ctx context.Context, q ch.Query, where string) ([]ledger.Touched, error) {
	var owners proto.ColStr
	var days proto.ColDate
	var differ []ledger.Touched
	var parts []string
	for _, r := range allRollups() {
		parts = append(parts, r.differing(where))
	}
	q.Body = "SELECT DISTINCT CAST(owner_id, 'String') AS owner, event_date FROM (\n" +
		strings.Join(parts, "\nUNION ALL\n") + "\n) ORDER BY owner, event_date"
	q.Result = proto.Results{{Name: "owner", Data: &owners}, {Name: "event_date", Data: &days}}
	q.OnResult = func(context.Context, proto.Block) error {
		for i := range days {
			differ = append(differ, ledger.Touched{Owner: owners.Row(i), Day: int32(days[i])})
		}
		return nil
	}
	if err := s.compare(ctx, q); err != nil {
		return nil, fmt.Errorf("comparing rollups with the base: %w", err)
	}
	return differ, nil
}

// compare runs a statement over the base and the rollups.
func (s *Store) compare(ctx context.Context, q ch.Query) error {
	q.Settings = append(q.Settings, clickhouse.Modest...)
	return s.Use(ctx, func(c *clickhouse.Client) error {
		if s.cluster {
			for _, table := range comparedTables() {
				if err := clickhouse.Exec(ctx, c, "SYSTEM SYNC REPLICA "+table+" LIGHTWEIGHT"); err != nil {
					return fmt.Errorf("waiting for the replica of %s: %w", table, err)
				}
			}
		}
		return c.Do(ctx, q)
	})
}

// comparedTables are the tables of records and their rollups.
func comparedTables() []string {
	var names []string
	for _, t := range schema.Bases {
		names = append(names, t.Name)
	}
	for _, r := range allRollups() {
		if !slices.Contains(names, r.view.To) {
			names = append(names, r.view.To)
		}
	}
	return names
}
